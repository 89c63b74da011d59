"""Events of a session and its HTTP/3 layer: requests and mistakes for the session, frames and decisions for logs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from mixedsched.core.h3._control import Settings
from mixedsched.core.h3._signals import PriorityUpdate, Trigger
from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.response import Headers, RequestHead
from mixedsched.model.priority import Priority
from mixedsched.model.request import Request


@dataclass(frozen=True, slots=True)
class RequestReceived:
    """The head of a request is there; its body may still be under way."""

    stream_id: int
    head: RequestHead


@dataclass(frozen=True, slots=True)
class BodyReceived:
    """More of a request's body is there, for a responder that wants bodies."""

    stream_id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class RequestEnded:
    """A request is there completely, its body and trailers included; only for a responder that wants bodies."""

    stream_id: int
    trailers: Headers


@dataclass(frozen=True, slots=True)
class RequestTooLarge:
    """The head of a request is longer than what is read. The request may be answered, with 431; nothing is known of it."""

    stream_id: int


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """The stream was given up, because of the client's mistake or at its wish. If its response is under way, it ends here."""

    stream_id: int
    error_code: ErrorCode


HttpEvent = RequestReceived | BodyReceived | RequestEnded | RequestTooLarge | RequestFailed | PriorityUpdate

FrameContent = Headers | PriorityUpdate | Settings | None
"""The part of a frame that was looked at: the decoded fields of HEADERS, or the values of a control frame."""


class FrameObserver(Protocol):
    """Told of HTTP/3 frames, for logs. Must not raise."""

    def stream_type_set(self, stream_id: int, stream_type: int) -> None: ...

    def frame_parsed(self, stream_id: int, frame_type: int, size_bytes: int, content: FrameContent) -> None: ...

    def frame_created(self, stream_id: int, frame_type: int, size_bytes: int, content: FrameContent) -> None: ...


class DecisionObserver(Protocol):
    """Told where responses are placed and whose bytes leave, for logs. Must not raise, and must be quick: it is called for
    every STREAM frame. Times are seconds of the session's clock."""

    def placed(self, now_s: float, stream_id: int, request: Request, placement: str) -> None:
        """A response was handed to the scheduler, or moved. placement: as text."""

    def scheduled(self, now_s: float, stream_id: int, size_bytes: int, again_bytes: int, packet: int) -> None:
        """The scheduler's pick has filled a frame. again_bytes: how much of it had been sent before. packet: a number that
        frames share if they share a packet."""

    def closed(self, now_s: float, stream_id: int) -> None:
        """The response is over: all of it is acknowledged or given up."""


PriorityUpdated = Callable[[float, int, Priority | None, Priority, Trigger], None]
"""(time in seconds, stream ID, priority before or None if nothing was signalled before, priority now, what changed it)"""


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """Callbacks of a session. Those with a default are for logs, but for the last; they must not raise."""

    connection_id_issued: Callable[[bytes], None]
    connection_id_retired: Callable[[bytes], None]
    served: Callable[[ServedRequest], None]
    priority_updated: PriorityUpdated | None = None  # for every signal that changes a priority, also before its request
    frames: FrameObserver | None = None
    decisions: tuple[DecisionObserver, ...] = ()
    woken: Callable[[], None] = lambda: None
    """A live responder has something for the session: call its `send` soon, but not from here."""
