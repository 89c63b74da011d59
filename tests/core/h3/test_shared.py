"""Connections of one client that share a scheduler: bytes leave in the order they would on one connection."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.shared import MAX_RESERVED, SharedScheduler
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.schedulers.sequential import Sequential
from mixedsched.model.scheme import configure
from mixedsched.world import catalog
from tests.core.h3.family import Family, Member
from tests.core.h3.pair import pattern, runs
from tests.examples import examples

Script = list[tuple[int, int, str, str]]
"""(connection, body size, priority field, destination) of responses that are all asked for at once."""

each_scheme = pytest.mark.parametrize("scheme", sorted(SCHEMES))

scripts = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 20_000),
        st.builds("u={}{}".format, st.integers(0, 4), st.sampled_from(["", ", i"])),
        st.sampled_from(["document", "style", "font", "script", "image", "empty"]),
    ),
    min_size=1,
    max_size=8,
)

MIXED: Script = [
    (0, 20_000, "u=0, i", "document"),
    (1, 30_000, "u=2, i", "image"),
    (0, 5_000, "u=0", "style"),
    (1, 12_345, "u=0", "font"),
    (2, 45_000, "u=1", "script"),
    (0, 61_000, "u=3, i", "image"),
    (1, 1, "u=2", "script"),
    (2, 33_333, "u=1, i", "empty"),
    (0, 70_000, "u=3, i", "video"),
    (1, 26_000, "u=3", "script"),
]


def played(scheme: str, script: Script, **options: Any) -> tuple[Family, list[Member]]:
    family = Family(scheme, 3, **options)
    return family, [family.request(number, f"/{size}", signal, kind) for number, size, signal, kind in script]


def played_at_once(scheme: str, script: Script) -> Family:
    """All of it leaves before the first acknowledgement: what a scheduler is told then is no part of the script."""
    family, members = played(scheme, [], delay_us=500_000)
    for session in family.sessions:
        session.quic._loss._cc.congestion_window = 1 << 40
        session.quic._loss._pacer.packet_time = None
    members = [family.request(number, f"/{size}", signal, kind) for number, size, signal, kind in script]
    family.run(0.98)
    assert sorted(member for member, _ in family.opened) == sorted(members)
    return family


def bare(family: Family) -> list[tuple[Member, int]]:
    """The frames that one scheduler alone would have sent, on one connection with these sizes of frames."""
    scheduler = family.scheme.create_scheduler()
    left: dict[Member, int] = {}
    for member, size_bytes in family.frames:
        left[member] = left.get(member, 0) + size_bytes
    numbers = {member: 4 * index for index, (member, _) in enumerate(family.opened)}
    members = {number: member for member, number in numbers.items()}
    for member, placement in family.opened:
        scheduler.open(numbers[member], placement)
    frames = []
    for _, size_bytes in family.frames:
        number = scheduler.pick()
        assert number is not None
        member = members[number]
        frames.append((member, size_bytes))
        scheduler.sent(number, size_bytes)
        left[member] -= size_bytes
        if left[member] <= 0:
            scheduler.pause(number)
    return frames


@each_scheme
def test_three_connections_send_what_one_would(scheme: str) -> None:
    family = played_at_once(scheme, MIXED)
    assert bare(family) == family.frames


@examples(40)
@given(scheme=st.sampled_from(sorted(SCHEMES)), script=scripts)
def test_they_do_so_for_any_script(scheme: str, script: Script) -> None:
    family = played_at_once(scheme, script)
    assert bare(family) == family.frames


@examples(40)
@given(
    scheme=st.sampled_from(sorted(SCHEMES)),
    script=scripts,
    seed=st.integers(0, 1000),
    loss_ratio=st.sampled_from([0.0, 0.02, 0.1]),
)
def test_on_a_narrow_lossy_link_everything_arrives_and_nothing_jumps_the_queue(
    scheme: str, script: Script, seed: int, loss_ratio: float
) -> None:
    family, members = played(
        scheme, script, rate_bps=4_000_000, queue_bytes=30_000, loss_ratio=loss_ratio, seed=seed, delay_us=20_000
    )
    family.finish()
    for member, (_, size_bytes, _, _) in zip(members, script, strict=True):
        assert family.body(member) == pattern(size_bytes)
    assert family.strays == []


def test_an_urgent_response_of_another_connection_overtakes_at_the_next_packet() -> None:
    family = Family("eps")
    image = family.request(0, "/400000", "u=4", "image")
    family.run(0.05)
    family.frames.clear()
    font = family.request(1, "/20000", "u=0", "font")
    family.finish()
    blocks = list(runs(member for member, _ in family.frames))  # type: ignore[arg-type]
    assert blocks == [image, font, image]
    assert family.done_s(font) < family.done_s(image)


def test_incremental_responses_of_two_connections_take_turns_packet_by_packet() -> None:
    family = Family("rr")
    for number in (0, 1):
        family.request(number, "/12000", "u=3, i")
    family.finish()
    blocks = list(runs(member for member, _ in family.frames))  # type: ignore[arg-type]
    assert len(blocks) >= 16, "each frame of one is followed by one of the other"


def test_without_a_shared_scheduler_the_order_would_be_another() -> None:
    """What the option is for: two connections by themselves send their own most urgent responses side by side."""
    alone = [Family("eps", 1), Family("eps", 1)]
    for family, priority in zip(alone, ("u=0", "u=5"), strict=True):
        family.request(0, "/60000", priority)
        family.run(0.015)
    assert all(family.frames for family in alone), "both have sent at the same time"
    together = Family("eps")
    together.request(0, "/60000", "u=0")
    together.request(1, "/60000", "u=5")
    together.run(0.015)
    assert {number for (number, _), _ in together.frames} == {0}


def test_a_client_that_has_vanished_holds_the_others_for_a_probe_timeout_only() -> None:
    family = Family("eps", delay_us=25_000, rate_bps=10_000_000, queue_bytes=60_000)
    urgent = family.request(0, "/3000000", "u=0")
    family.run(0.4)
    family.clients[0].is_silent = True
    other = family.request(1, "/50000", "u=5")
    asked_s = family.now_s
    family.finish(limit_s=5.0)
    assert family.is_done(other)
    assert not family.is_done(urgent)
    assert family.done_s(other) - asked_s < 1.0, (
        "a probe timeout of some round trips of 50 ms, and the response's own time"
    )


def test_one_that_comes_back_takes_its_turn_again() -> None:
    family = Family("eps", delay_us=25_000, rate_bps=10_000_000, queue_bytes=60_000)
    urgent = family.request(0, "/1000000", "u=0")
    family.run(0.4)
    family.clients[0].is_silent = True
    other = family.request(1, "/4000000", "u=5")
    family.run(1.0)
    family.clients[0].is_silent = False
    family.finish()
    assert family.body(urgent) == pattern(1_000_000)
    assert family.body(other) == pattern(4_000_000)
    assert family.done_s(urgent) < family.done_s(other), "the urgent one was finished first after all"


def test_a_client_that_grants_no_more_credit_holds_nobody() -> None:
    family = Family("eps", max_data=30_000, max_stream_data=30_000)
    family.clients[0].quic._write_connection_limits = lambda *_, **__: None  # type: ignore[method-assign]
    stuck = family.request(0, "/100000", "u=0")
    other = family.request(1, "/20000", "u=5")
    family.finish(limit_s=3.0)
    assert family.is_done(other)
    assert not family.is_done(stuck)


def test_a_connection_that_is_closed_leaves_the_turn_to_the_others() -> None:
    family = Family("eps", rate_bps=5_000_000, queue_bytes=20_000)
    family.request(0, "/1000000", "u=0")
    other = family.request(1, "/50000", "u=5")
    family.run(0.1)
    family.clients[0].quic.close()
    family.clients[0].bodies.clear()
    family.finish(limit_s=5.0)
    assert family.is_done(other)
    assert len(family.shared) == 1


def test_connections_that_have_nothing_to_send_are_not_asked() -> None:
    family = Family("eps", 4, rate_bps=5_000_000, queue_bytes=20_000)
    family.run(2.0)
    family.flushes.clear()
    family.request(0, "/200000")
    family.finish()
    assert set(family.flushes) == {0}


@cache
def placements_of(scheme: str) -> dict[int, Any]:
    """Of the responses of MIXED by stream, all of them on one connection."""
    family = played_at_once(scheme, [(0, *item[1:]) for item in MIXED])
    return {member[1]: placement for member, placement in family.opened}


@each_scheme
@examples(15)
@given(data=st.data())
def test_a_share_that_is_alone_decides_as_the_scheduler_itself(scheme: str, data: st.DataObject) -> None:
    """The same history through both: pick by pick the same."""
    configured = configure(scheme, SCHEMES, catalog.load_mapping)
    itself, share = configured.create_scheduler(), SharedScheduler(configured.create_scheduler()).join()
    placements = placements_of(scheme)
    waiting, known = list(placements), []
    for _ in range(40):
        action = data.draw(st.sampled_from(["open", "pause", "resume", "send", "send", "close"]))
        if action == "open" and waiting:
            known.append(waiting.pop(0))
            for scheduler in (itself, share):
                scheduler.open(known[-1], placements[known[-1]])
        elif action == "send" and (picked := itself.pick()) is not None:
            for scheduler in (itself, share):
                scheduler.sent(picked, 1200)
        elif action in {"pause", "resume", "close"} and known:
            stream_id = data.draw(st.sampled_from(known))
            for scheduler in (itself, share):
                getattr(scheduler, action)(stream_id)
            if action == "close":
                known.remove(stream_id)
        assert share.pick() == itself.pick()
        assert share.is_steady() == (itself.is_steady() and itself.pick() is not None)


def test_ties_are_broken_by_arrival_and_within_a_connection_by_stream_id() -> None:
    shared = SharedScheduler(Sequential())
    first, second = shared.join(), shared.join()
    second.open(0, None)
    first.open(8, None)  # the requests on 0 and 4 are late
    second.open(4, None)
    first.open(0, None)
    order = []
    while (share := shared.turn()) is not None:
        stream_id = share.pick()
        assert stream_id is not None
        order.append(("first" if share is first else "second", stream_id))
        share.close(stream_id)
    assert order == [("second", 0), ("first", 0), ("first", 8), ("second", 4)]


def test_what_is_kept_for_streams_that_never_come_is_bounded() -> None:
    shared = SharedScheduler(Sequential())
    share = shared.join()
    for stream_id in range(4, 40_000, 8):
        share.open(stream_id, None)
        share.close(stream_id)
    assert len(share._reserved) <= MAX_RESERVED
    assert not shared.owners
    share.open(0, None)  # forgotten by now; it is served all the same
    assert share.pick() == 0


def test_only_the_one_whose_turn_it_is_may_send() -> None:
    shared = SharedScheduler(Sequential())
    first, second = shared.join(), shared.join()
    first.open(0, None)
    second.open(0, None)
    assert (first.pick(), second.pick()) == (0, None)
    first.pause(0)
    assert (first.pick(), second.pick()) == (None, 0)


def test_a_stalled_share_stands_aside_and_is_asked_again_when_it_is_not() -> None:
    shared = SharedScheduler(Sequential())
    stalled = True
    first, second = shared.join(lambda: stalled), shared.join()
    first.open(0, None)
    second.open(0, None)
    asked = []
    shared.take_turns(first, asked.append)
    assert asked == [first, second], "the first can send nothing, so the turn is the other's"
    assert first.pick() == 0, "what it may send all the same is in its place in the order"
    assert second.pick() == 0
    stalled = False
    shared.take_turns(second, asked.append)
    assert second.pick() == 0, "nobody has looked yet at what happened to the first"
    shared.take_turns(first, asked.append)
    assert (first.pick(), second.pick()) == (0, None)


def test_who_has_used_its_turn_is_not_asked_again_for_nothing() -> None:
    shared = SharedScheduler(Sequential())
    first, second = shared.join(), shared.join()
    first.open(0, None)
    second.open(0, None)
    asked = []
    shared.take_turns(first, asked.append)  # its congestion window is full
    for _ in range(3):
        shared.take_turns(second, asked.append)  # acknowledgements come in
    assert asked == [first, second, second, second]


def test_unknown_and_doubled_streams_are_errors() -> None:
    share = SharedScheduler(Sequential()).join()
    share.open(0, None)
    with pytest.raises(ValueError, match="open already"):
        share.open(0, None)
    for call in (share.pause, share.resume, share.close):
        with pytest.raises(KeyError):
            call(4)
