"""Network profiles as files, `vm/profiles/*.toml`. Pure: the caller reads the files.

name = "3g"
description = "..."
source = "..."
rate_down_bps = 1_600_000      # absent: no rate limit; or trace_down = "file", a packet-delivery trace beside this file
rate_up_bps = 768_000
rtt_ms = 300                   # half of it each way

# Each of these may stand here, for both directions, or in a table [down] or [up], for one:
queue_bytes = 60_000           # or queue_bdp = 1.0, in bandwidth-delay products of the rate or trace; absent: no limit
aqm = "drop-tail"              # or "codel", if there is a rate or a trace, with codel_target_ms = 5 and codel_interval_ms = 100
burst_bytes = 1514             # of a token bucket; 0 or absent: like a wire
jitter_ms = 10                 # more or less than the delay, by up to this
jitter_reorders = false        # whether jitter lets packets overtake each other
reorder_ratio = 0.01           # of packets that are not delayed at all
duplicate_ratio = 0.001
packet_overhead_bytes = 28     # added to a datagram's payload: IPv4 and UDP; 42 with Ethernet

[down]
delay_ms = 100                 # in [down] or [up] only, instead of half of rtt_ms; the other direction has the rest

[loss.down]                    # absent: none; [loss] alone means both directions
model = "random"
ratio = 0.02
[loss.up]
model = "gilbert-elliott"      # optional: bad_loss_ratio = 1, good_loss_ratio = 0
p = 0.004
r = 0.2
"""

import re
from collections.abc import Callable, Iterator

from mixedsched.errors import ProfileError
from mixedsched.model._profile_schema import MAX_RATE_BPS, MIN_RATE_BPS, ProfileFile, Side
from mixedsched.model.profile import FULL_PACKET_BYTES, IP_UDP_HEADER_BYTES, CoDel, Direction, Profile, Trace
from mixedsched.model.toml_file import read_toml

ReadTrace = Callable[[str], str]

BITS_PER_BYTE = 8
MILLISECONDS_PER_SECOND = 1000
MAX_OPPORTUNITIES = 2_000_000  # lines
MAX_DIGITS = 9  # of a time: eleven days
_SHOWN_CHARACTERS = 40  # of a line that is not a time


def parse_profile(text: str, origin: str, read_trace: ReadTrace | None = None) -> Profile:
    """Read a profile file. origin: what errors call it. read_trace: contents of a trace by its name in the file.

    Raises ProfileError for anything absurd, and for a trace where traces cannot be read.
    """
    file = read_toml(text, origin, ProfileFile, ProfileError)
    return Profile(
        name=file.name,
        description=file.description,
        source=file.source,
        down=_DirectionBuilder(file, "down", origin).build(read_trace),
        up=_DirectionBuilder(file, "up", origin).build(read_trace),
    )


class _DirectionBuilder:
    """From what a file says to a Direction, with the checks that need more than one key."""

    def __init__(self, file: ProfileFile, side: Side, origin: str) -> None:
        self._file = file
        self._side = side
        self._origin = origin

    def build(self, read_trace: ReadTrace | None) -> Direction:
        file, side = self._file, self._side
        trace = self._trace(read_trace)
        rate_bps: int | None = getattr(file, f"rate_{side}_bps")
        direction = Direction(
            rate_bps=rate_bps,
            delay_us=_us(file.delay_ms(side)),
            queue_bytes=self._queue_bytes(trace.mean_rate_bps if trace is not None else rate_bps),
            loss=file.loss_of(side),
            burst_bytes=file.of(side, "burst_bytes", 0),
            jitter_us=_us(file.of(side, "jitter_ms", 0.0)),
            keeps_order=not file.of(side, "jitter_reorders", False),
            reorder_ratio=file.of(side, "reorder_ratio", 0.0),
            duplicate_ratio=file.of(side, "duplicate_ratio", 0.0),
            codel=self._codel(),
            trace=trace,
            overhead_bytes=file.of(side, "packet_overhead_bytes", IP_UDP_HEADER_BYTES),
        )
        self._check(direction)
        return direction

    def _check(self, direction: Direction) -> None:
        if direction.jitter_us > direction.delay_us:
            raise self._refused(
                f"a jitter of {direction.jitter_us / 1000:g} ms is more than the delay of "
                f"{direction.delay_us / 1000:g} ms, and no packet arrives before it was sent"
            )
        if direction.reorder_ratio and not direction.delay_us:
            raise self._refused("reorder_ratio needs a delay: packets overtake by not being delayed")
        if direction.trace is not None and direction.burst_bytes:
            raise self._refused("burst_bytes belongs to a rate, and here a trace sets the pace")

    def _codel(self) -> CoDel | None:
        if self._file.of(self._side, "aqm", "drop-tail") != "codel":
            return None
        if not self._has_pace(self._side):
            self._refuse_unless_meant_for_the_other("aqm", 'aqm = "codel" needs a rate: without one nothing waits')
            return None
        default = CoDel()
        target_ms = self._file.of(self._side, "codel_target_ms", None)
        interval_ms = self._file.of(self._side, "codel_interval_ms", None)
        codel = CoDel(
            default.target_us if target_ms is None else _us(target_ms),
            default.interval_us if interval_ms is None else _us(interval_ms),
        )
        if codel.target_us >= codel.interval_us:
            raise self._refused("codel_target_ms must be less than codel_interval_ms (RFC 8289: 5 to 10 % of it)")
        return codel

    def _queue_bytes(self, rate_bps: int | None) -> int | None:
        """The queue given for this direction, or for both. One in bandwidth-delay products holds at least one packet."""
        own = getattr(self._file, self._side)
        says = own if own.queue_bytes is not None or own.queue_bdp is not None else self._file
        if says.queue_bdp is None:
            queue_bytes: int | None = says.queue_bytes
            return queue_bytes
        if rate_bps is None:
            why = "queue_bdp needs a rate: without one there is no bandwidth-delay product"
            self._refuse_unless_meant_for_the_other("queue_bdp", why)
            return None
        rtt_s = self._file.rtt_ms / MILLISECONDS_PER_SECOND
        queue_bytes = round(says.queue_bdp * rate_bps / BITS_PER_BYTE * rtt_s)
        if queue_bytes < FULL_PACKET_BYTES:
            raise self._refused(
                f"a queue_bdp of {says.queue_bdp:g} is {queue_bytes} bytes here, which does not hold a packet",
                fix=f"give queue_bytes of at least {FULL_PACKET_BYTES}",
            )
        return queue_bytes

    def _trace(self, read_trace: ReadTrace | None) -> Trace | None:
        name: str | None = getattr(self._file, f"trace_{self._side}")
        if name is None:
            return None
        if read_trace is None:
            raise self._refused(f"it names a trace, {name!r}, and traces cannot be read here")
        return parse_trace(read_trace(name), name)

    def _has_pace(self, side: Side) -> bool:
        return any(getattr(self._file, key) is not None for key in (f"rate_{side}_bps", f"trace_{side}"))

    def _refuse_unless_meant_for_the_other(self, key: str, why: str) -> None:
        """A key given for both directions may be meant only for the one that has a rate."""
        other: Side = "up" if self._side == "down" else "down"
        if getattr(getattr(self._file, self._side), key) is not None or not self._has_pace(other):
            raise self._refused(why, f"give rate_{self._side}_bps or trace_{self._side}")

    def _refused(self, why: str, fix: str = "") -> ProfileError:
        return ProfileError(f"{self._origin} is refused", why=f"{self._side}: {why}", fix=fix)


def _us(time_ms: float) -> int:
    return round(time_ms * 1000)


def parse_trace(text: str, name: str) -> Trace:
    """Read a packet-delivery trace in Mahimahi's format: a time in ms a line, rising.

    Empty lines are skipped. Raises ProfileError with the line that is wrong.
    """
    times_ms: list[int] = []
    for number, line in enumerate(_lines(text), start=1):
        word = line.strip()
        if not word:
            continue
        if not (word.isascii() and word.isdigit() and len(word) <= MAX_DIGITS):
            raise _refused(name, f"line {number}: {word[:_SHOWN_CHARACTERS]!r} is not a time in ms")
        time_ms = int(word)
        if times_ms and time_ms < times_ms[-1]:
            raise _refused(name, f"line {number}: time goes back from {times_ms[-1]} to {time_ms} ms")
        if len(times_ms) == MAX_OPPORTUNITIES:
            raise _refused(name, f"it has more than {MAX_OPPORTUNITIES} lines")
        times_ms.append(time_ms)
    if not times_ms or times_ms[-1] == 0:
        raise _refused(name, "it needs at least one time above 0 ms, where it begins again")
    trace = Trace(name, tuple(times_ms))
    if not MIN_RATE_BPS <= trace.mean_rate_bps <= MAX_RATE_BPS:
        raise _refused(
            name,
            f"it lets {trace.mean_rate_bps} bit/s pass on average, and rates go from {MIN_RATE_BPS} to {MAX_RATE_BPS}",
        )
    return trace


def _lines(text: str) -> Iterator[str]:
    """One by one: a list of all would take many times the room of the text before too many lines are noticed."""
    return (match.group() for match in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n)?", text))


def _refused(name: str, why: str) -> ProfileError:
    return ProfileError(f"the trace {name} is refused", why=why)
