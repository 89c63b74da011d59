"""What the HTTP/3 layer tells: requests and their mistakes to the session, frames to those who keep logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.control import PriorityUpdate, Settings
from mixedsched.core.h3.response import Headers, RequestHead

FrameContent = Headers | PriorityUpdate | Settings | None
"""What was in a frame, as far as it was looked at: the decoded fields of HEADERS, and what a control frame says."""


class FrameObserver(Protocol):
    """Whom the layer tells what passes, for logs. Must not raise."""

    def stream_type_set(self, stream_id: int, stream_type: int) -> None: ...

    def frame_parsed(self, stream_id: int, frame_type: int, size_bytes: int, content: FrameContent) -> None: ...

    def frame_created(self, stream_id: int, frame_type: int, size_bytes: int, content: FrameContent) -> None: ...


@dataclass(frozen=True, slots=True)
class RequestReceived:
    """The head of a request is there; its body may still be under way."""

    stream_id: int
    head: RequestHead


@dataclass(frozen=True, slots=True)
class RequestTooLarge:
    """The head of a request is longer than what is read. The request may be answered, with 431; nothing is known of it."""

    stream_id: int


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """The stream was given up, because of the client's mistake or at its wish. If its response is under way, it ends here."""

    stream_id: int
    error_code: ErrorCode


HttpEvent = RequestReceived | RequestTooLarge | RequestFailed | PriorityUpdate
