"""What every scheduler keeps, whatever its policy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.schedulers._levels import Level
from mixedsched.core.schedulers.bucket import Bucket
from mixedsched.model.priority import Priority
from mixedsched.model.scheduler import Scheduler
from tests.core.schedulers.wire import PACKET_BYTES, Wire, create, placement_for
from tests.examples import examples

SPECS = [
    *SCHEMES,
    "ip:alpha=0",
    "ip:alpha=0.5",
    "mixed:n_interrupts_i=no",
    "mixed:alpha=0.5,high_media=N",
    "mixed:medium_script=I",
    "nip:urgencies=direct",
    "batched-rr:packets=1",
    "batched-rr:packets=3",
    "p+:chain=dfifo,linger=3",
    "s+:linger=2",
    "spdyrr:inside=wrr",
    "zeroweight:other_image=0",
    "server-nginx:stream_buffer_bytes=2048",
]
priorities = st.builds(Priority, st.integers(0, 7), st.booleans())
every_spec = pytest.mark.parametrize("spec", SPECS)
few = examples(20)  # many specs multiply


def opened(spec: str, wanted: list[Priority]) -> Scheduler[Any]:
    scheduler = create(spec)
    for index, priority in enumerate(wanted):
        scheduler.open(4 * index, placement_for(spec, priority))
    return scheduler


@every_spec
@few
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
@few
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
@few
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
@few
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
@pytest.mark.parametrize("incremental", [True, False])
def test_a_stream_that_was_moved_while_paused_may_be_charged(spec: str, incremental: bool) -> None:
    """A PRIORITY_UPDATE comes while it waits for credit or its origin, and then what was lost of it is sent again."""
    scheduler = create(spec)
    scheduler.open(0, placement_for(spec, Priority(3, not incremental)))
    scheduler.pause(0)
    scheduler.reprioritize(0, placement_for(spec, Priority(2, incremental)))
    scheduler.sent(0, PACKET_BYTES, again_bytes=PACKET_BYTES)
    scheduler.resume(0)
    assert scheduler.pick() == 0


@every_spec
def test_a_stream_may_come_back_under_the_same_number(spec: str) -> None:
    scheduler = opened(spec, [Priority(), Priority()])
    scheduler.sent(0, 10_000)
    scheduler.close(0)
    scheduler.open(0, placement_for(spec, Priority(0)))
    scheduler.close(4)
    assert scheduler.pick() == 0


class AnyHistory(RuleBasedStateMachine):
    """Opens, closes, pauses, moves and serves in any order; after every step the pick is a ready stream, if there is one.

    A twin lives through the same history, but nobody looks at its pick except now and then, and where the scheduler says that
    its pick is steady, the twin is charged once for several packets. It must not differ by either.
    """

    spec = ""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler, self.twin = create(self.spec), create(self.spec)
        self.ready: set[int] = set()
        self.paused: set[int] = set()
        self.next_id = 0

    @rule(priority=priorities)
    def open(self, priority: Priority) -> None:
        for one in (self.scheduler, self.twin):
            one.open(self.next_id, placement_for(self.spec, priority))
        self.ready.add(self.next_id)
        self.next_id += 4

    @precondition(lambda self: self.ready or self.paused)
    @rule(data=st.data())
    def pause(self, data: st.DataObject) -> None:
        stream_id = self.any_open(data)
        for one in (self.scheduler, self.twin):
            one.pause(stream_id)
        self.ready.discard(stream_id)
        self.paused.add(stream_id)

    @precondition(lambda self: self.ready or self.paused)
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        self.resume_one(self.any_open(data))

    @precondition(lambda self: self.ready or self.paused)
    @rule(data=st.data(), priority=priorities)
    def move(self, data: st.DataObject, priority: Priority) -> None:
        stream_id = self.any_open(data)
        for one in (self.scheduler, self.twin):
            one.reprioritize(stream_id, placement_for(self.spec, priority))

    @precondition(lambda self: self.ready or self.paused)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        stream_id = self.any_open(data)
        for one in (self.scheduler, self.twin):
            one.close(stream_id)
        self.ready.discard(stream_id)
        self.paused.discard(stream_id)

    @precondition(lambda self: self.ready)
    @rule(size_bytes=st.integers(0, 20_000))
    def serve(self, size_bytes: int) -> None:
        stream_id = self.scheduler.pick()
        assert stream_id is not None
        for one in (self.scheduler, self.twin):
            one.sent(stream_id, size_bytes)

    @precondition(lambda self: self.ready and self.scheduler.is_steady())
    @rule(packets=st.integers(2, 7))
    def serve_a_run(self, packets: int) -> None:
        stream_id = self.scheduler.pick()
        assert stream_id is not None
        for _ in range(packets):
            assert self.scheduler.pick() == stream_id, "said to be steady"
            self.scheduler.sent(stream_id, PACKET_BYTES)
        assert self.scheduler.pick() == stream_id, "said to be steady"
        self.twin.sent(stream_id, packets * PACKET_BYTES)

    @precondition(lambda self: self.ready or self.paused)
    @rule(data=st.data(), size_bytes=st.integers(0, 20_000))
    def charge_anybody(self, data: st.DataObject, size_bytes: int) -> None:
        """A packet may hold what the scheduler did not pick, and a stream may be charged after its last byte."""
        stream_id = self.any_open(data)
        for one in (self.scheduler, self.twin):
            one.sent(stream_id, size_bytes, again_bytes=size_bytes // 2)

    @rule()
    def look_at_the_twin(self) -> None:
        assert self.twin.pick() == self.scheduler.pick()

    @invariant()
    def picks_a_ready_stream(self) -> None:
        picked = self.scheduler.pick()
        assert picked in self.ready if self.ready else picked is None

    def teardown(self) -> None:
        """The twins go on alike, also with those that were blocked."""
        for stream_id in sorted(self.paused):
            self.resume_one(stream_id)
        for _ in range(4 * len(self.ready)):
            picked = self.scheduler.pick()
            assert picked is not None
            assert self.twin.pick() == picked
            for one in (self.scheduler, self.twin):
                one.sent(picked, PACKET_BYTES)

    def any_open(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(sorted(self.ready | self.paused)))

    def resume_one(self, stream_id: int) -> None:
        for one in (self.scheduler, self.twin):
            one.resume(stream_id)
        self.paused.discard(stream_id)
        self.ready.add(stream_id)


@every_spec
def test_any_history_leaves_a_working_scheduler(spec: str) -> None:
    run_state_machine_as_test(type("Machine", (AnyHistory,), {"spec": spec}))


@every_spec
@examples(60)
@given(
    history=st.lists(
        st.tuples(
            st.sampled_from(["toggle", "toggle", "toggle", "close", "move", "serve"]), st.integers(0, 3), priorities
        ),
        min_size=4,
        max_size=16,
    ),
    packets=st.lists(st.integers(1, 7), min_size=16, max_size=16),
    last=priorities,
)
def test_what_is_said_to_be_steady_is(
    spec: str, history: list[tuple[str, int, Priority]], packets: list[int], last: Priority
) -> None:
    """Wherever a history of few streams gets steady, one is served packet by packet and its twin at once."""
    scheduler, twin = create(spec), create(spec)
    both, ready, paused = (scheduler, twin), dict[int, None](), dict[int, None]()
    for (step, index, priority), run in zip(history, packets, strict=False):
        stream_id = 4 * index
        if step == "toggle":
            name = "pause" if stream_id in ready else "resume" if stream_id in paused else "open"
            for one in both:
                getattr(one, name)(stream_id, *((placement_for(spec, priority),) if name == "open" else ()))
            if name == "pause":
                del ready[stream_id]
                paused[stream_id] = None
            else:
                ready[stream_id] = None
                paused.pop(stream_id, None)
        elif step in {"close", "move"} and (stream_id in ready or stream_id in paused):
            for one in both:
                if step == "close":
                    one.close(stream_id)
                else:
                    one.reprioritize(stream_id, placement_for(spec, priority))
            if step == "close":
                ready.pop(stream_id, None)
                paused.pop(stream_id, None)
        elif step == "serve" and ready:
            picked = scheduler.pick()
            for one in both:
                one.sent(picked, PACKET_BYTES)
        if ready and scheduler.is_steady():
            picked = scheduler.pick()
            for _ in range(run):
                scheduler.sent(picked, PACKET_BYTES)
                assert scheduler.pick() == picked
            twin.sent(picked, run * PACKET_BYTES)
    for one in both:
        one.open(400, placement_for(spec, last))
        for stream_id in paused:
            one.resume(stream_id)
    for _ in range(16):
        picked = scheduler.pick()
        assert twin.pick() == picked
        for one in both:
            one.sent(picked, PACKET_BYTES)


@pytest.mark.parametrize("spec", ["sequential", "fifo", "dfifo", "nip", "chrome7"])
def test_one_after_another_is_always_steady(spec: str) -> None:
    scheduler = opened(spec, [Priority(3), Priority(2), Priority(0, True), Priority(7)])
    while (stream_id := scheduler.pick()) is not None:
        assert scheduler.is_steady()
        scheduler.close(stream_id)


@pytest.mark.parametrize("spec", ["rr", "wrr", "stock", "safari-wrr", "ip", "batched-rr"])
def test_taking_turns_is_not_steady(spec: str) -> None:
    assert not opened(spec, [Priority(3), Priority(3)]).is_steady()


def rank(placement: Any) -> tuple[int, ...]:
    """What comes first in a strict scheme, as a sortable rank."""
    match placement:
        case Level():
            return (placement.level,)
        case Bucket():
            return (-placement.priority, 0 if placement.concurrency == 3 else 1)
        case Priority():
            return (placement.urgency,)
        case weight:
            return (0 if weight == 255 else 2 if weight == 0 else 1,)


STRICT = [
    "dfifo",
    "spdyrr",
    "spdyrr:inside=wrr",
    "chrome7",
    "firefox-eps",
    "bucket",
    "bucket-html",
    "eps",
    "zeroweight",
    "server-nghttp3",
    "server-h2o",
    "server-quic-go",
    "server-envoy",
    "server-lsquic",
]
histories = st.lists(
    st.tuples(
        st.sampled_from(["open", "open", "pause", "resume", "close", "serve", "serve"]), st.integers(0, 9), priorities
    ),
    min_size=10,
    max_size=60,
)


@pytest.mark.parametrize("spec", STRICT)
@given(histories)
def test_strict_levels_are_never_inverted(spec: str, history: list[tuple[str, int, Priority]]) -> None:
    scheduler, ranks, ready = create(spec), dict[int, tuple[int, ...]](), set[int]()
    for step, index, priority in history:
        stream_id = 4 * index
        if step == "open" and stream_id not in ranks:
            placement = placement_for(spec, priority)
            scheduler.open(stream_id, placement)
            ranks[stream_id] = rank(placement)
            ready.add(stream_id)
        elif stream_id in ranks and step in {"pause", "resume", "close"}:
            getattr(scheduler, step)(stream_id)
            (ready.add if step == "resume" else ready.discard)(stream_id)
            if step == "close":
                del ranks[stream_id]
        picked = scheduler.pick()
        if ready:
            assert picked is not None
            assert ranks[picked] == min(ranks[other] for other in ready)
            if spec in {"dfifo", "chrome7"}:
                assert picked == min(ready, key=lambda other: (ranks[other], other))
            scheduler.sent(picked, PACKET_BYTES)


@given(histories)
def test_no_incremental_response_of_mixed_goes_while_another_one_waits(
    history: list[tuple[str, int, Priority]],
) -> None:
    scheduler, waiting = create("mixed"), dict[int, Priority]()
    for step, index, priority in history:
        stream_id = 4 * index
        if step == "open" and stream_id not in waiting:
            scheduler.open(stream_id, priority)
            waiting[stream_id] = priority
        elif step == "close" and stream_id in waiting:
            scheduler.close(stream_id)
            del waiting[stream_id]
        picked = scheduler.pick()
        if picked is not None:
            assert not waiting[picked].incremental or all(other.incremental for other in waiting.values())
            scheduler.sent(picked, PACKET_BYTES)


@pytest.mark.parametrize(
    "spec",
    ["stock", "ip", "ip:alpha=0", "rr", "wrr", "safari-wrr", "batched-rr", "server-nginx:stream_buffer_bytes=2048"],
)
@few
@given(wanted=st.lists(priorities, min_size=2, max_size=8))
def test_sharing_policies_starve_nobody(spec: str, wanted: list[Priority]) -> None:
    scheduler, served = opened(spec, wanted), set()
    for _ in range(400):
        stream_id = scheduler.pick()
        assert stream_id is not None
        served.add(stream_id)
        scheduler.sent(stream_id, 1200)
    assert len(served) == len(wanted)


@pytest.mark.parametrize(
    ("spec", "others", "least", "every"),
    [
        ("firefox", "A:stylesheet B:xhr C:other", "image", 303 * 33 // 201),
        ("firefox", "A:stylesheet B:xhr C:other", "font+preload", 303 * 17),
        ("firefox-tree", "A:document+main B:stylesheet C:xhr D:other@VeryLow", "image", 544 * 33 // 201),
        ("firefox-tree", "A:document+main B:stylesheet C:xhr", "other@VeryLow", 544),
        ("p+", "A:stylesheet B:script+after_first_image", "image", 258),
        ("s+", "A:stylesheet B:script", "image", 258),
        ("s+", "A:stylesheet B:script C:image", "media", 258 * 202),
    ],
)
def test_groups_leak_one_packet_to_the_least_of_all_in_so_many(spec: str, others: str, least: str, every: int) -> None:
    script = " ".join(f"{item[0]}999999{item[1:]}" for item in others.split())
    line = Wire(spec, f"{script} Z999:{least}")
    assert [line.next(every).count("Z") for _ in range(3)] == [1, 1, 1]
