"""What a server says of QUIC to each of its connections."""

from aioquic.quic.configuration import QuicConfiguration

from mixedsched.core.h3.certificate import Certificate
from mixedsched.world.server.handover import CONNECTION_ID_BYTES
from mixedsched.world.server.settings import Limits, ServerSettings


def quic_configuration(certificate: Certificate, settings: ServerSettings, limits: Limits) -> QuicConfiguration:
    """limits: of this process, of which there may be several."""
    return QuicConfiguration(
        is_client=False,
        alpn_protocols=["h3"],
        certificate=certificate.certificate,
        certificate_chain=list(certificate.chain),
        private_key=certificate.private_key,
        congestion_control_algorithm=settings.congestion_control,
        connection_id_length=CONNECTION_ID_BYTES,
        idle_timeout=limits.idle_s,
        max_data=limits.receive_all_bytes,
        max_stream_data=limits.receive_bytes,
    )
