"""ByteIndex: how long the bytes of a page, or of a set of its resources, are missing on average.

It is not a metric of a browser's run, but computed from simulated loads.
Source: Bocchi et al. 2016, as Marx et al. 2019 use it (section 5.1): the integral above the curve of completed resources.
"""

import math
from collections.abc import Iterable

NANOSECONDS_PER_MILLISECOND = 1_000_000


def byte_index_ms(completions: Iterable[tuple[float, float]], sample_ms: float | None = None) -> float:
    """The integral of 1 - x(t) from 0 until all is complete, where x is the share of completed weight. In ms, lower is better.

    completions: (weight, complete_ms) of each resource; weights >= 0, in bytes as a rule. If all weights are zero, as for
    responses without bytes, each resource counts the same.

    Unsampled that is the weighted mean of completion times. sample_ms: look only so often, as the paper does (100 ms):
    the sum over k >= 0 of S * (1 - x(S * k)). Complete at the very moment of a sample counts as complete. This is larger than
    the unsampled index by less than S. Times are compared in whole nanoseconds, so that 0.3 is three times 0.1.
    Raises ValueError without any completion, and for an interval below a nanosecond.
    """
    pairs = list(completions)
    if not pairs:
        raise ValueError("an index needs at least one resource")
    if not any(weight for weight, _ in pairs):
        pairs = [(1, complete_ms) for _, complete_ms in pairs]
    if sample_ms is not None:
        interval_ns = round(sample_ms * NANOSECONDS_PER_MILLISECOND)
        if interval_ns < 1:
            raise ValueError(f"the sample interval must be at least a nanosecond, got {sample_ms} ms")
        pairs = [(weight, _seen_complete_ms(complete_ms, interval_ns)) for weight, complete_ms in pairs]
    total = math.fsum(weight for weight, _ in pairs)
    return math.fsum(weight * missing_ms for weight, missing_ms in pairs) / total


def _seen_complete_ms(complete_ms: float, interval_ns: int) -> float:
    """The first sample that finds the resource complete."""
    missed = -(-round(complete_ms * NANOSECONDS_PER_MILLISECOND) // interval_ns)
    return missed * interval_ns / NANOSECONDS_PER_MILLISECOND
