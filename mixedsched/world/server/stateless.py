"""Answers to packets that have no connection: Version Negotiation, Retry, and refusals. Nothing is kept for them."""

from __future__ import annotations

from collections.abc import Sequence

from aioquic.quic.configuration import SMALLEST_MAX_DATAGRAM_SIZE
from aioquic.quic.connection import TRANSPORT_CLOSE_FRAME_CAPACITY
from aioquic.quic.crypto import CryptoPair
from aioquic.quic.packet import (
    QuicErrorCode,
    QuicFrameType,
    QuicHeader,
    QuicPacketType,
    encode_quic_retry,
    encode_quic_version_negotiation,
)
from aioquic.quic.packet_builder import QuicPacketBuilder
from aioquic.quic.retry import QuicRetryTokenHandler

from mixedsched.core.h3.session import Address


def version_negotiation(header: QuicHeader, supported_versions: Sequence[int]) -> bytes:
    """Tells a client with another version which ones there are."""
    return encode_quic_version_negotiation(
        source_cid=header.destination_cid,
        destination_cid=header.source_cid,
        supported_versions=list(supported_versions),
    )


def refusal(header: QuicHeader, error_code: QuicErrorCode) -> bytes:
    """Answers an Initial packet by the end of its connection, so that the client need not wait (RFC 9000 section 10.2.3)."""
    assert header.version is not None, "Initial packets have a version"
    crypto = CryptoPair()
    crypto.setup_initial(cid=header.destination_cid, is_client=False, version=header.version)
    builder = QuicPacketBuilder(
        host_cid=header.destination_cid,
        is_client=False,
        max_datagram_size=SMALLEST_MAX_DATAGRAM_SIZE,
        peer_cid=header.source_cid,
        version=header.version,
    )
    builder.start_packet(QuicPacketType.INITIAL, crypto)
    buffer = builder.start_frame(QuicFrameType.TRANSPORT_CLOSE, capacity=TRANSPORT_CLOSE_FRAME_CAPACITY)
    buffer.push_uint_var(error_code)
    buffer.push_uint_var(QuicFrameType.PADDING)
    buffer.push_uint_var(0)
    datagrams, _ = builder.flush()
    return datagrams[0]


class AddressProof:
    """Has clients prove that they receive what is sent to their address: with a Retry packet, whose token they send back.

    A token holds the address, the time and the first connection ID, encrypted with a key of this process. It is good for
    half a minute and for that address only.
    """

    def __init__(self) -> None:
        self._tokens = QuicRetryTokenHandler()

    def demand(self, header: QuicHeader, address: Address, connection_id: bytes, now_s: float) -> bytes:
        """The Retry packet. connection_id: a fresh one, which the client must use in its next packet."""
        assert header.version is not None, "Initial packets have a version"
        token = self._tokens.create_token(
            address=address,
            original_destination_connection_id=header.destination_cid,
            retry_source_connection_id=connection_id,
            now=now_s,
        )
        return encode_quic_retry(
            version=header.version,
            source_cid=connection_id,
            destination_cid=header.source_cid,
            original_destination_cid=header.destination_cid,
            retry_token=token,
        )

    def check(self, header: QuicHeader, address: Address, now_s: float) -> bytes:
        """The connection ID of the client's very first packet. Raises ValueError if the token is not good."""
        return self._tokens.validate_token(
            address=address, destination_cid=header.destination_cid, token=header.token, now=now_s
        )
