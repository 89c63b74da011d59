"""Rate and losses of a direction over time, without sending a packet: for pictures and tables."""

from bisect import bisect_left
from itertools import pairwise

from mixedsched.core.link._loss import loss_process
from mixedsched.core.link._randomness import direction_rng
from mixedsched.model.profile import OPPORTUNITY_BYTES, Direction, Trace

MILLISECONDS_PER_SECOND = 1000


def loss_pattern(direction: Direction, seed: int, side: str, packets: int) -> list[bool]:
    """Which of the first `packets` packets handed over are lost on the way (True). side: "down" or "up".

    Packets that overflow are counted too, and a duplicate that makes up for a loss is not considered.
    """
    is_lost = loss_process(direction.loss, direction_rng(seed, side))
    return [is_lost() for _ in range(packets)]


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
