"""A network in numbers, for its pictures: rate over time, times under way, delays drawn, packets lost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mixedsched.core.link import Link, PacketRecord, direction_rng, loss_pattern, rate_over_time
from mixedsched.model.profile import FULL_PACKET_BYTES, OPPORTUNITY_BYTES, Direction, Trace

FLAT_MS = 1000
_LONGEST_TRACE_MS = 60_000
_BURST_STEPS = 20  # of the picture of a token bucket, of which the burst fills the first
_SMALL_PACKET_BYTES = 60
_GOLDEN_RATIO = (math.sqrt(5) - 1) / 2  # its multiples spread most evenly over the rounds of a trace
_LEAD_PACKETS = 20  # shown before the first loss, where that comes late


@dataclass(frozen=True, slots=True)
class RateView:
    """Rate over time."""

    step_ms: int
    rates_bps: Sequence[int]  # in each step; [] without a limit. A token bucket's first step holds its burst, too

    @property
    def duration_ms(self) -> int:
        return self.step_ms * len(self.rates_bps)

    @property
    def is_flat(self) -> bool:
        return len(set(self.rates_bps)) <= 1


def rate_view(direction: Direction, steps: int) -> RateView:
    """Rate over a period of a trace, a minute at most, or the first moments of a token bucket. steps: about how many, >= 10."""
    if direction.trace is not None:
        duration_ms = min(direction.trace.period_ms, _LONGEST_TRACE_MS)
        step_ms = max(1, math.ceil(duration_ms / steps))
        return RateView(step_ms, rate_over_time(direction, duration_ms, step_ms))
    if direction.rate_bps is None:
        return RateView(FLAT_MS, [])
    if direction.burst_bytes <= FULL_PACKET_BYTES:  # a bucket that holds one packet shows nothing
        return RateView(FLAT_MS // 10, rate_over_time(direction, FLAT_MS, FLAT_MS // 10))
    step_ms = max(1, math.ceil(direction.burst_bytes * 8000 / direction.rate_bps))
    rates = rate_over_time(direction, _BURST_STEPS * step_ms, step_ms)
    return RateView(step_ms, [rates[0] + direction.burst_bytes * 8000 // step_ms, *rates[1:]])


def transmit_ms(direction: Direction, size_bytes: int = FULL_PACKET_BYTES) -> float:
    """How long a packet of this size takes to leave, over a trace on average; 0 without a limit."""
    rate_bps = direction.mean_rate_bps
    return size_bytes * 8000 / rate_bps if rate_bps else 0.0


def full_queue_ms(direction: Direction) -> float | None:
    """How long a full queue takes to drain, over a trace on average; None where it has no limit, or nothing ever waits."""
    if direction.queue_bytes is None or direction.mean_rate_bps is None:
        return None
    return transmit_ms(direction, direction.queue_bytes)


def longest_leaving_ms(direction: Direction, queued_bytes: int) -> float:
    """How long a packet takes to leave at most, if it and those before it in the queue make up so many bytes."""
    if direction.trace is None:
        return transmit_ms(direction, queued_bytes)
    return float(_longest_span_ms(direction.trace, math.ceil(queued_bytes / OPPORTUNITY_BYTES)))


def _longest_span_ms(trace: Trace, chances: int) -> int:
    """From just behind one chance of a trace, which is missed, to the last of the `chances` next ones, at most."""
    times_ms = trace.opportunities_ms
    rounds, rest = divmod(chances, len(times_ms))
    again_ms = (*times_ms, *(trace.period_ms + time_ms for time_ms in times_ms[:rest]))
    return rounds * trace.period_ms + max(again_ms[place + rest] - start for place, start in enumerate(times_ms))


@dataclass(frozen=True, slots=True)
class LongestTime:
    """A full packet's longest time under way, in parts that add up."""

    on_the_way_ms: float  # after it has left, jitter included
    leaving_ms: float  # alone; 0 for a token bucket, behind which it waits only while others do, or did
    behind_others_ms: float | None  # waiting for those before it in a full queue; None without a limited queue

    @property
    def whole_ms(self) -> float:
        return self.on_the_way_ms + self.leaving_ms + (self.behind_others_ms or 0.0)


def longest_time(direction: Direction) -> LongestTime:
    on_the_way_ms = (direction.delay_us + direction.jitter_us) / 1000
    if direction.mean_rate_bps is None:
        return LongestTime(on_the_way_ms, 0.0, None)
    leaving_ms = 0.0 if direction.burst_bytes else longest_leaving_ms(direction, FULL_PACKET_BYTES)
    if direction.queue_bytes is None:
        return LongestTime(on_the_way_ms, leaving_ms, None)
    behind_others_ms = longest_leaving_ms(direction, direction.queue_bytes) - leaving_ms
    return LongestTime(on_the_way_ms, leaving_ms, max(behind_others_ms, 0.0))


def drawn_delays_ms(direction: Direction, seed: int, side: str, packets: int) -> list[float]:
    """One-way delays of small packets that meet no other, as the seed draws them, without lost ones.

    Over a trace they are spread evenly over its phases.
    """
    delays_ms: list[float] = []

    def note(packet: PacketRecord) -> None:
        if packet.out_us is not None:
            delays_ms.append((packet.out_us - packet.in_us) / 1000)

    link: Link[int] = Link(direction, direction_rng(seed, side), note)
    apart_us = _apart_us(direction)
    for number in range(packets):
        link.push(number, _SMALL_PACKET_BYTES, number * apart_us)
        while (due_us := link.next_due_us()) is not None:
            link.pop_due(due_us)
    return delays_ms


def _apart_us(direction: Direction) -> int:
    """How far apart small packets must be to meet each other neither in the queue nor behind it."""
    leaving_ms = math.ceil(longest_leaving_ms(direction, _SMALL_PACKET_BYTES)) + 1
    alone_us = direction.delay_us + direction.jitter_us + 1000 * leaving_ms
    if direction.trace is None:
        return alone_us
    period_us = 1000 * direction.trace.period_ms
    return math.ceil((math.ceil(alone_us / period_us) + _GOLDEN_RATIO) * period_us)


@dataclass(frozen=True, slots=True)
class LossView:
    """Fates of neighbouring packets."""

    first: int  # number of the first of them, from 1; all before it arrive
    lost: Sequence[bool]

    @property
    def last(self) -> int:
        return self.first + len(self.lost) - 1


def loss_view(direction: Direction, seed: int, side: str, packets: int) -> LossView:
    """`packets` packets from the first one on; where none of them is lost but one is later, from shortly before that one."""
    fates = loss_pattern(direction, seed, side, 20 * packets)
    first = next((number for number, lost in enumerate(fates) if lost), 0)
    start = 0 if first < packets else min(first - _LEAD_PACKETS, len(fates) - packets)
    return LossView(start + 1, fates[start : start + packets])
