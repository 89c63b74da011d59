"""Responses that come with time, such as those of a proxy: what answers a request, and how it does so.

The session asks a live responder once for each request, and passes on what comes behind the head to the `LiveRequest` that it
gets. The responder answers through a `Reply`, whenever it can. Everything it says is done at the session's next step, so it may
be said at any time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.response import Headers, RequestHead, Response


class LiveRequest(Protocol):
    """A request in the hands of a live responder. Its methods must not raise."""

    def receive(self, data: bytes) -> None:
        """More of the request's body. The client may send no more than a window ahead of what `Reply.took` tells."""

    def end(self, trailers: Headers) -> None:
        """The request is complete."""

    def over(self, record: ServedRequest) -> None:
        """The response was sent or given up, by whichever side. Nothing else will be called, and what is replied is ignored."""


class LiveResponder(ABC):
    """Answers requests with time."""

    @abstractmethod
    def begin(self, head: RequestHead, reply: Reply) -> LiveRequest:
        """A request's head has come. Must not raise for what a client may send."""


class ReplySink(Protocol):
    """The side of the session: each is done at its next step, and only while the request is not over."""

    def inform(self, stream_id: int, status: int, fields: Headers) -> None: ...

    def answer(self, stream_id: int, response: Response) -> None: ...

    def finish(self, stream_id: int, trailers: Headers) -> None: ...

    def abort(self, stream_id: int, error_code: ErrorCode) -> None: ...

    def took(self, stream_id: int, size_bytes: int) -> None: ...


class Reply:
    """Answers one request. client: the IP address it came from. number: of the connection, as in logs."""

    def __init__(
        self, stream_id: int, client: str, number: int, sink: ReplySink, later: Callable[[Callable[[], None]], None]
    ) -> None:
        self.client = client
        self.number = number
        self._stream_id = stream_id
        self._sink = sink
        self._later = later

    def inform(self, status: int, fields: Headers) -> None:
        """Send an interim response (1xx), such as early hints."""
        self._say(self._sink.inform, status, fields)

    def answer(self, response: Response) -> None:
        """Send the response. A body that comes with time is a GrowingBody, which is ended by `finish`."""
        self._say(self._sink.answer, response)

    def finish(self, trailers: Headers = []) -> None:  # noqa: B006 - is not changed
        """The body was fed completely."""
        self._say(self._sink.finish, trailers)

    def abort(self, error_code: ErrorCode = ErrorCode.H3_INTERNAL_ERROR) -> None:
        """The rest of the response will not come."""
        self._say(self._sink.abort, error_code)

    def took(self, size_bytes: int) -> None:
        """That much of the request's body is no longer kept, so that the client may send more."""
        self._say(self._sink.took, size_bytes)

    def _say(self, method: Callable[..., None], *arguments: Any) -> None:
        self._later(partial(method, self._stream_id, *arguments))
