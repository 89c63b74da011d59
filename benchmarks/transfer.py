"""Bytes through two connections in memory: the scheduler seam against stock aioquic, same bodies, same run."""

from __future__ import annotations

import time
from collections.abc import Iterator

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from mixedsched.h3.certificate import make_repeatable_certificate
from mixedsched.h3.response import BytesBody
from mixedsched.h3.seam import ScheduledConnection
from mixedsched.schedulers import SCHEMES

CLIENT, SERVER = ("192.0.2.1", 1), ("192.0.2.2", 443)
TOTAL_BYTES = 8_000_000
WINDOW_BYTES = 64 * 1024 * 1024
STEP_S = 0.002  # virtual time per exchange of datagrams


def connections(scheduled: bool) -> tuple[QuicConnection, QuicConnection]:
    """A client and a server after their handshake."""
    certificate = make_repeatable_certificate(["bench.test"])
    client = QuicConnection(
        configuration=QuicConfiguration(
            is_client=True,
            alpn_protocols=["h3"],
            server_name="bench.test",
            verify_mode=0,
            max_data=WINDOW_BYTES,
            max_stream_data=WINDOW_BYTES,
        )
    )
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=["h3"],
        certificate=certificate.certificate,
        private_key=certificate.private_key,
    )
    destination = client.original_destination_connection_id
    if not scheduled:
        return client, QuicConnection(configuration=configuration, original_destination_connection_id=destination)
    server = ScheduledConnection(
        configuration=configuration,
        scheduler=SCHEMES["stock"].create({}),
        sent=lambda *_: None,
        original_destination_connection_id=destination,
    )
    return client, server


def transfer_s(scheduled: bool, streams: int) -> float:
    """CPU time of sending TOTAL_BYTES in so many responses at once."""
    client, server = connections(scheduled)
    now_s, asked, received = 0.0, False, 0
    client.connect(SERVER, now=now_s)
    started_s = time.process_time()
    while received < TOTAL_BYTES:
        now_s += STEP_S
        for data, _ in client.datagrams_to_send(now=now_s):
            server.receive_datagram(data, CLIENT, now=now_s)
        while server.next_event() is not None:
            pass
        if not asked and client._handshake_confirmed:
            asked = True
            now_s = ask_and_answer(client, server, streams, now_s)
        for data, _ in server.datagrams_to_send(now=now_s):
            client.receive_datagram(data, SERVER, now=now_s)
        while (event := client.next_event()) is not None:
            received += len(getattr(event, "data", b""))
        for connection in (client, server):
            timer_s = connection.get_timer()
            if timer_s is not None and timer_s <= now_s:
                connection.handle_timer(now=now_s)
    return time.process_time() - started_s


def ask_and_answer(client: QuicConnection, server: QuicConnection, streams: int, now_s: float) -> float:
    """Have the client ask on so many streams and the server answer; returns the time by then."""
    body = bytes(TOTAL_BYTES // streams)
    for index in range(streams):
        client.send_stream_data(4 * index, b"?", end_stream=True)
    while any(4 * index not in server._streams for index in range(streams)):
        now_s += STEP_S
        for data, _ in client.datagrams_to_send(now=now_s):
            server.receive_datagram(data, CLIENT, now=now_s)
    for index in range(streams):
        if isinstance(server, ScheduledConnection):
            server.open_response(4 * index, None, BytesBody(body))
            server.send_stream_data(4 * index, b"")
        else:
            server.send_stream_data(4 * index, body, end_stream=True)
    return now_s


def run() -> Iterator[str]:
    for streams in (1, 100):
        pairs = [(transfer_s(True, streams), transfer_s(False, streams)) for _ in range(3)]
        ours_s, stock_s = (min(times) for times in zip(*pairs, strict=True))
        yield f"{streams:3} responses: {ours_s:.2f} s with the seam, {stock_s:.2f} s without: x {stock_s / ours_s:.2f} as fast"
