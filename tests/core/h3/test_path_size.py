"""Datagrams as large as the path takes, between two real QUIC connections in virtual time (RFC 9000 section 14.3)."""

from __future__ import annotations

from typing import Any

import pytest
from aioquic.quic.recovery import QuicPacketRecovery
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.datagram_size import BASE_BYTES, STEP_BYTES
from tests.core.h3.pair import pattern
from tests.core.h3.quic_pair import QuicPair, head_of
from tests.examples import examples

BODY_BYTES = 400_000
RATE_BPS = 20_000_000  # so that a fetch takes many round trips


def fetched(pair: QuicPair, *sizes: int) -> QuicPair:
    """Have the client fetch bodies of these sizes, which must arrive whole."""
    streams = pair.ask(sizes)
    pair.finish()
    assert not pair.terminated
    for stream_id, size in zip(streams, sizes, strict=True):
        assert bytes(pair.received[stream_id]) == head_of(size) + pattern(size)
    return pair


@pytest.mark.parametrize("congestion_control", ["cubic", "reno", "cubic-2022"])
@pytest.mark.parametrize("limit", [1472, 9000, 16_000])
def test_datagrams_grow_to_the_limit_where_the_path_carries_them(limit: int, congestion_control: str) -> None:
    pair = QuicPair("eps", datagram_limit_bytes=limit, congestion_control=congestion_control)
    fetched(pair, *[BODY_BYTES] * 4)
    assert pair.server.datagram_bytes == max(pair.sizes) == limit
    assert pair.sizes.count(limit) > 50


def test_no_datagram_is_larger_than_1200_bytes_unless_that_is_asked_for() -> None:
    assert max(fetched(QuicPair("eps"), BODY_BYTES).sizes) == BASE_BYTES


def test_what_is_settled_sends_nothing_while_there_is_nothing_to_send() -> None:
    pair = fetched(QuicPair("eps", datagram_limit_bytes=1472), BODY_BYTES).run(2.0)
    pair.sizes.clear()
    assert pair.run(20.0).sizes == []


def test_datagrams_are_no_larger_than_the_peer_says_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    import aioquic.quic.connection as module

    push = module.push_quic_transport_parameters

    def said(buffer: Any, parameters: Any) -> None:
        parameters.max_udp_payload_size = 1350
        push(buffer, parameters)

    monkeypatch.setattr(module, "push_quic_transport_parameters", said)
    pair = fetched(QuicPair("eps", datagram_limit_bytes=1472), BODY_BYTES)
    assert pair.server.datagram_bytes == max(pair.sizes) == 1350


def test_lost_probes_are_no_sign_of_congestion() -> None:
    """Congestion control is told of none: nothing else is lost."""
    events: list[bool] = []
    original = QuicPacketRecovery._on_packets_lost

    def spy(self: Any, **arguments: Any) -> None:
        packets = list(arguments["packets"])
        if packets:
            events.append(arguments.get("congestion_event", True))
        original(self, **{**arguments, "packets": packets})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QuicPacketRecovery, "_on_packets_lost", spy)
        pair = fetched(
            QuicPair("eps", datagram_limit_bytes=1472, carried_bytes=1400, rate_bps=RATE_BPS), *[BODY_BYTES] * 8
        )
    assert events
    assert not any(events)
    assert 1400 - STEP_BYTES < pair.server.datagram_bytes <= 1400


@examples(8)
@given(
    scheme=st.sampled_from(["eps", "stock", "mixed:alpha=0.5"]),
    limit=st.sampled_from([1472, 4000, 16_000]),
    before=st.integers(BASE_BYTES, 16_000),
    after=st.integers(BASE_BYTES, 16_000),
    loss_ratio=st.sampled_from([0.0, 0.02]),
    rate_bps=st.sampled_from([None, 8_000_000]),
    seed=st.integers(0, 9),
    congestion_control=st.sampled_from(["cubic", "reno", "cubic-2022"]),
)
@pytest.mark.slow
def test_everything_arrives_whatever_the_path_carries_and_begins_to_lose(
    scheme: str, limit: int, before: int, after: int, **arguments: Any
) -> None:
    pair = QuicPair(scheme, datagram_limit_bytes=limit, carried_bytes=before, **arguments)
    fetched(pair, BODY_BYTES, 5, BODY_BYTES)
    started_s = pair.now_s
    streams = pair.ask([BODY_BYTES, 100, BODY_BYTES])
    pair.run(0.08)
    pair.carried_bytes = after
    pair.finish()
    assert len(pair.finished) == len(pair.received)
    assert bytes(pair.received[streams[0]]) == head_of(BODY_BYTES) + pattern(BODY_BYTES)
    assert pair.now_s - started_s < 30
    assert pair.server.datagram_bytes <= max(BASE_BYTES, min(limit, max(before, after)))


def test_a_black_hole_costs_less_than_a_second_on_a_usual_path() -> None:
    pair = fetched(QuicPair("eps", datagram_limit_bytes=1472), 2 * BODY_BYTES)
    assert pair.server.datagram_bytes == 1472
    pair.carried_bytes = 1300
    pair.ask([BODY_BYTES])
    pair.run(1.0)
    assert pair.server.datagram_bytes == BASE_BYTES
    pair.finish()
    pair.run(1.0)
    assert len(pair.finished) == 2


def test_a_client_that_moves_gets_the_base_size_until_its_new_path_is_searched() -> None:
    pair = fetched(QuicPair("eps", datagram_limit_bytes=1472), BODY_BYTES)
    assert pair.server.datagram_bytes == 1472
    pair.client.send_ping(1)
    for data, _ in pair.client.datagrams_to_send(now=pair.now_s):
        pair.server.receive_datagram(data, ("192.0.2.77", 7), now=pair.now_s)
    assert all(len(data) <= BASE_BYTES for data, _ in pair.server.datagrams_to_send(now=pair.now_s))
    assert pair.server.datagram_bytes == BASE_BYTES


def test_a_datagram_that_the_socket_refuses_ends_the_search_below_it() -> None:
    pair = fetched(QuicPair("eps", datagram_limit_bytes=9000, rate_bps=RATE_BPS), *[BODY_BYTES] * 3)
    assert pair.server.datagram_bytes == 9000
    pair.server.note_refused(9000, pair.now_s)
    pair.carried_bytes = 4000
    pair.sizes.clear()
    while pair.server.datagram_bytes <= 4000 - STEP_BYTES and pair.now_s < 60:
        fetched(pair, *[BODY_BYTES] * 8)
    assert max(pair.sizes) < 9000
    assert 4000 - STEP_BYTES < pair.server.datagram_bytes <= 4000
