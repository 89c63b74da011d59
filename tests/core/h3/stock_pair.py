"""aioquic's own server, or ours with the scheduler `stock`, and a client for either: to be compared packet by packet."""

from __future__ import annotations

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from mixedsched.core.h3.seam import ScheduledConnection
from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.scheduler import Scheduler
from tests.core.h3.pair import certificate

CLIENT, SERVER = ("192.0.2.1", 1), ("192.0.2.2", 443)


def pair_of(kind: str) -> tuple[QuicConnection, QuicConnection]:
    client_configuration = QuicConfiguration(
        is_client=True, alpn_protocols=["h3"], server_name="pair.test", verify_mode=0
    )
    client = QuicConnection(configuration=client_configuration)
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=["h3"],
        certificate=certificate().certificate,
        private_key=certificate().private_key,
    )
    destination = client.original_destination_connection_id
    if kind == "aioquic":
        return client, QuicConnection(configuration=configuration, original_destination_connection_id=destination)
    scheduler: Scheduler[None] = SCHEMES["stock"].create({})
    server = ScheduledConnection(
        configuration=configuration,
        scheduler=scheduler,
        sent=lambda *_: None,
        original_destination_connection_id=destination,
    )
    return client, server
