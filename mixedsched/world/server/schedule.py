"""Records which responses got the packets of a connection, one interval at a time. Pure: its owner takes the intervals away."""

from collections.abc import Callable
from dataclasses import dataclass

from mixedsched.model.request import Request

MAX_RUNS = 1000  # of packets in one interval; packets beyond are counted only
MAX_PATH_CHARACTERS = 100  # of a reported path; clients may ask for much longer ones
_MS_PER_S = 1000


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """How much of a response was sent."""

    stream_id: int
    path: str
    placement: str
    priority: str
    sent_bytes: int  # of its stream, each byte counted once
    body_bytes: int  # of the whole body


@dataclass(frozen=True, slots=True)
class ScheduleInterval:
    """The packets that left on one connection in an interval of time. Times are ms since its first packet."""

    connection: int
    from_ms: float
    to_ms: float
    runs: tuple[tuple[int, int], ...]  # (stream ID, packets) in order; a packet with several responses counts for each
    streams: tuple[StreamProgress, ...]  # those in `runs`, in order of request, as they are at the end
    packets_left_out: int = 0  # at the end, beyond MAX_RUNS


@dataclass(slots=True)
class _ResponseUnderWay:
    """A response under way. is_closed: to be forgotten once it was reported."""

    path: str
    placement: str
    priority: str
    body_bytes: int
    sent_bytes: int = 0
    is_closed: bool = False


class ScheduleRecorder:
    """A DecisionObserver that keeps the interval since the last one was taken.

    started_s: when the connection began. woken: called when an interval begins.
    """

    def __init__(self, connection: int, started_s: float, woken: Callable[[], None]) -> None:
        self._connection = connection
        self._started_s = started_s
        self._woken = woken
        self._responses: dict[int, _ResponseUnderWay] = {}
        self._runs: list[tuple[int, int]] = []
        self._from_s = self._to_s = 0.0
        self._packet = -1
        self._in_packet: set[int] = set()
        self._left_out = 0

    def placed(self, now_s: float, stream_id: int, request: Request, placement: str) -> None:  # noqa: ARG002
        response = self._responses.get(stream_id)
        if response is None:
            path = request.path[:MAX_PATH_CHARACTERS]
            self._responses[stream_id] = _ResponseUnderWay(path, placement, str(request.signal), request.body_bytes)
        else:
            response.placement, response.priority = placement, str(request.signal)

    def scheduled(self, now_s: float, stream_id: int, size_bytes: int, again_bytes: int, packet: int) -> None:
        if not self._runs:
            self._from_s = now_s
            self._woken()
        self._to_s = now_s
        self._responses[stream_id].sent_bytes += size_bytes - again_bytes
        if packet != self._packet:
            self._packet = packet
            self._in_packet.clear()
        if stream_id in self._in_packet:
            return
        self._in_packet.add(stream_id)
        if self._runs and self._runs[-1][0] == stream_id and not self._left_out:
            self._runs[-1] = (stream_id, self._runs[-1][1] + 1)
        elif len(self._runs) < MAX_RUNS:
            self._runs.append((stream_id, 1))
        else:
            self._left_out += 1

    def closed(self, now_s: float, stream_id: int) -> None:  # noqa: ARG002
        self._responses[stream_id].is_closed = True
        self._woken()

    def take(self) -> ScheduleInterval | None:
        """The interval since the last one; None if nothing was sent."""
        interval = None
        if self._runs:
            served = sorted({stream_id for stream_id, _ in self._runs})
            interval = ScheduleInterval(
                self._connection,
                self._since_start_ms(self._from_s),
                self._since_start_ms(self._to_s),
                tuple(self._runs),
                tuple(self._progress(stream_id) for stream_id in served),
                self._left_out,
            )
        self._runs.clear()
        self._in_packet.clear()
        self._left_out = 0
        for stream_id in [key for key, response in self._responses.items() if response.is_closed]:
            del self._responses[stream_id]
        return interval

    def _progress(self, stream_id: int) -> StreamProgress:
        response = self._responses[stream_id]
        return StreamProgress(
            stream_id, response.path, response.placement, response.priority, response.sent_bytes, response.body_bytes
        )

    def _since_start_ms(self, at_s: float) -> float:
        return round((at_s - self._started_s) * _MS_PER_S, 3)
