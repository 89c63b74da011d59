"""Chromium's NetLog: which QUIC connections a page used and why, its requests on them, the order in which bytes arrived, and
which of them had to wait for a lost packet.

Logs are read event by event: memory grows with the packets and frames in them, not with the size of the file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from mixedsched.errors import InputError
from mixedsched.world.browser.netlog._reader import EventReader
from mixedsched.world.browser.netlog._text import LogText, NotALogError, whole
from mixedsched.world.browser.netlog._traffic import LoggedRequest, TrafficReader
from mixedsched.world.browser.netlog._values import (
    ArrivalRun,
    Closing,
    FrameArrival,
    NetLog,
    OpenReason,
    QuicSession,
    StreamArrival,
    StreamRequest,
    arrival_order,
)

__all__ = [
    "ArrivalRun",
    "Closing",
    "FrameArrival",
    "LoggedRequest",
    "NetLog",
    "OpenReason",
    "QuicSession",
    "StreamArrival",
    "StreamRequest",
    "arrival_order",
    "read_netlog",
    "read_traffic",
]

_FIX = "give a file that Chromium wrote with --log-net-log"


def read_netlog(path: Path) -> NetLog:
    """Read a log, also one that a killed browser left open, in one line or many, from a file or a pipe.

    Raises InputError if the file is not a NetLog, or of a browser that does not log QUIC sessions. A log without any session
    is read: it has no connections, and None for what was not measured.
    """
    try:
        return _read(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read", why=error.strerror or str(error), fix=_FIX) from error
    except NotALogError as error:
        raise InputError(f"{path} is not a NetLog", why=str(error), fix=_FIX) from error


def read_traffic(path: Path, bodies_dir: Path | None = None) -> tuple[LoggedRequest, ...]:
    """The requests of a log over all protocols, in the order in which they were started; bodies as they were sent.

    bodies_dir: an empty directory for files with the bodies, if the log has any. Raises InputError as read_netlog does, and
    OSError if a body cannot be stored.
    """
    try:
        file = path.open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read", why=error.strerror or str(error), fix=_FIX) from error
    with file:
        try:
            begun = _begin(file, path)
            reader = TrafficReader(begun.event_types, bodies_dir)
            _take_all(reader, begun.parts)
        except NotALogError as error:
            raise InputError(f"{path} is not a NetLog", why=str(error), fix=_FIX) from error
    return tuple(reader.requests)


def _read(path: Path) -> NetLog:
    with path.open(encoding="utf-8", errors="replace") as file:
        begun = _begin(file, path)
        client = _mapping(begun.constants.get("clientInfo"))
        version = str(client.get("version", ""))
        _require_quic(begun.event_types, path, version)
        reader = EventReader(begun.event_types, _mapping(begun.constants.get("quicError")))
        _take_all(reader, begun.parts)
    sessions = reader.sessions()
    return NetLog(
        sessions=sessions,
        requests=reader.requests(),
        arrivals=reader.arrivals(),
        streams=reader.streams(sessions),
        chromium_version=version,
        command_line=str(client.get("command_line", "")),
        truncated=begun.text.truncated,
        unavailable=reader.unavailable,
        http2_hosts=reader.http2_hosts,
    )


@dataclass(frozen=True, slots=True)
class _Begun:
    """A log whose constants are known, and whose events are still to be read from `parts`."""

    text: LogText
    parts: Iterator[tuple[str, Any]]
    constants: Mapping[str, Any]
    event_types: Mapping[str, int]
    """The log's own number of each event name."""


def _begin(file: TextIO, path: Path) -> _Begun:
    """Read the constants. Chromium writes them first, so a pipe can be read; if they come later, a file is read again."""
    text = LogText(file)
    parts = text.parts()
    is_past_events, constants = False, None
    for name, value in parts:
        if name == "constants":
            constants = value
            break
        is_past_events |= name == "events"
    if not isinstance(constants, Mapping) or not isinstance(constants.get("logEventTypes"), Mapping):
        if text.truncated:
            raise NotALogError("it is not JSON, nor the beginning of a log")
        raise NotALogError("it has no constants with logEventTypes")
    if is_past_events:
        if not file.seekable():
            raise InputError(
                f"{path} cannot be read as a stream",
                why="its constants come after its events, so that it must be read twice",
                fix="store it in a file, and name that",
            )
        file.seek(0)
        text = LogText(file)
        parts = text.parts()
    try:
        event_types = {name: whole(number) for name, number in constants["logEventTypes"].items()}
    except (TypeError, ValueError) as error:
        raise NotALogError(f"its constants are not as expected: {type(error).__name__} {error}") from error
    return _Begun(text, parts, constants, event_types)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _require_quic(event_types: Mapping[str, int], path: Path, version: str) -> None:
    if "QUIC_SESSION" not in event_types:
        raise InputError(
            f"{path} has nothing about QUIC",
            why=f"the browser that wrote it ({version or 'of unknown version'}) has no QUIC_SESSION event",
            fix="record the log with a current Chromium",
        )


def _take_all(reader: EventReader | TrafficReader, parts: Iterator[tuple[str, Any]]) -> None:
    for name, event in parts:
        if name != "events":
            continue
        try:
            reader.read(event)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise NotALogError(f"an event is not as expected: {type(error).__name__} {error}") from error
