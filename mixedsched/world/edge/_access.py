"""The access log: a line for each request in the combined format of web servers, and as JSON."""

import datetime as dt
import json
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, Self

from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.world.edge._exchange import EdgeRequest
from mixedsched.world.edge.settings import EdgeLogs
from mixedsched.world.server.log import LineWriter, appending


class AccessLog:
    """Writes to the files that the settings name. Raises UsageError on entry if one cannot be opened."""

    def __init__(self, settings: EdgeLogs) -> None:
        self._settings = settings
        self._stack = ExitStack()
        self._combined: LineWriter | None = None
        self._json: LineWriter | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if self._settings.access is not None:
                self._combined = stack.enter_context(LineWriter(stack.enter_context(appending(self._settings.access))))
            if self._settings.access_json is not None:
                self._json = stack.enter_context(LineWriter(stack.enter_context(appending(self._settings.access_json))))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, request: EdgeRequest, record: ServedRequest, now: dt.datetime) -> None:
        """A request is over. now: with its time zone."""
        if self._combined is not None:
            self._combined.write(combined_line(request, record, now))
        if self._json is not None:
            facts = {"time": now.isoformat(timespec="milliseconds"), **json_facts(request, record)}
            self._json.write(json.dumps(facts))


def combined_line(request: EdgeRequest, record: ServedRequest, now: dt.datetime) -> str:
    """As Apache and nginx write it: client, time, request line, status, bytes of the body, referer, user agent."""
    head = request.head
    line = _quoted(f"{head.method} {head.path or '-'} HTTP/3")
    referer, agent = (_quoted(head.field(name) or "-") for name in (b"referer", b"user-agent"))
    body_bytes = min(request.body_bytes, record.sent_bytes)  # less has left where it was cut off
    return f"{request.address} - - [{now:%d/%b/%Y:%H:%M:%S %z}] {line} {record.status} {body_bytes} {referer} {agent}"


def json_facts(request: EdgeRequest, record: ServedRequest) -> dict[str, Any]:
    """What the server's log says of a request, with the client, how long the origin took, and what went wrong there."""
    return {
        "client": request.address,
        **asdict(record),
        "origin_ms": request.origin_ms,
        "error": request.why,
        "referer": request.head.field(b"referer"),
        "user_agent": request.head.field(b"user-agent"),
    }


def _quoted(text: str) -> str:
    """In quotes, with everything escaped that could end the line or the quotes."""
    escaped = "".join(sign if " " <= sign <= "~" and sign not in '"\\' else f"\\x{ord(sign):02x}" for sign in text)
    return f'"{escaped}"'
