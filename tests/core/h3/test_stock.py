"""`stock` is what aioquic itself does: the same requests over the same link, with and without our seam."""

from __future__ import annotations

import pytest
from aioquic.quic.connection import QuicConnection

from tests.core.h3.stock_pair import CLIENT, SERVER, pair_of


def served_order(
    server: QuicConnection, client: QuicConnection, sizes: list[int], drop: frozenset[int]
) -> list[tuple[int, int]]:
    """(stream, offset) of each new STREAM frame as the client gets it; the n-th datagrams of the server in `drop` are lost."""
    order: list[tuple[int, int]] = []
    now, count = 0.0, 0
    client.connect(SERVER, now=now)
    asked = answered = False
    received: dict[int, int] = {}
    for _ in range(4000):
        now += 0.001
        if not asked and client._handshake_confirmed:
            asked = True
            for index in range(len(sizes)):
                client.send_stream_data(4 * index, b"?", end_stream=True)
        for data, _ in client.datagrams_to_send(now=now):
            server.receive_datagram(data, CLIENT, now=now)
        if not answered and all(4 * index in server._streams for index in range(len(sizes))):
            answered = True
            for index, size in enumerate(sizes):
                respond(server, 4 * index, size)
        for data, _ in server.datagrams_to_send(now=now):
            count += 1
            if count not in drop:
                client.receive_datagram(data, SERVER, now=now)
        for connection in (client, server):
            timer = connection.get_timer()
            if timer is not None and timer <= now:
                connection.handle_timer(now=now)
        for stream_id, stream in list(client._streams.items()):
            highest = stream.receiver.highest_offset
            if stream_id % 4 == 0 and highest > received.get(stream_id, 0):
                received[stream_id] = highest
                order.append((stream_id, highest))
        while client.next_event() is not None or server.next_event() is not None:
            pass
    return order


def respond(server: QuicConnection, stream_id: int, size: int) -> None:
    from mixedsched.core.h3.seam import ScheduledConnection

    if isinstance(server, ScheduledConnection):
        server.open_response(stream_id, None, None)
    server.send_stream_data(stream_id, bytes(size), end_stream=True)


@pytest.mark.parametrize("drop", [frozenset[int](), frozenset({14}), frozenset({13, 17, 21, 22})])
def test_stock_serves_streams_as_aioquic_does(drop: frozenset[int]) -> None:
    # Sizes in whole packets, so that no two streams share one: their order after that is not defined in aioquic.
    sizes = [1163 * 6, 1163 * 9, 1163 * 4]
    orders = []
    for kind in ("aioquic", "ours"):
        client, server = pair_of(kind)
        orders.append([stream for stream, _ in served_order(server, client, sizes, drop)])
    assert orders[0] == orders[1]
    assert len(orders[0]) > 10
