"""What to send over a link so that the arrivals show how it works. Pure: everything follows from the direction's settings.

Four measurements, each over a fresh link, both directions at once:
- sparse: full-sized packets that never meet each other, for the one-way delay
- saturated: half as much again as the link can carry, for some seconds, for the rate and the length of the queue
- trains: as many packets as the queue holds, at once, again and again: if packets are lost, a train's numbers show exactly how
  many left between two arrivals, which a saturated link does not
- numbers: thousands of small packets below the rate, so that all missing ones were lost after the queue
"""

import math
from collections.abc import Collection
from dataclasses import replace

from mixedsched.core.link import rate_over_time
from mixedsched.model.profile import FULL_PACKET_BYTES, NO_LOSS, Direction
from mixedsched.world.emulator.probe.end import HEADER_BYTES, Sending

SPARSE, SATURATED, TRAINS, NUMBERS = 1, 2, 3, 4  # streams

LARGE_BYTES = 1200  # UDP payload, as QUIC's
_SMALLEST_BYTES = 64
_SPARSE_GAP_US = 10_370  # odd, so that it meets no timer's period
_SPARSE_S, _SPARSE_JITTER_S, _SPARSE_LEAST, _SPARSE_MOST = 6.0, 12.0, 100, 500
_SATURATED_S, _OVERLOAD = 5.0, 1.5
_PEAK_STEP_MS, _PEAK_LOAD = 100, 1.2  # of a trace: more than it ever lets pass for so long
_TRAINS_S, _TRAIN_SPEED, _TRAIN_S = 4.0, 4.0, 1.0
_TRAIN_LEAST, _TRAIN_MOST = 8, 250  # packets: few enough for any socket to hold
_NUMBERS_LOAD = 0.7
_NUMBERS_GAP_US = 800  # a router whose processor is emulated carries that much both ways, but not twice as much
NUMBERS_S = 20.0
_TRACE_LOAD = 0.15  # of the mean: a trace has slow phases, in which nothing must overflow
REPEATED_PACKETS = 3000


def as_emulated(direction: Direction, backend: str, lacks: Collection[str] = ()) -> Direction:
    """A direction as a back end emulates it: the kernel's token bucket holds at least a full packet, the relay needs none.

    lacks: of "tbf", "netem" and "codel" those that the kernel does not have; their settings are removed.
    """
    if "netem" in lacks:
        direction = replace(direction, delay_us=0, jitter_us=0, loss=NO_LOSS, reorder_ratio=0.0, duplicate_ratio=0.0)
    if "tbf" in lacks:
        direction = replace(direction, rate_bps=None, queue_bytes=None, codel=None)
    if "codel" in lacks:
        direction = replace(direction, codel=None)
    if backend == "relay" or direction.rate_bps is None or direction.burst_bytes:
        return direction
    return replace(direction, burst_bytes=FULL_PACKET_BYTES)


def size_on_link(direction: Direction, sending: Sending) -> int:
    return sending.size_bytes + direction.overhead_bytes


def transmit_us(direction: Direction, size_bytes: int) -> float:
    """How long a packet of this size takes to leave, on average; 0 without a rate."""
    rate_bps = direction.mean_rate_bps
    return size_bytes * 8_000_000 / rate_bps if rate_bps else 0.0


def nominal_delay_us(direction: Direction, size_bytes: int) -> float:
    """The delay of a packet on an idle link, including the time to send it over a wire; a bucket lets it pass at once."""
    passes_at_once = direction.rate_bps is None or direction.burst_bytes >= size_bytes
    return direction.delay_us + (0.0 if passes_at_once else transmit_us(direction, size_bytes))


def packets_in_queue(direction: Direction, size_bytes: int) -> int | None:
    return None if direction.queue_bytes is None else direction.queue_bytes // size_bytes


def sparse(direction: Direction) -> Sending:
    size_bytes = LARGE_BYTES + direction.overhead_bytes
    gap_us = max(_SPARSE_GAP_US, 2.2 * transmit_us(direction, size_bytes), 2.2 * direction.jitter_us)
    duration_s = _SPARSE_JITTER_S if direction.jitter_us else _SPARSE_S
    packets = min(_SPARSE_MOST, max(_SPARSE_LEAST, int(duration_s * 1e6 / gap_us)))
    return Sending(SPARSE, LARGE_BYTES, packets, round(gap_us * 1000))


def saturated(direction: Direction) -> Sending | None:
    """None without a rate, which could not be saturated, or without a limit of the queue, which would grow for ever.

    Under a trace it lasts for more than a period, at more than its highest rate: any whole period carries the same.
    """
    if direction.mean_rate_bps is None or direction.queue_bytes is None:
        return None
    payload_bytes = _payload_for(direction)
    each_us, load = transmit_us(direction, payload_bytes + direction.overhead_bytes), _OVERLOAD
    duration_s = transmit_us(direction, direction.queue_bytes) / 1e6 / (_OVERLOAD - 1) + _SATURATED_S
    if direction.trace is not None:
        period_ms = direction.trace.period_ms
        peak_bps = max(rate_over_time(direction, period_ms, min(_PEAK_STEP_MS, period_ms)))
        load = _PEAK_LOAD * peak_bps / direction.trace.mean_rate_bps
        duration_s += 1.2 * period_ms / 1000
    return Sending(SATURATED, payload_bytes, math.ceil(duration_s * 1e6 * load / each_us), round(each_us / load * 1000))


def trains(direction: Direction) -> Sending | None:
    """None without a rate, or under a trace, whose rate varies. Trains are too short for CoDel to drop packets."""
    if direction.rate_bps is None:
        return None
    payload_bytes = _payload_for(direction)
    size_bytes = payload_bytes + direction.overhead_bytes
    each_us = transmit_us(direction, size_bytes)
    fits = packets_in_queue(direction, size_bytes) or 10_000
    longest_us = _TRAIN_S * 1e6 if direction.codel is None else 0.9 * direction.codel.interval_us
    packets = max(_TRAIN_LEAST, min(int(0.9 * fits), int(longest_us / each_us), _TRAIN_MOST))
    number = max(_TRAIN_LEAST, math.ceil(_TRAINS_S * 1e6 / (packets * each_us)))
    pause_us = packets * each_us + 30_000
    return Sending(TRAINS, payload_bytes, packets, round(each_us / _TRAIN_SPEED * 1000), number, round(pause_us * 1000))


def numbers(direction: Direction, duration_s: float = NUMBERS_S) -> Sending:
    load = _TRACE_LOAD if direction.trace is not None else _NUMBERS_LOAD
    gap_us = max(_NUMBERS_GAP_US, transmit_us(direction, HEADER_BYTES + direction.overhead_bytes) / load)
    return Sending(NUMBERS, HEADER_BYTES, max(1, int(duration_s * 1e6 / gap_us)), round(gap_us * 1000))


def first_numbers(direction: Direction) -> Sending:
    """The beginning of `numbers`, to see whether the same seed treats it in the same way again."""
    whole = numbers(direction)
    return replace(whole, packets=min(REPEATED_PACKETS, whole.packets))


def settled_s(direction: Direction) -> float:
    """How long after the last packet was sent no more can arrive."""
    rate_bps = direction.mean_rate_bps
    waiting_s = (direction.queue_bytes or 0) * 8 / rate_bps if rate_bps else 0.0
    if direction.trace is not None:
        waiting_s += direction.trace.period_ms / 1000 / 4
    if direction.queue_bytes is None and rate_bps:
        waiting_s += _TRAIN_S
    return waiting_s + (direction.delay_us + direction.jitter_us) / 1e6 + 0.5


def _payload_for(direction: Direction) -> int:
    """A payload of which the queue holds enough packets to measure its length: small queues need small packets."""
    if direction.queue_bytes is None:
        return LARGE_BYTES
    return min(LARGE_BYTES, max(_SMALLEST_BYTES, direction.queue_bytes // 16 - direction.overhead_bytes))
