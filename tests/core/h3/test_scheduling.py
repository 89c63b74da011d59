"""Rules 43 to 56 of docs/conformance.md: scheme `eps` over real connections in virtual time.

What is checked is what left the server: `Pair.writes`, with marks put between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet_builder import QuicSentPacket
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.response import RequestHead, Response
from mixedsched.core.h3.seam import ObservedConnection, ScheduledConnection
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim._responder import ZeroBody
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.stack import play_stack
from mixedsched.model.priority import Priority
from mixedsched.model.profile import Direction, Profile
from mixedsched.model.request import Kind, Request
from tests.core.h3.pair import Pair, pattern, pause, runs
from tests.core.h3.raw import head
from tests.core.sim.pages import page, resource, scheme
from tests.examples import examples

MARK = -1
KINDS = tuple(Kind)


def streams_of(writes: list[tuple[int, int, bool]]) -> list[int]:
    return [stream_id for stream_id, _, _ in writes]


def mark_before(pair: Pair, *names: str) -> None:
    """Put a mark into `writes` whenever the session is asked one of these."""
    for name in names:
        step: Callable[..., Any] = getattr(pair.session, name)

        def marked(*arguments: Any, step: Callable[..., Any] = step) -> Any:
            pair.writes.append((MARK, 0, False))
            return step(*arguments)

        setattr(pair.session, name, marked)


def mark_opening(pair: Pair, stream_id: int) -> None:
    """Put a mark into `writes` when this response becomes ready."""
    opened = pair.session.quic.open_response

    def open_response(opened_id: int, placement: Any, body: Any) -> None:
        if opened_id == stream_id:
            pair.writes.append((MARK, 0, False))
        opened(opened_id, placement, body)

    pair.session.quic.open_response = open_response  # type: ignore[method-assign]


def drop_datagrams(pair: Pair, dropped: Callable[[int], bool]) -> None:
    """Lose those datagrams of the server, counted from now on."""
    send, count = pair.session.send, 0

    def lossy(now_s: float) -> list[tuple[bytes, Any]]:
        nonlocal count
        datagrams = send(now_s)
        kept = [item for index, item in enumerate(datagrams, count) if not dropped(index)]
        count += len(datagrams)
        return kept

    pair.session.send = lossy  # type: ignore[method-assign]


def sent_until(pair: Pair, stream_id: int, position: int) -> int:
    return sum(size for stream, size, _ in pair.writes[:position] if stream == stream_id)


# 43: urgency


def test_rule_43_each_urgency_waits_for_all_lower_numbers() -> None:
    pair = Pair("eps").connect()
    streams = [pair.request("/20000", f"u={urgency}") for urgency in (7, 5, 3, 0, 1, 6, 2, 4)]
    assert list(runs(iter(streams_of(pair.finish().writes)))) == [streams[index] for index in (3, 4, 6, 2, 7, 1, 5, 0)]


@pytest.mark.parametrize("delay_us", [10_000, 100_000])
@pytest.mark.parametrize("running", ["u=3", "u=3, i", "u=1", "u=7"])
def test_rule_43_a_late_urgent_response_overtakes_at_the_next_packet(running: str, delay_us: int) -> None:
    pair = Pair("eps", rate_bps=4_000_000, delay_us=delay_us).connect()
    for _ in range(3):
        pair.request("/2000000", running)
    pause(pair, 1.0)
    urgent = pair.client.get_next_available_stream_id()
    mark_opening(pair, urgent)
    loss = pair.session.quic._loss
    assert loss.bytes_in_flight > 0.9 * loss.congestion_window - 1500, "the window is full"
    pair.request("/60000", "u=0")
    while urgent not in pair.done:
        pause(pair, 0.1)
    ready = streams_of(pair.writes).index(MARK)
    last = max(index for index, (stream, _, fin) in enumerate(pair.writes) if stream == urgent and fin)
    others = [write for write in pair.writes[ready + 1 : last] if write[0] != urgent]
    assert others == [], "not a byte of the less urgent ones was chosen after it became ready"


@pytest.mark.parametrize("control", ["cubic", "reno"])
def test_rule_43_and_so_it_does_on_rung_stack(control: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six images of u=3, every second one incremental, fill a slow link; 3 s later a style sheet of u=0 is asked for."""
    writes: list[tuple[int, int, bool]] = []
    room_bytes: list[int] = []
    urgent = 4 * 7

    class Spied(ScheduledConnection):
        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            told = self.sent

            def sent(stream_id: int, size_bytes: int, again_bytes: int, fin: bool) -> None:
                writes.append((stream_id, size_bytes, fin))
                told(stream_id, size_bytes, again_bytes, fin)

            self.sent = sent

        def open_response(self, stream_id: int, placement: Any, body: Any) -> None:
            if stream_id == urgent:
                writes.append((MARK, 0, False))
                room_bytes.append(self._loss.congestion_window - self._loss.bytes_in_flight)
            super().open_response(stream_id, placement, body)

    monkeypatch.setattr("mixedsched.core.h3.session.ScheduledConnection", Spied)
    images = [
        resource(f"image-{index}", 400_000, "html@100", chromium_priority="Low", incremental=index % 2 == 1)
        for index in range(6)
    ]
    late = resource("late.css", 60_000, "html", "stylesheet", delay_ms=3000, chromium_priority="VeryHigh")
    made = page(resource("html", 3000, kind="document"), *images, late)
    direction = Direction(4_000_000, 30_000)
    over = Profile("slow", "", "", direction, direction)
    load = play_stack(Discoveries.of(made), scheme("eps"), over, seed=1, congestion_control=control)
    ready = streams_of(writes).index(MARK)
    last = max(index for index, (stream, _, fin) in enumerate(writes) if stream == urgent and fin)
    assert room_bytes[0] < 1500, "the window is full"
    assert len(set(streams_of(writes[:ready]))) == 5, "html, the first block, and three that share"
    assert [write for write in writes[ready + 1 : last] if write[0] != urgent] == []
    assert [name for name, _ in load.order].count("late.css") == 1


def observed_client() -> tuple[ObservedConnection, list[list[int]]]:
    """A client, and the streams in each packet that it gets."""
    packets: list[list[int]] = []
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="pair.test", verify_mode=0)
    client = ObservedConnection(
        configuration=configuration,
        received=lambda _, frames: packets.append([stream_id for stream_id, _, _ in frames]),
    )
    return client, packets


def test_rule_43_control_streams_go_ahead_of_all_responses() -> None:
    client, packets = observed_client()
    pair = Pair("eps", rate_bps=2_000_000, client=client).connect()
    pair.request("/100000", "u=0")
    pause(pair, 0.2)
    pair.session.shut_down(pair.now_s)
    pair.finish()
    with_goaway = next(index for index, frames in enumerate(packets) if 3 in frames and frames != [3, 7, 11])
    assert packets[with_goaway] == [3, 0]
    assert packets[with_goaway + 1] == [0]


# 44 to 46: within one urgency


def test_rule_44_blocks_go_by_stream_id_whichever_is_ready_first() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    first = pair.client.get_next_available_stream_id()
    whole = head((b"x", b"y"))[: -len(b"y")]
    pair.client.send_stream_data(first, whole[:5])
    pair.bodies[first] = bytearray()
    second = pair.request("/200000")
    third = pair.request("/200000")
    pause(pair, 0.15)
    mark_opening(pair, first)
    pair.client.send_stream_data(first, head((b"x", b"y"))[5:], end_stream=True)
    pair.finish()
    assert list(runs(iter(streams_of(pair.writes)))) == [second, MARK, first, second, third]


def test_rule_45_incremental_responses_share_bytes() -> None:
    pair = Pair("eps", rate_bps=8_000_000).connect()
    streams = [pair.request("/300000", "u=3, i") for _ in range(3)]
    sent = Counter[int]()
    for stream_id, size, fin in pair.finish().writes:
        sent[stream_id] += size
        if fin:
            break
        if all(sent[stream] for stream in streams):
            assert max(sent.values()) - min(sent.values()) <= 2 * 1200
    assert min(sent[stream] for stream in streams) > 290_000


def test_rule_46_a_large_block_does_not_starve_a_small_incremental_response() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    block, small = pair.request("/1000000", "u=3"), pair.request("/60000", "u=3, i")
    assert pair.finish().done == [small, block]
    over = max(index for index, (stream, _, fin) in enumerate(pair.writes) if stream == small and fin)
    assert sent_until(pair, block, over) <= 60_000 + 3 * 1200, "they took turns"


def test_rule_46_endless_incremental_responses_do_not_starve_a_block() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    endless = [pair.request("/1000000", "u=3, i") for _ in range(2)]
    pause(pair, 0.3)
    block = pair.client.get_next_available_stream_id()
    mark_opening(pair, block)
    pair.request("/60000", "u=3")
    pair.finish()
    assert pair.done[0] == block
    begun = streams_of(pair.writes).index(MARK)
    over = max(index for index, (stream, _, fin) in enumerate(pair.writes) if stream == block and fin)
    for stream_id in endless:
        meanwhile = sent_until(pair, stream_id, over) - sent_until(pair, stream_id, begun)
        assert 60_000 - 4 * 1200 <= meanwhile <= 60_000 + 4 * 1200, "a third for each"


# 47 to 49: work conservation and flow control


def test_rule_47_a_blocked_urgent_response_never_idles_the_link() -> None:
    def took_s(urgent: str | None) -> float:
        pair = Pair("eps", rate_bps=4_000_000, delay_us=50_000, max_stream_data=20_000).connect()
        begun_s = pair.now_s
        if urgent is not None:
            pair.request(urgent, "u=0")
        background = [pair.request("/100000", "u=7") for _ in range(8)]
        while not set(background) <= set(pair.done):
            pause(pair, 0.02)
        return pair.now_s - begun_s

    alone, beside = took_s(None), took_s("/100000")
    extra_s = 100_000 * 8 / 4_000_000
    assert alone <= beside <= alone + 1.3 * extra_s, "the urgent response cost no more than its own bytes"


def test_rule_48_a_stream_that_gets_credit_again_returns_before_the_less_urgent() -> None:
    pair = Pair("eps", rate_bps=4_000_000, max_stream_data=20_000).connect()
    urgent, background = pair.request("/200000", "u=1"), pair.request("/300000", "u=5")
    mark_before(pair, "receive")
    pair.finish()
    blocks = streams_of(pair.writes)
    last = max(index for index, stream in enumerate(blocks) if stream == urgent)
    assert background in blocks[:last], "the link was not idle meanwhile"
    returned = [index for index in range(last) if blocks[index] == urgent and blocks[index - 1] not in {urgent, MARK}]
    assert returned == [], "it was the first after the datagram that brought its credit"
    assert bytes(pair.bodies[urgent]) == pattern(200_000)


def test_rule_48_a_cancelled_response_leaves_and_the_rest_goes_on() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    cancelled, other = pair.request("/500000", "u=0"), pair.request("/50000", "u=5")
    pause(pair, 0.3)
    mark_before(pair, "receive")
    pair.client.stop_stream(cancelled, 0x10C)
    pause(pair, 3)
    blocks = streams_of(pair.writes)
    first_other = blocks.index(other)
    assert cancelled not in blocks[first_other:]
    assert pair.done == [other]


def test_rule_49_without_credit_of_the_connection_only_lost_data_goes_out() -> None:
    pair = Pair("eps", rate_bps=8_000_000, max_data=8_000).connect()
    background, urgent = pair.request("/100000", "u=6"), pair.request("/100000", "u=1")
    without_credit: list[int] = []
    drop_datagrams(pair, lambda index: 2 <= index < 12)  # so few arrive that the client gives no more credit
    send = pair.session.send

    def noting(now_s: float) -> list[tuple[bytes, Any]]:
        credit, before = pair.session.quic.credit_bytes, len(pair.writes)
        datagrams = send(now_s)
        if credit == 0:
            without_credit.extend(streams_of(pair.writes[before:]))
        return datagrams

    pair.session.send = noting  # type: ignore[method-assign]
    pair.finish()
    assert (pair.done, pair.terminated) == ([urgent, background], None)
    assert without_credit, "what was lost is sent again"
    assert set(without_credit) == {urgent}
    assert (bytes(pair.bodies[urgent]), bytes(pair.bodies[background])) == (pattern(100_000),) * 2


# 50 and 51: what is sent again


def test_rule_50_lost_data_of_an_urgent_response_goes_at_once() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    urgent, other = pair.request("/12000", "u=1"), pair.request("/400000", "u=3")
    mark_before(pair, "receive", "handle_timer")
    drop_datagrams(pair, lambda index: index == 4)
    pair.finish()
    blocks = streams_of(pair.writes)
    whole = next(index for index, (stream, _, fin) in enumerate(pair.writes) if stream == urgent and fin)
    again = [index for index in range(whole + 1, len(blocks)) if blocks[index] == urgent]
    assert again, "one of its packets was lost"
    assert blocks[again[0] - 1] == MARK, "no other packet left between the news and the repair"
    assert other in blocks[whole : again[0]], "though another response was under way"


def test_rule_50_lost_data_of_a_background_response_waits_for_urgent_new_data() -> None:
    pair = Pair("eps", rate_bps=4_000_000, delay_us=50_000).connect()
    background = pair.request("/11000", "u=7")
    drop_datagrams(pair, lambda index: index == 2)
    pause(pair, 0.08)
    assert sent_until(pair, background, len(pair.writes)) > 11_000, "all of it has left"
    urgent = pair.request("/200000", "u=0")
    pair.finish()
    blocks = list(runs(iter(streams_of(pair.writes))))
    assert blocks == [background, urgent, background]


def test_rule_51_a_probe_carries_the_most_urgent_data_that_waits() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    pair.request("/1000000", "u=5")
    pause(pair, 1)
    urgent = pair.client.get_next_available_stream_id()
    mark_opening(pair, urgent)
    lost_from_s = pair.now_s
    drop_datagrams(pair, lambda _: True)
    pair.request("/1000000", "u=0")
    pair.run(until_s=lost_from_s + 10)
    after = streams_of(pair.writes)[streams_of(pair.writes).index(MARK) + 1 :]
    assert len(after) > 2, "there were probes"
    assert set(after) == {urgent}


def tail_lost(scheme: str, *priorities: str, client: QuicConnection | None = None) -> tuple[Pair, list[int], set[bool]]:
    """Responses of 3000 bytes each leave one after another, none waiting for the next; all that the server sends is lost.

    The pair, the streams, and what says whether the loss goes on: empty it to end that.
    """
    lossy = {True}
    pair = Pair(scheme, delay_us=50_000, client=client).connect()
    drop_datagrams(pair, lambda _: bool(lossy))
    streams = []
    for priority in priorities:
        streams.append(pair.request("/3000", priority))
        pause(pair, 0.055)
    assert [stream_id for stream_id, _, fin in pair.writes if fin] == streams, "all is in flight, and no probe was sent"
    return pair, streams, lossy


def first_of_each_probe(pair: Pair, seconds: float) -> list[int]:
    """The streams whose data came first in the probes of so much time."""
    begun = len(pair.writes)
    mark_before(pair, "handle_timer")
    pause(pair, seconds)
    del pair.session.handle_timer  # the marks
    order = streams_of([(MARK, 0, False), *pair.writes[begun:]])
    return [after for before, after in pairwise(order) if before == MARK and after != MARK]


def test_rule_51_if_none_waits_a_probe_repeats_what_the_scheduler_picks_of_what_is_in_flight() -> None:
    pair, (background, urgent, _), lossy = tail_lost("eps", "u=5", "u=1", "u=3")
    window_bytes = pair.session.quic._loss.congestion_window
    assert first_of_each_probe(pair, 2) == [urgent] * 3
    pair.update_priority(background, "u=0")
    assert first_of_each_probe(pair, 10) == [background] * 2, "a later update counts, too"
    assert pair.session.quic._loss.congestion_window == window_bytes, "a probe is no sign of loss"
    lossy.clear()
    pair.finish()
    assert pair.done[0] == background
    assert [bytes(body) for body in pair.bodies.values()] == [pattern(3000)] * 3


def test_rule_51_incremental_responses_share_the_probes() -> None:
    pair, streams, _ = tail_lost("eps", "u=3, i", "u=3, i", "u=5")
    probes = first_of_each_probe(pair, 20)
    assert set(probes) == set(streams[:2])
    assert all(one != next_one for one, next_one in pairwise(probes[1:])), "in turn, once the later one has caught up"


def test_rule_51_control_streams_go_into_the_probe_before_the_most_urgent_response() -> None:
    client, packets = observed_client()
    pair, (urgent, _), lossy = tail_lost("eps", "u=1", "u=5", client=client)
    packets.clear()
    lossy.clear()
    while not packets:
        pause(pair, 0.01)
    assert packets[0] == [7, 11, urgent], "QPACK's data left with the other response"
    assert [len(body) for body in pair.finish().bodies.values()] == [3000, 3000]


def test_rule_51_under_stock_a_probe_repeats_the_oldest_as_aioquic_does() -> None:
    pair, streams, _ = tail_lost("stock", "u=5", "u=1", "u=0")
    loss = pair.session.quic._loss
    mark_lost, space, begun = loss._on_packets_lost, loss.spaces[-1], len(pair.writes)

    def lost(*, packets: list[QuicSentPacket], **arguments: Any) -> None:
        oldest = next(packet for packet in space.sent_packets.values() if packet.is_ack_eliciting)
        assert packets == [oldest]
        mark_lost(packets=packets, **arguments)

    loss._on_packets_lost = lost  # type: ignore[method-assign, assignment]
    pair.run(until_s=pair.now_s + 59)
    assert list(runs(iter(streams_of(pair.writes[begun:])))) == streams


@pytest.mark.parametrize("spec", sorted(SCHEMES))
@given(served=st.lists(st.integers(1, 1200), max_size=12), asked=st.sets(st.integers(0, 4), min_size=1))
@examples(20)
def test_rule_51_to_be_asked_costs_no_response_its_turn(spec: str, served: list[int], asked: set[int]) -> None:
    chosen = scheme(spec)
    picks = []
    for is_asked in (False, True):
        scheduler = chosen.create_scheduler()
        for index in range(5):
            request = Request(4 * index, "/", KINDS[index], signal=Priority(index % 3, index % 2 == 0), signalled=True)
            scheduler.open(4 * index, chosen.place(request))
        for size_bytes in served:
            scheduler.sent(scheduler.pick(), size_bytes)
        for index in range(5):
            scheduler.pause(4 * index)
        if is_asked:
            for index in sorted(asked):
                scheduler.resume(4 * index)
            assert scheduler.pick() in {4 * index for index in asked}
            for index in sorted(asked):
                scheduler.pause(4 * index)
        for index in range(5):
            scheduler.resume(4 * index)
        order = []
        for _ in range(20):
            order.append(scheduler.pick())
            scheduler.sent(order[-1], 1000)
        picks.append(order)
    assert picks[0] == picks[1]


# 52 to 56


def test_rule_52_tunnels_are_refused_but_would_be_incremental() -> None:
    pair = Pair("eps").connect()
    pair.send_request([(b":method", b"CONNECT"), (b":authority", b"example.test:443")])
    pair.send_request([(b":method", b"CONNECT"), (b":authority", b"example.test:443"), (b"priority", b"u=1")])
    pair.finish()
    assert [(served.status, served.placement) for served in pair.log] == [(501, "u=1"), (501, "u=3, i")]


def test_rule_53_background_delays_nobody_and_still_comes_when_the_link_is_free() -> None:
    pair = Pair("eps", rate_bps=4_000_000).connect()
    background = [pair.request("/300000", priority) for priority in ("u=7", "u=7, i")]
    pause(pair, 0.2)
    assert pair.writes, "nothing else was to be sent"
    other = pair.client.get_next_available_stream_id()
    mark_opening(pair, other)
    pair.request("/100000", "u=6, i")
    pair.finish()
    blocks = list(runs(iter(streams_of(pair.writes))))
    position = blocks.index(MARK)
    assert blocks[position + 1] == other
    assert blocks.count(other) == 1
    assert set(blocks[position + 2 :]) == set(background)
    assert sorted(pair.done) == [*background, other]


@pytest.mark.parametrize("field", ["via", "forwarded", "x_forwarded_for"])
def test_rule_54_requests_through_an_intermediary_are_served_as_signalled(field: str) -> None:
    pair = Pair("eps").connect()
    first = pair.request("/30000", "u=3", **{field.replace("_", "-"): "1.1 proxy"})
    second = pair.request("/30000", "u=3", **{field.replace("_", "-"): "1.1 proxy"})
    assert list(runs(iter(streams_of(pair.finish().writes)))) == [first, second]


def test_rule_55_priorities_act_inside_one_connection_only() -> None:
    eps = scheme("eps")
    one, other = eps.create_scheduler(), eps.create_scheduler()
    one.open(0, eps.place(Request(0, "/", Kind.OTHER)))
    assert (one.pick(), other.pick()) == (0, None)


class Counting(ZeroBody):
    """Counts how much of all bodies was asked for."""

    read_bytes = 0

    def read(self, size_bytes: int) -> bytes:
        data = super().read(size_bytes)
        Counting.read_bytes += len(data)
        return data


class Large:
    def respond(self, head: RequestHead) -> Response:
        return Response(200, [], Counting(50_000_000))


@pytest.mark.parametrize("priority", ["u=7", "u=7, i", "u=0, i"])
def test_rule_56_a_client_that_stops_reading_pins_no_more_than_a_window(priority: str) -> None:
    Counting.read_bytes = 0
    pair = Pair("eps", rate_bps=50_000_000, max_data=400_000, responder=Large()).connect()
    mark_before(pair, "receive")
    for _ in range(100):
        pair.request("/", priority)
    pair.run(until_s=pair.now_s + 0.0105)
    drop_datagrams(pair, lambda _: True)
    pair.run(until_s=pair.now_s + 20)
    assert 10_000 < Counting.read_bytes <= 400_000
