"""From what a profile file says to a Profile, with the checks that need more than one key."""

from collections.abc import Callable

from mixedsched.errors import ProfileError
from mixedsched.model.profile import FULL_PACKET_BYTES, IP_UDP_HEADER_BYTES, CoDel, Direction, Profile, Trace
from mixedsched.model.profile_file._schema import ProfileFile, Side
from mixedsched.model.profile_file._trace import parse_trace

ReadTrace = Callable[[str], str]

BITS_PER_BYTE = 8
MILLISECONDS_PER_SECOND = 1000


def build_profile(file: ProfileFile, origin: str, read_trace: ReadTrace | None) -> Profile:
    """Raises ProfileError. origin: what errors call the file."""
    return Profile(
        name=file.name,
        description=file.description,
        source=file.source,
        down=_DirectionBuilder(file, "down", origin).build(read_trace),
        up=_DirectionBuilder(file, "up", origin).build(read_trace),
    )


class _DirectionBuilder:
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
