"""What every scheduler keeps, whatever its policy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mixedsched.priority import Priority
from mixedsched.schedulers import SCHEMES
from mixedsched.scheme import Scheduler
from tests.schedulers.wire import create, placement_for

SPECS = [
    *SCHEMES,
    "ip:alpha=0",
    "ip:alpha=0.5",
    "mixed:n_interrupts_i=no",
    "mixed:alpha=0.5,high_media=N",
    "batched-rr:packets=3",
    "p+:chain=dfifo,linger=3",
    "s+:linger=2",
    "spdyrr:inside=wrr",
]
priorities = st.builds(Priority, st.integers(0, 7), st.booleans())
every_spec = pytest.mark.parametrize("spec", SPECS)


def opened(spec: str, wanted: list[Priority]) -> Scheduler[Any]:
    scheduler = create(spec)
    for index, priority in enumerate(wanted):
        scheduler.open(4 * index, placement_for(spec, priority))
    return scheduler


@every_spec
@given(
    wanted=st.lists(priorities, min_size=1, max_size=8), sizes=st.lists(st.integers(1, 5000), min_size=8, max_size=8)
)
def test_everything_is_sent_once_and_the_link_is_never_idle(
    spec: str, wanted: list[Priority], sizes: list[int]
) -> None:
    scheduler, left = opened(spec, wanted), {4 * index: sizes[index] for index in range(len(wanted))}
    while left:
        stream_id = scheduler.pick()
        assert stream_id in left, "idle, or a stream that has nothing to send, though others have"
        size_bytes = min(1200, left[stream_id])
        scheduler.sent(stream_id, size_bytes)
        left[stream_id] -= size_bytes
        if not left[stream_id]:
            scheduler.close(stream_id)
            del left[stream_id]
    assert scheduler.pick() is None


@every_spec
@given(wanted=st.lists(priorities, min_size=2, max_size=8))
def test_all_but_the_paused_stream_are_served_once(spec: str, wanted: list[Priority]) -> None:
    scheduler, served = opened(spec, wanted), []
    scheduler.pause(0)
    while (stream_id := scheduler.pick()) is not None:
        served.append(stream_id)
        scheduler.sent(stream_id, 1)
        scheduler.close(stream_id)
    assert sorted(served) == [4 * index for index in range(1, len(wanted))]


@every_spec
@given(wanted=st.lists(priorities, min_size=1, max_size=8), times=st.integers(2, 5))
def test_looking_changes_nothing(spec: str, wanted: list[Priority], times: int) -> None:
    looked, unlooked = opened(spec, wanted), opened(spec, wanted)
    for _ in range(20):
        picks = {looked.pick() for _ in range(times)}
        assert picks == {unlooked.pick()}
        stream_id = picks.pop()
        assert stream_id is not None
        looked.sent(stream_id, 1000)
        unlooked.sent(stream_id, 1000)


@every_spec
@given(wanted=st.lists(priorities, min_size=1, max_size=6))
def test_an_equal_placement_does_not_cost_the_turn(spec: str, wanted: list[Priority]) -> None:
    touched, untouched = opened(spec, wanted), opened(spec, wanted)
    for step in range(24):
        index = step % len(wanted)
        touched.reprioritize(4 * index, placement_for(spec, wanted[index]))
        stream_id = touched.pick()
        assert stream_id == untouched.pick()
        assert stream_id is not None
        touched.sent(stream_id, 700)
        untouched.sent(stream_id, 700)


@every_spec
def test_unknown_and_doubled_streams_are_errors(spec: str) -> None:
    scheduler = opened(spec, [Priority()])
    with pytest.raises(ValueError, match="open already"):
        scheduler.open(0, placement_for(spec, Priority()))
    for call in (scheduler.pause, scheduler.resume, scheduler.close):
        with pytest.raises(KeyError):
            call(4)
    with pytest.raises(KeyError):
        scheduler.reprioritize(4, placement_for(spec, Priority()))


@every_spec
def test_pausing_and_resuming_twice_is_as_good_as_once(spec: str) -> None:
    scheduler = opened(spec, [Priority()])
    for _ in range(2):
        scheduler.pause(0)
        assert scheduler.pick() is None
    for _ in range(2):
        scheduler.resume(0)
        assert scheduler.pick() == 0
    scheduler.close(0)
    assert scheduler.pick() is None


@every_spec
def test_a_stream_may_come_back_under_the_same_number(spec: str) -> None:
    scheduler = opened(spec, [Priority(), Priority()])
    scheduler.sent(0, 10_000)
    scheduler.close(0)
    scheduler.open(0, placement_for(spec, Priority(0)))
    scheduler.close(4)
    assert scheduler.pick() == 0


class AnyHistory(RuleBasedStateMachine):
    """Opens, closes, pauses, moves and serves in any order; after every step the pick is a ready stream, if there is one."""

    spec = ""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = create(self.spec)
        self.ready: set[int] = set()
        self.paused: set[int] = set()
        self.next_id = 0

    @rule(priority=priorities)
    def open(self, priority: Priority) -> None:
        self.scheduler.open(self.next_id, placement_for(self.spec, priority))
        self.ready.add(self.next_id)
        self.next_id += 4

    @precondition(lambda self: self.ready or self.paused)
    @rule(data=st.data())
    def pause(self, data: st.DataObject) -> None:
        stream_id = data.draw(st.sampled_from(sorted(self.ready | self.paused)))
        self.scheduler.pause(stream_id)
        self.ready.discard(stream_id)
        self.paused.add(stream_id)

    @precondition(lambda self: self.ready or self.paused)
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        stream_id = data.draw(st.sampled_from(sorted(self.ready | self.paused)))
        self.scheduler.resume(stream_id)
        self.paused.discard(stream_id)
        self.ready.add(stream_id)

    @precondition(lambda self: self.ready or self.paused)
    @rule(data=st.data(), priority=priorities)
    def move(self, data: st.DataObject, priority: Priority) -> None:
        stream_id = data.draw(st.sampled_from(sorted(self.ready | self.paused)))
        self.scheduler.reprioritize(stream_id, placement_for(self.spec, priority))

    @precondition(lambda self: self.ready or self.paused)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        stream_id = data.draw(st.sampled_from(sorted(self.ready | self.paused)))
        self.scheduler.close(stream_id)
        self.ready.discard(stream_id)
        self.paused.discard(stream_id)

    @precondition(lambda self: self.ready)
    @rule(size_bytes=st.integers(0, 20_000))
    def serve(self, size_bytes: int) -> None:
        stream_id = self.scheduler.pick()
        assert stream_id is not None
        self.scheduler.sent(stream_id, size_bytes)

    @precondition(lambda self: self.ready or self.paused)
    @rule(data=st.data(), size_bytes=st.integers(0, 20_000))
    def charge_anybody(self, data: st.DataObject, size_bytes: int) -> None:
        """A packet may hold what the scheduler did not pick, and a stream may be charged after its last byte."""
        stream_id = data.draw(st.sampled_from(sorted(self.ready | self.paused)))
        self.scheduler.sent(stream_id, size_bytes, again_bytes=size_bytes // 2)

    @invariant()
    def picks_a_ready_stream(self) -> None:
        picked = self.scheduler.pick()
        assert picked in self.ready if self.ready else picked is None


@every_spec
def test_any_history_leaves_a_working_scheduler(spec: str) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(type("Machine", (AnyHistory,), {"spec": spec}))


@pytest.mark.parametrize("spec", ["stock", "ip", "ip:alpha=0"])
@given(wanted=st.lists(priorities, min_size=2, max_size=8))
def test_sharing_policies_starve_nobody(spec: str, wanted: list[Priority]) -> None:
    scheduler, served = opened(spec, wanted), set()
    for _ in range(400):
        stream_id = scheduler.pick()
        assert stream_id is not None
        served.add(stream_id)
        scheduler.sent(stream_id, 1200)
    assert len(served) == len(wanted)
