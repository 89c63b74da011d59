"""Takes a NetLog's events one by one and keeps each request and its response, over any protocol; bodies go to files.

A log has bodies if it was written with --net-log-capture-mode=Everything, and complete headers from IncludeSensitive on.
"""

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixedsched.world.browser.netlog._text import count, facts_of, split_header, whole

_CACHE_MISS = -400  # ERR_CACHE_MISS, of net/base/net_error_list.h
_BEGIN_PHASE = 1
_END_PHASE = 2
_STATUS_LINE = re.compile(r"HTTP/[\d.]+ +(\d{3})")

_Params = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class LoggedRequest:
    """One request of the log; a redirect is one of its own, and so is its target. Times are NetLog's, in whole ms."""

    url: str
    method: str
    initiator: str | None
    """Origin of the page that asked; None for requests of the browser itself."""
    is_page: bool
    """The navigation of a window."""
    priority: str
    """Of the network stack when it was sent, such as "HIGHEST"."""
    started_ms: float
    sent_ms: float | None = None
    place: int | None = None
    """Position among all requests that were sent; None if it never was (a cache answered, or it failed before)."""
    stream_id: int | None = None
    """Over HTTP/3."""
    request_headers: tuple[tuple[str, str], ...] = ()
    status: int = 0
    response_headers: tuple[tuple[str, str], ...] = ()
    answered_ms: float | None = None
    ended_ms: float | None = None
    sent_bytes: int = 0
    """Of the body, in its content coding."""
    decoded_bytes: int = 0
    is_coded: bool = False
    """The browser decoded a content coding."""
    body: Path | None = None
    """Its file; None if it is empty or the log has none."""
    _has_gaps: bool = field(default=False, repr=False)


class TrafficReader:
    """Give it every event by read(); `requests` are then in the order in which they were started.

    event_types: number of each event name. bodies_dir: where bodies go, as files with numbers for names; None for nowhere.
    """

    def __init__(self, event_types: Mapping[str, int], bodies_dir: Path | None) -> None:
        handlers = self._handlers()
        self._handler_of = {event_types[name]: handlers[name] for name in handlers if name in event_types}
        self._bodies_dir = bodies_dir
        self._current: dict[int, LoggedRequest] = {}
        self._priorities: dict[int, str] = {}
        self._sent = 0
        self._bodies = 0
        self.requests: list[LoggedRequest] = []

    def _handlers(self) -> dict[str, Callable[[int, int, _Params, float], None]]:
        return {
            "REQUEST_ALIVE": self._alive,
            "URL_REQUEST_SET_PRIORITY": self._alive,
            "URL_REQUEST_START_JOB": self._started,
            "HTTP_TRANSACTION_SEND_REQUEST_HEADERS": self._headers_sent,
            "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS": self._headers_sent,
            "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS": self._headers_sent,
            "HTTP_TRANSACTION_READ_RESPONSE_HEADERS": self._headers_received,
            "URL_REQUEST_JOB_BYTES_READ": self._coded_bytes,
            "URL_REQUEST_JOB_FILTERED_BYTES_READ": self._plain_bytes,
        }

    def read(self, event: Mapping[str, Any]) -> None:
        """An event. Raises KeyError, TypeError, ValueError or AttributeError if it is not as Chromium writes them."""
        number = event["type"]
        handler = self._handler_of.get(number if isinstance(number, int) else whole(number))
        if handler is not None:
            handler(*facts_of(event))

    def _alive(self, source: int, phase: int, params: _Params, time_ms: float) -> None:
        if "priority" in params:
            self._priorities[source] = str(params["priority"])
        elif phase == _END_PHASE and source in self._current:
            self._current[source].ended_ms = time_ms

    def _started(self, source: int, phase: int, params: _Params, time_ms: float) -> None:
        if phase != _BEGIN_PHASE:
            self._forget_probe(source, params)
            return
        initiator = str(params.get("initiator", ""))
        request = LoggedRequest(
            url=str(params["url"]).partition("#")[0],
            method=str(params.get("method", "GET")),
            initiator=initiator if initiator.startswith("http") else None,
            is_page=params.get("request_type") == "main frame",
            priority=self._priorities.get(source, ""),
            started_ms=time_ms,
        )
        self._current[source] = request
        self.requests.append(request)

    def _forget_probe(self, source: int, params: _Params) -> None:
        """Forget a look into the cache: fonts are first sought there, under the same URL."""
        request = self._current.get(source)
        if request is not None and request.place is None and params.get("net_error") == _CACHE_MISS:
            del self._current[source]
            self.requests.remove(request)

    def _headers_sent(self, source: int, _phase: int, params: _Params, time_ms: float) -> None:
        request = self._current.get(source)
        if request is None:
            return
        if request.place is None:  # a request that is repeated on a new connection keeps its place
            request.place, request.sent_ms = self._sent, time_ms
            request.priority = self._priorities.get(source, "")
            self._sent += 1
        request.request_headers = tuple(split_header(str(line)) for line in params.get("headers", ()))
        if "quic_stream_id" in params:
            request.stream_id = whole(params["quic_stream_id"])

    def _headers_received(self, source: int, _phase: int, params: _Params, time_ms: float) -> None:
        request = self._current.get(source)
        lines = [str(line) for line in params.get("headers", ())]
        if request is None or not lines:
            return
        status = _STATUS_LINE.match(lines[0])
        request.status = int(status.group(1)) if status else 0
        pairs = (line.partition(":") for line in lines[1:])
        request.response_headers = tuple((name.strip().lower(), value.strip()) for name, _, value in pairs)
        request.answered_ms = time_ms

    def _coded_bytes(self, source: int, _phase: int, params: _Params, _time_ms: float) -> None:
        request = self._current.get(source)
        if request is not None:
            request.is_coded = True
            self._keep(request, params)

    def _plain_bytes(self, source: int, _phase: int, params: _Params, _time_ms: float) -> None:
        request = self._current.get(source)
        if request is not None:
            request.decoded_bytes += count(params["byte_count"])
            if not request.is_coded:
                self._keep(request, params)

    def _keep(self, request: LoggedRequest, params: _Params) -> None:
        size = count(params["byte_count"])
        request.sent_bytes += size
        if self._bodies_dir is None or not size or request._has_gaps:
            return
        data = base64.b64decode(str(params.get("bytes", "")))
        if len(data) != size:
            request.body, request._has_gaps = None, True
            return
        if request.body is None:
            self._bodies += 1
            request.body = self._bodies_dir / f"{self._bodies:05d}.body"
        with request.body.open("ab") as file:
            file.write(data)
