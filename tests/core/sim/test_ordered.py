"""Responses in one line at the receiver of rung `stack`, as over TCP."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
from aioquic.h3.events import DataReceived, H3Event
from aioquic.quic.events import StreamDataReceived
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.sim._ordered import OrderedReceiver
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.stack import play_stack
from mixedsched.model.page import Page
from mixedsched.model.profile import Direction, Profile, RandomLoss
from tests.core.sim.pages import page, pages, resource, scheme
from tests.examples import examples


def network(loss_ratio: float = 0.0, rate_bps: int | None = 5_000_000) -> Profile:
    direction = Direction(rate_bps, 20_000, None, RandomLoss(loss_ratio))
    return Profile("made-up", "", "", direction, direction)


def play(made: Page, spec: str, over: Profile, *, in_order: bool, seed: int = 1) -> PlayedLoad:
    return play_stack(Discoveries.of(made), scheme(spec), over, seed=seed, in_order=in_order)


FLAT = page(*(resource(f"r{index}", 30_000, kind="document" if not index else "image") for index in range(8)))


# The receiver alone


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[list[tuple[int, int, bool]], list[tuple[int, int]]]:
    """Frames as first sent (stream, size, end); and arrivals (stream, how many of its frames), in order in each stream."""
    streams = draw(st.integers(1, 4))
    counts = [draw(st.integers(1, 5)) for _ in range(streams)]
    order = draw(st.permutations([stream for stream, count in enumerate(counts) for _ in range(count)]))
    left = list(counts)
    sent = []
    for stream in order:
        left[stream] -= 1
        is_last = not left[stream]
        sent.append((stream * 4, draw(st.integers(0 if is_last else 1, 3)), is_last))
    arrivals = []
    left = list(counts)
    while any(left):
        stream = draw(st.sampled_from([place for place, count in enumerate(left) if count]))
        together = draw(st.integers(1, left[stream]))
        left[stream] -= together
        arrivals.append((stream * 4, together))
    return sent, arrivals


def as_it_is(event: StreamDataReceived) -> list[H3Event]:
    return [DataReceived(event.data, event.stream_id, event.end_stream)]


def in_line(sent: list[tuple[int, int, bool]], come: dict[int, int]) -> dict[int, int]:
    """How many frames of each stream a TCP receiver has handed over, of which so many have come."""
    seen: defaultdict[int, int] = defaultdict(int)
    for stream_id, _, _ in sent:
        if seen[stream_id] >= come.get(stream_id, 0):
            break
        seen[stream_id] += 1
    return seen


@given(exchanges())
def test_it_hands_over_what_was_sent_before_the_first_byte_that_is_missing(
    exchange: tuple[list[tuple[int, int, bool]], list[tuple[int, int]]],
) -> None:
    sent, arrivals = exchange
    sender: Any = SimpleNamespace(sent=lambda *_: None)
    receiver = OrderedReceiver(sender)
    frames: defaultdict[int, list[tuple[bytes, bool]]] = defaultdict(list)
    for number, (stream_id, size_bytes, fin) in enumerate(sent):
        sender.sent(stream_id, size_bytes, 0, fin)
        frames[stream_id].append((bytes([number]) * size_bytes, fin))
        if number % 3 == 0:  # a repeat of lost data changes nothing
            sender.sent(stream_id, size_bytes, size_bytes, fin)
    come: dict[int, int] = {}
    got: defaultdict[int, bytes] = defaultdict(bytes)
    ended: list[int] = []
    for stream_id, together in arrivals:
        first = come.get(stream_id, 0)
        come[stream_id] = first + together
        arrived = frames[stream_id][first : first + together]
        event = StreamDataReceived(b"".join(data for data, _ in arrived), arrived[-1][1], stream_id)
        for handed_id, handed in receiver.receive(event, as_it_is):
            got[handed_id] += b"".join(item.data for item in handed)
            ended += [handed_id for item in handed if item.stream_ended]
        for other, count in in_line(sent, come).items():
            assert got[other] == b"".join(data for data, _ in frames[other][:count])
            assert (other in ended) is any(fin for _, fin in frames[other][:count])
    assert sorted(ended) == sorted(frames)


def test_data_that_waits_for_another_stream_is_counted_once() -> None:
    sender: Any = SimpleNamespace(sent=lambda *_: None)
    receiver = OrderedReceiver(sender)
    for stream_id in (0, 4, 4):
        sender.sent(stream_id, 100, 0, False)
    assert receiver.receive(StreamDataReceived(bytes(100), False, 4), as_it_is) == []
    assert receiver.receive(StreamDataReceived(bytes(100), False, 4), as_it_is) == []
    released = receiver.receive(StreamDataReceived(bytes(100), False, 0), as_it_is)
    assert [stream_id for stream_id, _ in released] == [0, 4, 4]
    assert receiver.held_bytes == 200


# Whole loads


@examples(25)
@given(pages(most=6), st.sampled_from(["fifo", "rr", "mixed", "batched-rr:packets=1"]))
def test_without_losses_it_makes_no_difference(made: Page, spec: str) -> None:
    ordered, usual = (play(made, spec, network(), in_order=in_order) for in_order in (True, False))
    assert ordered.resources == usual.resources
    assert ordered.order == usual.order
    assert ordered.facts == {**usual.facts, "hol_blocking": True, "inter_stream_held_bytes": 0}


@examples(25)
@given(
    st.integers(0, 10_000), st.sampled_from(["fifo", "rr", "batched-rr:packets=1"]), st.sampled_from([0.01, 0.05, 0.2])
)
def test_it_never_delivers_earlier(seed: int, spec: str, loss_ratio: float) -> None:
    """Where nothing is found late, the same packets travel, so that both can be compared byte by byte."""
    ordered, usual = (play(FLAT, spec, network(loss_ratio), in_order=in_order, seed=seed) for in_order in (True, False))
    assert ordered.facts["link_down"] == usual.facts["link_down"]
    for late, early in zip(ordered.resources, usual.resources, strict=True):
        assert late.first_byte_ms >= early.first_byte_ms
        assert late.complete_ms >= early.complete_ms
    assert ordered.finished_ms == usual.finished_ms, "the last repair frees everything, over QUIC too"


def test_responses_that_take_turns_hold_back_more_of_each_other_than_responses_in_a_row() -> None:
    def held_bytes(spec: str) -> int:
        loads = [play(FLAT, spec, network(0.02), in_order=True, seed=seed) for seed in range(8)]
        return sum(load.facts["inter_stream_held_bytes"] for load in loads)

    assert held_bytes("batched-rr:packets=1") > 1.5 * held_bytes("fifo") > 0


def test_data_held_back_by_other_responses_is_told_only_where_there_is_such_a_line() -> None:
    lossy = network(0.05)
    assert play(FLAT, "rr", lossy, in_order=True).facts["inter_stream_held_bytes"] > 0
    assert not {"hol_blocking", "inter_stream_held_bytes"} & play(FLAT, "rr", lossy, in_order=False).facts.keys()


@pytest.mark.parametrize("control", ["cubic", "cubic-2022"])
def test_a_load_in_one_line_is_the_same_again(control: str) -> None:
    first, again = (
        play_stack(Discoveries.of(FLAT), scheme("rr"), network(0.05), seed=4, congestion_control=control, in_order=True)
        for _ in range(2)
    )
    assert first == again
