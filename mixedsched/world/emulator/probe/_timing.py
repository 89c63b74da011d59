"""Delay, jitter, rate and queue of a probed link, from when packets arrived. Pure: numbers in, findings out."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mixedsched.core.stats import Interval, mean_interval, median_interval
from mixedsched.model.profile import Direction
from mixedsched.world.emulator.probe._plan import nominal_delay_us, packets_in_queue, size_on_link, transmit_us
from mixedsched.world.emulator.probe.findings import CERTAIN, Integers, LinkFinding, ProbeArrivals, Quantity

DELAY_TOLERANCE_MS = 0.5
RATE_TOLERANCE = 0.01
QUEUE_TOLERANCE_PACKETS = 1.0
_SEGMENTS = 10
_TRACE_WHY = "under a trace each packet waits for a chance to leave"


def delay_finding(arrivals: ProbeArrivals, direction: Direction, side: str) -> LinkFinding:
    """The one-way delay of packets on an idle link, in ms: median and its interval."""
    quantity = Quantity("one-way delay", side, "ms")
    if direction.trace is not None:
        return quantity.not_applicable(_TRACE_WHY)
    delays_ms = _delays_ms(arrivals, direction)
    if len(delays_ms) < 2:
        return quantity.nothing_came()
    nominal_ms = nominal_delay_us(direction, size_on_link(direction, arrivals.sending)) / 1000
    middle, interval = float(np.median(delays_ms)), median_interval(delays_ms.tolist())
    certain = median_interval(delays_ms.tolist(), CERTAIN)
    quantiles = {f"p{share}": round(float(np.percentile(delays_ms, share)), 4) for share in (1, 5, 25, 75, 95, 99)}
    return quantity.judged(
        nominal_ms,
        (middle, interval, certain),
        tolerance=DELAY_TOLERANCE_MS,
        by_chance=bool(direction.jitter_us),
        packets=len(delays_ms),
        quantiles=quantiles,
    )


def jitter_finding(arrivals: ProbeArrivals, direction: Direction, side: str) -> LinkFinding:
    """Half the width of an even spread of delays, in ms, from the 5th and the 95th percentile, which hold nine tenths of it."""
    quantity = Quantity("jitter", side, "ms")
    if not direction.jitter_us:
        return quantity.not_applicable("the profile has none")
    if direction.trace is not None:
        return quantity.not_applicable(_TRACE_WHY)
    delays_ms = _delays_ms(arrivals, direction)
    if len(delays_ms) < 20:
        return quantity.nothing_came()

    def half_width(sample: NDArray[np.float64]) -> float:
        low, high = np.percentile(sample, (5, 95))
        return float(high - low) / 1.8

    rng = np.random.default_rng(0)
    again = [half_width(rng.choice(delays_ms, len(delays_ms))) for _ in range(400)]
    found = half_width(delays_ms)
    return quantity.judged(
        direction.jitter_us / 1000,
        (found, _middle(again, 0.95), _middle(again, CERTAIN)),
        "half the width of the spread",
        tolerance=DELAY_TOLERANCE_MS,
        by_chance=True,
    )


def _delays_ms(arrivals: ProbeArrivals, direction: Direction) -> NDArray[np.float64]:
    """Of the packets that were delayed: those that overtake them are not."""
    delays_ms = arrivals.delays_ms
    return delays_ms[_is_delayed(arrivals, direction)] if direction.reorder_ratio else delays_ms


def _is_delayed(arrivals: ProbeArrivals, direction: Direction) -> NDArray[np.bool_]:
    return arrivals.delays_ms >= (direction.delay_us - direction.jitter_us) / 2000


def _rate_of(side: str) -> Quantity:
    return Quantity("rate", side, "bit/s")


def _middle(values: Sequence[float], level: float) -> Interval:
    """The central interval that holds this share of some values."""
    low, high = np.quantile(values, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(low), float(high), level)


def saturated_rate_finding(arrivals: ProbeArrivals, direction: Direction, side: str) -> LinkFinding:
    """The rate of a link without loss, in bit/s on the link, from the slopes of ten intervals."""
    times_ns = np.sort(arrivals.received_ns)
    times_ns = times_ns[len(times_ns) // 10 :]  # the queue has filled by then
    size_bytes = size_on_link(direction, arrivals.sending)
    if not len(times_ns):
        return _rate_of(side).nothing_came()
    if direction.trace is not None:
        return _trace_rate(times_ns, size_bytes, direction, side, _starved_text(arrivals, direction))
    if len(times_ns) < 5 * _SEGMENTS:
        return _rate_of(side).nothing_came()
    stretches = np.array_split(times_ns, _SEGMENTS)
    slopes_ns = [_slope_ns(np.arange(len(part)), part) for part in stretches]
    note = f"{(times_ns[-1] - times_ns[0]) / 1e9:.1f} s of a full queue{_starved_text(arrivals, direction)}"
    found_ns = float(np.mean(slopes_ns)), mean_interval(slopes_ns), mean_interval(slopes_ns, CERTAIN)
    return _rate_judged(direction, side, size_bytes, found_ns, note)


def trains_rate_finding(arrivals: ProbeArrivals, direction: Direction, side: str) -> LinkFinding:
    """The same if packets are lost: the slope of arrival times over packet numbers within each train.

    It is the median of the trains, because a moment in which this machine does something else spoils a whole train. Packets
    that were not delayed, if the profile lets some overtake, are left out.
    """
    size_bytes, per_train = size_on_link(direction, arrivals.sending), arrivals.sending.packets
    skipped = 1 + direction.burst_bytes // size_bytes  # what a full bucket lets pass at once does not show the rate
    if direction.jitter_us and direction.keeps_order:
        # Packets that may not overtake wait for those before them; it takes so many until that delays all alike.
        skipped += math.ceil(2 * direction.jitter_us / transmit_us(direction, size_bytes))
    if skipped > per_train // 2:
        return _rate_of(side).not_applicable("the queue holds too few packets to tell a rate from, in spite of jitter")
    on_time = _is_delayed(arrivals, direction)
    slopes_ns = []
    for train in range(arrivals.sending.trains):
        within = (arrivals.numbers // per_train == train) & on_time
        numbers, times_ns = arrivals.numbers[within], arrivals.received_ns[within]
        counted = numbers - train * per_train >= skipped
        numbers, times_ns = numbers[counted], times_ns[counted]
        if len(numbers) >= 4 and numbers.max() - numbers.min() >= (per_train - skipped) // 2:
            slopes_ns.append(_slope_ns(numbers, times_ns))
    if len(slopes_ns) < 3:
        return _rate_of(side).nothing_came()
    found_ns = float(np.median(slopes_ns)), median_interval(slopes_ns), median_interval(slopes_ns, CERTAIN)
    return _rate_judged(direction, side, size_bytes, found_ns, f"{len(slopes_ns)} trains of {per_train} packets")


def queue_finding(arrivals: ProbeArrivals, direction: Direction, side: str) -> LinkFinding:
    """How many packets a full queue holds, from the longest waits on a saturated link."""
    size_bytes = size_on_link(direction, arrivals.sending)
    fits, each_ms = packets_in_queue(direction, size_bytes), transmit_us(direction, size_bytes) / 1000
    if fits is None:
        return Quantity("queue", side, "packets").not_applicable("its length has no limit")
    quantity = Quantity("queue", side, f"packets of {size_bytes} B")
    if direction.jitter_us / 1000 > each_ms:
        return quantity.not_applicable("jitter hides how long packets wait in it")
    if len(arrivals.numbers) < 5 * _SEGMENTS:
        return quantity.nothing_came()
    by_number = np.argsort(arrivals.numbers, kind="stable")
    waits_ms = arrivals.delays_ms[by_number] - direction.delay_us / 1000
    waits_ms = waits_ms[len(waits_ms) // 4 :]
    longest = [float(np.percentile(part, 95)) / each_ms for part in np.array_split(waits_ms, _SEGMENTS)]
    tolerance = QUEUE_TOLERANCE_PACKETS + (DELAY_TOLERANCE_MS + direction.jitter_us / 1000) / each_ms
    arrived, sent = len(np.unique(arrivals.numbers)), arrivals.sending.total_packets
    return quantity.judged(
        float(fits),
        (float(np.median(longest)), mean_interval(longest), mean_interval(longest, CERTAIN)),
        tolerance=tolerance,
        limit_bytes=direction.queue_bytes,
        packet_bytes=size_bytes,
        sent=sent,
        arrived=arrived,
        offered_over_rate=round(each_ms * 1e6 / arrivals.sending.gap_ns, 4),
    )


def _slope_ns(numbers: Integers, times_ns: Integers) -> float:
    """Time per packet by least squares. The origin is moved first: nanoseconds since the machine's start need more digits."""
    return float(np.polyfit((numbers - numbers[0]).astype(float), (times_ns - times_ns[0]).astype(float), 1)[0])


def _starved_text(arrivals: ProbeArrivals, direction: Direction) -> str:
    """A warning if this machine was too busy to keep the queue full; else ""."""
    late_ns = np.ptp(arrivals.sent_ns - arrivals.numbers * arrivals.sending.gap_ns)
    drained_ns = 1000 * transmit_us(direction, direction.queue_bytes or 0)
    if late_ns <= drained_ns / 4:  # a trace's peaks drain it sooner than its mean
        return ""
    return f"; probes were sent up to {late_ns / 1e6:.0f} ms late, the queue may have run empty"


def _trace_rate(times_ns: Integers, size_bytes: int, direction: Direction, side: str, warning: str) -> LinkFinding:
    """A whole period of a trace carries the same, no matter when it begins."""
    assert direction.trace is not None
    period_ns = direction.trace.period_ms * 1_000_000
    ends = np.searchsorted(times_ns, times_ns + period_ns)
    whole = ends[ends < len(times_ns)] - np.flatnonzero(ends < len(times_ns))
    if not len(whole):
        return _rate_of(side).not_applicable("no whole period of the trace was seen")
    rates = whole * size_bytes * 8e9 / period_ns
    middle, spread = float(np.median(rates)), _middle(rates.tolist(), 0.95)
    nominal = float(direction.trace.mean_rate_bps)
    note = f"mean over a period of {period_ns / 1e9:.0f} s of the trace{warning}"
    return _rate_of(side).judged(nominal, (middle, spread, spread), note, tolerance=RATE_TOLERANCE * nominal)


def _rate_judged(
    direction: Direction, side: str, size_bytes: int, slopes_ns: tuple[float, Interval, Interval], note: str
) -> LinkFinding:
    """slopes_ns: time per packet, with its two intervals. Averages are of times, as those of their reciprocals are too high."""
    assert direction.rate_bps is not None
    nominal = float(direction.rate_bps)

    def rate_bps(slope_ns: float) -> float:
        return size_bytes * 8e9 / slope_ns

    found = rate_bps(slopes_ns[0])
    shown, certain = (Interval(rate_bps(item.high), rate_bps(item.low), item.confidence) for item in slopes_ns[1:])
    return _rate_of(side).judged(
        nominal,
        (found, shown, certain),
        f"{100 * (found / nominal - 1):+.2f} %; {note}",
        tolerance=RATE_TOLERANCE * nominal,
        by_chance=bool(direction.jitter_us),
        packet_bytes=size_bytes,
    )
