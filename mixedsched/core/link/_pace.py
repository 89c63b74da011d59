"""How fast packets leave a queue. A pace is asked packet by packet, in their order; times are nanoseconds.

Transmission times are rounded up, so no link beats its rate.
"""

from bisect import bisect_left
from itertools import pairwise
from typing import Protocol

from mixedsched.model.profile import OPPORTUNITY_BYTES, Direction, Trace

BIT_NANOSECONDS_PER_BYTE_SECOND = 8_000_000_000
NANOSECONDS_PER_MILLISECOND = 1_000_000
MILLISECONDS_PER_SECOND = 1000


class Pace(Protocol):
    """Lets one packet leave after the other. A moment before the last packet has left means that it waits for that."""

    def ready_ns(self, now_ns: int) -> int:
        """The first moment, from now on, at which a packet could begin to leave."""
        ...

    def send(self, size_bytes: int, now_ns: int) -> int:
        """When a packet that is there from now on has left; the next one is behind it."""
        ...


def pace_of(direction: Direction) -> Pace:
    """The pace that a direction's rate, burst and trace ask for."""
    if direction.trace is not None:
        return TracePace(direction.trace)
    if direction.rate_bps is None:
        return NoLimit()
    if direction.burst_bytes:
        return TokenBucket(direction.rate_bps, direction.burst_bytes)
    return Wire(direction.rate_bps)


class NoLimit:
    """Everything leaves at once."""

    def ready_ns(self, now_ns: int) -> int:
        return now_ns

    def send(self, size_bytes: int, now_ns: int) -> int:  # noqa: ARG002 - the size does not matter here
        return now_ns


class Wire:
    """A packet takes its size over the rate to leave, then the next one begins."""

    def __init__(self, rate_bps: int) -> None:
        self._rate_bps = rate_bps
        self._idle_from_ns = 0

    def ready_ns(self, now_ns: int) -> int:
        return max(now_ns, self._idle_from_ns)

    def send(self, size_bytes: int, now_ns: int) -> int:
        start_ns = self._idle_from_ns
        if now_ns > start_ns:
            start_ns = now_ns
        self._idle_from_ns = left_ns = start_ns - (-size_bytes * BIT_NANOSECONDS_PER_BYTE_SECOND // self._rate_bps)
        return left_ns


class TokenBucket:
    """The kernel's tbf: a packet leaves at once where the bucket holds its size in tokens, else as soon as it does.

    Tokens come in at the rate until the bucket is full, as it is in the beginning. Instead of tokens, the moment is kept at
    which the bucket will be full again. A packet larger than the bucket waits for all that it lacks (the kernel would drop it).
    Source: tc-tbf(8); Linux, net/sched/sch_tbf.c, tbf_dequeue().
    """

    def __init__(self, rate_bps: int, burst_bytes: int) -> None:
        self._rate_bps = rate_bps
        self._burst_bytes = burst_bytes
        self._full_at_ns = 0
        self._last_left_ns = 0

    def ready_ns(self, now_ns: int) -> int:
        return max(now_ns, self._last_left_ns)

    def send(self, size_bytes: int, now_ns: int) -> int:
        spare_ns = (self._burst_bytes - size_bytes) * BIT_NANOSECONDS_PER_BYTE_SECOND // self._rate_bps
        full_at_ns = self._full_at_ns
        left_ns = max(now_ns, self._last_left_ns)
        if spare_ns < 0:  # no bucket holds what it lacks, however long the link was idle
            left_ns -= spare_ns
        left_ns = max(left_ns, full_at_ns - spare_ns)
        if left_ns > full_at_ns:
            full_at_ns = left_ns
        used_bytes = min(size_bytes, self._burst_bytes)  # the rest was waited for
        self._full_at_ns = full_at_ns - (-used_bytes * BIT_NANOSECONDS_PER_BYTE_SECOND // self._rate_bps)
        self._last_left_ns = left_ns
        return left_ns


class TracePace:
    """Mahimahi's packet-delivery trace: each opportunity lets OPPORTUNITY_BYTES pass, at its moment.

    A packet may use several; what it leaves of the last one serves the packets behind it, if they are there at that moment,
    and is gone otherwise, as is an unused opportunity. A packet handed over at the very moment may use it. After
    the last time the trace begins again, that time being its new zero. Source: Mahimahi, src/frontend/link_queue.cc.
    """

    def __init__(self, trace: Trace) -> None:
        self._times_ns = [time_ms * NANOSECONDS_PER_MILLISECOND for time_ms in trace.opportunities_ms]
        self._period_ns = self._times_ns[-1]
        self._round_ns = 0  # when this round of the trace began
        self._index = 0  # of the opportunity that is looked at, in this round
        self._spare_bytes = OPPORTUNITY_BYTES  # what is left of it

    def ready_ns(self, now_ns: int) -> int:
        self._skip_to(now_ns)
        return self._at_ns()

    def send(self, size_bytes: int, now_ns: int) -> int:
        self._skip_to(now_ns)
        missing_bytes = size_bytes - self._spare_bytes
        while missing_bytes > 0:
            self._next()
            missing_bytes -= OPPORTUNITY_BYTES
        left_ns = self._at_ns()
        self._spare_bytes = -missing_bytes
        if not self._spare_bytes:
            self._next()
        return left_ns

    def _at_ns(self) -> int:
        return self._round_ns + self._times_ns[self._index]

    def _skip_to(self, now_ns: int) -> None:
        """Opportunities before now are gone."""
        if self._at_ns() >= now_ns:
            return
        rounds = (now_ns - self._round_ns - 1) // self._period_ns  # the last moment of a round still belongs to it
        self._round_ns += rounds * self._period_ns
        self._index = bisect_left(self._times_ns, now_ns - self._round_ns)
        self._spare_bytes = OPPORTUNITY_BYTES

    def _next(self) -> None:
        self._spare_bytes = OPPORTUNITY_BYTES
        self._index += 1
        if self._index == len(self._times_ns):
            self._index = 0
            self._round_ns += self._period_ns


def rate_over_time(direction: Direction, duration_ms: int, step_ms: int) -> list[int]:
    """The rate at which data can pass, in bit/s, in each full step of `step_ms`; [] if there is no limit.

    The first burst of a token bucket is left out. A trace counts each opportunity whole, in the step in which it falls: one
    at 0 ms in the first step, one at `step_ms` in the second.
    """
    if step_ms <= 0:
        raise ValueError(f"step_ms must be positive, got {step_ms}")
    starts_ms = range(0, duration_ms - step_ms + 1, step_ms)
    if direction.trace is None:
        return [] if direction.rate_bps is None else [direction.rate_bps for _ in starts_ms]
    counts = [opportunities_before(direction.trace, start_ms) for start_ms in (*starts_ms, len(starts_ms) * step_ms)]
    bits_per_second = OPPORTUNITY_BYTES * 8 * MILLISECONDS_PER_SECOND
    return [(after - before) * bits_per_second // step_ms for before, after in pairwise(counts)]


def opportunities_before(trace: Trace, time_ms: int) -> int:
    """The number of opportunities that a trace offers before this time, repeats included."""
    repeats, rest_ms = divmod(time_ms, trace.period_ms)
    times = trace.opportunities_ms
    # The last one of a round falls at the moment at which the next round begins, so it is counted with that.
    before = repeats * len(times) + bisect_left(times, rest_ms)
    return before - (len(times) - bisect_left(times, trace.period_ms) if repeats and not rest_ms else 0)
