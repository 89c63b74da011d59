"""The fast paths of the seam change nothing but the cost: same packets, same bytes, same times as aioquic's own ways."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest
from aioquic import tls
from aioquic.quic.connection import QuicConnection
from aioquic.quic.recovery import QuicPacketRecovery
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.response import BytesBody
from mixedsched.core.h3.seam import ScheduledConnection
from mixedsched.core.h3.seam._recovery import PacketRecovery
from mixedsched.core.schedulers import SCHEMES
from tests.core.h3.pair import Pair, pattern
from tests.core.h3.quic_pair import QuicPair, head_of
from tests.core.h3.stock_pair import CLIENT, SERVER, pair_of
from tests.examples import examples

SIZES = st.lists(st.sampled_from([0, 1, 40, 1100, 1163, 1164, 5000, 30_000, 90_000]), min_size=1, max_size=6)


@contextmanager
def long_ways() -> Iterator[None]:
    """Have aioquic write and read every packet, and take in every acknowledgement."""
    with (
        patch.object(ScheduledConnection, "_has_only_responses", lambda *_: False),
        patch("mixedsched.core.h3.seam._connection.receive_plain_datagram", lambda *_: False),
        patch.object(PacketRecovery, "on_ack_received", QuicPacketRecovery.on_ack_received),
    ):
        yield


def played(
    scheme: str, sizes: list[int], rounds: int = 1, **arguments: Any
) -> tuple[list[tuple[float, int, bytes]], Any]:
    """The server's packets after the handshake, and what became of its connection. Requests are made so many times."""
    pair = QuicPair(scheme, **arguments)
    for _ in range(rounds):
        streams = pair.ask(sizes)
        pair.finish()
    assert not pair.terminated
    for stream_id, size in zip(streams, sizes, strict=True):
        assert bytes(pair.received[stream_id]) == head_of(size) + pattern(size)
    pair.run(3)
    quic = pair.server
    loss = quic._loss
    space = quic._spaces[tls.Epoch.ONE_RTT]
    state = (
        loss.bytes_in_flight,
        loss.congestion_window,
        loss._rtt_smoothed,
        loss._pto_count,
        quic._packet_number,
        quic._remote_max_data_used,
        quic._close_at,
        quic._spin_bit,
        quic._spin_highest_pn,
        space.expected_packet_number,
        space.largest_received_packet,
        space.largest_acked_packet,
        list(space.ack_queue),
        list(space.sent_packets),
        sorted(quic._streams),
        sorted(quic._service._senders),
    )
    return pair.packets, state


@examples(40)
@given(
    scheme=st.sampled_from(sorted(SCHEMES)),
    sizes=SIZES,
    loss_ratio=st.sampled_from([0.0, 0.03, 0.2]),
    seed=st.integers(0, 9),
    rate_bps=st.sampled_from([None, 2_000_000]),
    max_data=st.sampled_from([20_000, 16 * 1024 * 1024]),
    max_stream_data=st.sampled_from([3_000, 16 * 1024 * 1024]),
)
@pytest.mark.slow
def test_every_packet_is_as_aioquic_would_have_written_it(scheme: str, sizes: list[int], **arguments: Any) -> None:
    short = played(scheme, sizes, **arguments)
    with long_ways():
        long = played(scheme, sizes, **arguments)
    assert short == long


def test_more_requests_are_allowed_when_aioquic_would_allow_them() -> None:
    sizes = [90_000, *[40] * 99]
    short = played("eps", sizes, rounds=3)
    with long_ways():
        assert short == played("eps", sizes, rounds=3)


def calls_by_module(pair: Pair) -> dict[str, int]:
    """How often functions of the two ways are called while the pair runs to its end."""
    counts: dict[str, int] = {}

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            counts[frame.f_code.co_name] = counts.get(frame.f_code.co_name, 0) + 1

    sys.setprofile(count)
    try:
        pair.finish()
    finally:
        sys.setprofile(None)
    return counts


def test_response_packets_take_the_fast_paths() -> None:
    pair = Pair("eps").connect()
    pair.request("/500000")
    calls = calls_by_module(pair)
    packets = 500_000 // 1200
    assert calls["_write_frames"] > packets
    assert calls.get("_write_stream_frame", 0) < 10 + packets // 20, "aioquic's way, the client's requests among it"
    assert calls["receive_plain_datagram"] > 20


def test_a_key_update_by_the_client_is_followed() -> None:
    pair = Pair("eps").connect()
    pair.request("/300000")
    pair.run(until_s=pair.now_s + 0.05)
    pair.client.request_key_update()
    pair.client.send_ping(1)
    pair.finish()
    assert pair.session.quic._cryptos[tls.Epoch.ONE_RTT].key_phase == 1
    assert [bytes(body) for body in pair.bodies.values()] == [pattern(300_000)]


def test_a_key_update_by_the_server_is_followed() -> None:
    pair = Pair("eps").connect()
    pair.request("/300000")
    pair.run(until_s=pair.now_s + 0.05)
    pair.session.quic.request_key_update()
    pair.finish()
    assert pair.client._cryptos[tls.Epoch.ONE_RTT].key_phase == 1
    assert [bytes(body) for body in pair.bodies.values()] == [pattern(300_000)]
    assert sum(size for _, size, _ in pair.writes) < 300_100, "no packet was unreadable"


def in_the_middle() -> tuple[QuicConnection, ScheduledConnection, list[bytes]]:
    """Client, server and datagrams of the client that the server has not got yet, while a response is under way."""
    client, server = pair_of("ours")
    assert isinstance(server, ScheduledConnection)
    client.connect(SERVER, now=0.0)
    now_s = 0.0
    for _ in range(20):
        now_s += 0.01
        for data, _ in client.datagrams_to_send(now=now_s):
            server.receive_datagram(data, CLIENT, now=now_s)
        for data, _ in server.datagrams_to_send(now=now_s):
            client.receive_datagram(data, SERVER, now=now_s)
    client.send_stream_data(0, b"?", end_stream=True)
    return client, server, [data for data, _ in client.datagrams_to_send(now=now_s + 0.01)]


def test_a_datagram_that_comes_twice_is_read_once() -> None:
    _, server, (datagram,) = in_the_middle()
    with patch.object(server, "_payload_received", wraps=server._payload_received) as read:
        for _ in range(2):
            server.receive_datagram(datagram, CLIENT, now=0.3)
    assert read.call_count == 1


@pytest.mark.parametrize("place", [0, 1, 9, 12, 25, -1])
def test_a_datagram_with_a_flipped_bit_is_dropped(place: int) -> None:
    _, server, (datagram,) = in_the_middle()
    while server.next_event() is not None:
        pass
    spoiled = bytearray(datagram)
    spoiled[place] ^= 0x04
    server.receive_datagram(bytes(spoiled), CLIENT, now=0.3)
    assert server.next_event() is None
    server.receive_datagram(datagram, CLIENT, now=0.31)
    assert server.next_event() is not None, "the true one is still taken"


def test_a_datagram_from_another_address_takes_the_long_way() -> None:
    _, server, (datagram,) = in_the_middle()
    server.receive_datagram(datagram, ("192.0.2.77", 7), now=0.3)
    assert [path.addr for path in server._network_paths] == [("192.0.2.77", 7), CLIENT]


@pytest.mark.parametrize("size", [*range(44)])
def test_short_datagrams_do_no_harm(size: int) -> None:
    _, server, (datagram,) = in_the_middle()
    server.receive_datagram(datagram[:size], CLIENT, now=0.3)
    assert server._close_event is None


def calls_per_packet(idle: int, waiting: int = 0) -> float:
    """Calls of Python functions per packet of one response, with so many open streams that are idle.

    waiting: of those, responses that were opened and have nothing to send yet.
    """
    client, server, _ = in_the_middle()
    assert isinstance(server, ScheduledConnection)
    now_s = 0.3
    client._remote_max_streams_bidi = server._local_max_streams_bidi.value = 4 * idle + 8
    for index in range(idle + 1):
        client.send_stream_data(4 * index + 4, b"?")
    while len(server._streams) < idle + 1:
        now_s += 0.01
        for data, _ in client.datagrams_to_send(now=now_s):
            server.receive_datagram(data, CLIENT, now=now_s)
        for data, _ in server.datagrams_to_send(now=now_s):
            client.receive_datagram(data, SERVER, now=now_s)
    for index in range(waiting):
        server.open_response(4 * index + 8, None, None)
    server.open_response(4, None, BytesBody(bytes(300_000)))
    server.send_stream_data(4, b"")
    calls = packets = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    for _ in range(60):
        now_s += 0.01
        sys.setprofile(count)
        try:
            datagrams = server.datagrams_to_send(now=now_s)
        finally:
            sys.setprofile(None)
        packets += len(datagrams)
        for data, _ in datagrams:
            client.receive_datagram(data, SERVER, now=now_s)
        now_s += 0.002
        acknowledgements = [data for data, _ in client.datagrams_to_send(now=now_s)]
        sys.setprofile(count)
        try:
            for data in acknowledgements:
                server.receive_datagram(data, CLIENT, now=now_s)
        finally:
            sys.setprofile(None)
    assert packets > 200
    return calls / packets


def test_a_packet_costs_the_same_with_500_idle_streams() -> None:
    one = calls_per_packet(idle=1)
    assert calls_per_packet(idle=512) < 1.02 * one + 0.5
    assert calls_per_packet(idle=512, waiting=511) < 1.02 * one + 0.5
