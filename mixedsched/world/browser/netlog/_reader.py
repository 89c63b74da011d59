"""Takes a NetLog's events one by one and keeps QUIC sessions, requests and streams.

Event numbers change with every release of Chromium; they are resolved by name through the file's own constants.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from mixedsched.world.browser.netlog._sessions import NotedSession, NotedStream, PacketCounts, reason_of
from mixedsched.world.browser.netlog._text import count, facts_of, split_header, text_or_none, whole
from mixedsched.world.browser.netlog._values import (
    Closing,
    FrameArrival,
    OpenReason,
    QuicSession,
    StreamArrival,
    StreamRequest,
)

_HEADER = "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED"
_FRAME = "QUIC_SESSION_STREAM_FRAME_RECEIVED"
_COMPLETE = "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE"
_BEGIN_PHASE = 1

# What is unknown if the browser that wrote the log has no such event. Without QUIC_SESSION nothing is known.
_FACTS: Mapping[str, tuple[str, ...]] = {
    "HOL bytes": (_HEADER, _FRAME),
    "packets seen and lost": (_HEADER,),
    "arrivals": (_FRAME,),
    "requests": ("HTTP3_HEADERS_SENT",),
    "PRIORITY_UPDATE frames": ("HTTP3_PRIORITY_UPDATE_SENT",),
    "how connections ended": ("QUIC_SESSION_CLOSED",),
}
_RARE_KEY_PARTS = ("proxy_chain", "session_usage", "secure_dns_policy", "require_dns_https_alpn", "socket_tag")

_Params = Mapping[str, Any]


class EventReader:
    """Give it every event by read(), then ask.

    event_types: number of each event name. quic_errors: number of each error name.
    """

    def __init__(self, event_types: Mapping[str, int], quic_errors: Mapping[str, Any]) -> None:
        known = {name: handler for name, handler in self._handlers().items() if name in event_types}
        self._handler_of = {event_types[name]: handler for name, handler in known.items()}
        self._error_names = {number: name for name, number in quic_errors.items() if isinstance(number, int | str)}
        # Without either it is unknown which attempts became connections: all of them count.
        self._knows_connections = not {_FRAME, _COMPLETE}.isdisjoint(known)
        self.unavailable = tuple(fact for fact, names in _FACTS.items() if not set(names) <= known.keys())
        self._start_ms: float | None = None
        self._sessions: dict[int, NotedSession] = {}
        self._taken_over: dict[str, int] = {}
        self._other_address: set[str] = set()
        self._updates: dict[tuple[int, int], list[str]] = {}
        self._requests: dict[tuple[int, int], tuple[float, tuple[tuple[str, str], ...]]] = {}
        self._streams: dict[tuple[int, int], NotedStream] = {}
        self._frames: list[tuple[float, int, int, int, int, bool]] = []
        self._blocked: dict[int, int] = {}  # by place in _frames
        self._http2_hosts: dict[str, None] = {}

    def _handlers(self) -> dict[str, Callable[[int, int, _Params, float], None]]:
        return {
            "QUIC_SESSION": self._opened,
            _COMPLETE: self._established,
            "QUIC_SESSION_CLOSED": self._closed,
            "QUIC_SESSION_POOL_MATCHING_IP_SESSION_FOUND": self._can_take_over,
            "QUIC_SESSION_POOL_CAN_POOL_BUT_DIFFERENT_IP": self._has_other_address,
            "QUIC_SESSION_PACKET_RECEIVED": self._counted("received"),
            "QUIC_SESSION_PACKET_SENT": self._counted("sent"),
            "QUIC_SESSION_PACKET_LOST": self._counted("declared_lost"),
            _HEADER: self._header,
            _FRAME: self._frame,
            "HTTP3_PRIORITY_UPDATE_SENT": self._update,
            "HTTP3_HEADERS_SENT": self._request,
            "HTTP2_SESSION": self._http2,
        }

    def read(self, event: Mapping[str, Any]) -> None:
        """An event. Raises KeyError, TypeError, ValueError or AttributeError if it is not as Chromium writes them."""
        number = event["type"]
        handler = self._handler_of.get(number if isinstance(number, int) else whole(number))
        if handler is not None:
            handler(*facts_of(event))

    def _session(self, source: int) -> NotedSession | None:
        """None for sessions older than the log."""
        return self._sessions.get(source)

    def _since_start_ms(self, time_ms: float) -> float:
        return time_ms - self._start_ms if self._start_ms is not None else 0.0

    def _opened(self, source: int, phase: int, params: _Params, time_ms: float) -> None:
        if source in self._sessions or (phase != _BEGIN_PHASE and "host" not in params):
            return
        if self._start_ms is None:
            self._start_ms = time_ms
        opened_ms = self._since_start_ms(time_ms)
        opened = QuicSession(
            source,
            str(params.get("host", "")),
            text_or_none(params.get("privacy_mode")),
            text_or_none(params.get("network_anonymization_key")),
            opened_ms=opened_ms,
        )
        rare_key = tuple(str(params.get(part)) for part in _RARE_KEY_PARTS)
        self._sessions[source] = NotedSession(opened, rare_key, None if self._knows_connections else opened_ms)

    def _established(self, source: int, _phase: int, _params: _Params, time_ms: float) -> None:
        if (session := self._session(source)) and session.established_ms is None:
            session.established_ms = self._since_start_ms(time_ms)

    def _closed(self, source: int, _phase: int, params: _Params, time_ms: float) -> None:
        """Chromium logs it twice, for the connection and for the session."""
        if (session := self._session(source)) and session.closing is None:
            code = params.get("quic_error")
            error = self._error_names.get(code, str(code)) if isinstance(code, int | str) else ""
            details, from_peer = str(params.get("details", "")), bool(params.get("from_peer"))
            session.closing = Closing(self._since_start_ms(time_ms), details, error, from_peer)
            session.pooled_with = self._taken_over.pop(session.opened.host, None)

    def _can_take_over(self, _source: int, _phase: int, params: _Params, _time_ms: float) -> None:
        """The pool found a connection for a destination. If one has just been opened for it, that is closed next."""
        self._taken_over[_host(params)] = whole(params["source_dependency"]["id"])

    def _has_other_address(self, _source: int, _phase: int, params: _Params, _time_ms: float) -> None:
        self._other_address.add(_host(params))

    def _counted(self, counter: str) -> Callable[[int, int, _Params, float], None]:
        """A handler that counts a session's events."""

        def count_one(source: int, _phase: int, _params: _Params, _time_ms: float) -> None:
            if session := self._session(source):
                setattr(session, counter, getattr(session, counter) + 1)

        return count_one

    def _header(self, source: int, _phase: int, params: _Params, time_ms: float) -> None:
        if session := self._session(source):
            session.packets.header(params, count(params["packet_number"]), self._since_start_ms(time_ms))

    def _frame(self, source: int, _phase: int, params: _Params, time_ms: float) -> None:
        session = self._session(source)
        if session is None:
            return
        stream_id, offset, length = (count(params[name]) for name in ("stream_id", "offset", "length"))
        at_ms = self._since_start_ms(time_ms)
        if session.established_ms is None:  # by a browser that does not tell when the handshake is complete
            session.established_ms = at_ms
        session.packets.frame(stream_id, offset, length, len(self._frames))
        self._frames.append((at_ms, source, stream_id, offset, length, bool(params.get("fin"))))
        stream = self._streams.setdefault((source, stream_id), NotedStream())
        if length:
            stream.first_ms = at_ms if stream.first_ms is None else stream.first_ms
            stream.last_ms = at_ms
            stream.received += length
            stream.frames += 1

    def _update(self, source: int, _phase: int, params: _Params, _time_ms: float) -> None:
        """A PRIORITY_UPDATE usually precedes its request."""
        if self._session(source):
            key = (source, count(params["prioritized_element_id"]))
            self._updates.setdefault(key, []).append(str(params["priority_field_value"]))

    def _request(self, source: int, _phase: int, params: _Params, time_ms: float) -> None:
        if self._session(source):
            headers = tuple(split_header(line) for line in params["headers"])
            self._requests.setdefault(  # the first ones: later ones are trailers
                (source, count(params["stream_id"])), (self._since_start_ms(time_ms), headers)
            )

    def _http2(self, _source: int, _phase: int, params: _Params, _time_ms: float) -> None:
        if host := params.get("host"):
            self._http2_hosts[str(host)] = None

    @property
    def http2_hosts(self) -> tuple[str, ...]:
        return tuple(self._http2_hosts)

    def sessions(self) -> tuple[QuicSession, ...]:
        """In order of time. Call it before arrivals() and streams()."""
        found = []
        for session, (reason, why) in zip(self._sessions.values(), self._reasons(), strict=True):
            counts = session.packets.count()
            self._note_blocked(session.opened.source_id, counts)
            finished = session.finished(counts, reason, why)
            if "packets seen and lost" in self.unavailable:
                finished = replace(finished, packets_seen=None, packets_lost=None)
            if "HOL bytes" in self.unavailable:
                finished = replace(finished, hol_bytes=None, connection_hol_bytes=None)
            found.append(finished)
        return tuple(found)

    def _reasons(self) -> Iterator[tuple[OpenReason, str]]:
        earlier: list[NotedSession] = []
        for session in self._sessions.values():
            taker = self._sessions.get(session.pooled_with) if session.pooled_with is not None else None
            yield reason_of(session, earlier, taker, has_other_address=session.opened.host in self._other_address)
            earlier.append(session)

    def _note_blocked(self, source: int, counts: PacketCounts) -> None:
        for item in counts.blocked:
            self._blocked[item.frame] = item.size_bytes
            self._streams[source, item.stream_id].blocked += item.size_bytes

    def requests(self) -> tuple[StreamRequest, ...]:
        found = []
        for key, (sent_ms, headers) in self._requests.items():
            fields = dict(headers)
            found.append(
                StreamRequest(
                    session=key[0],
                    stream_id=key[1],
                    authority=fields.get(":authority", ""),
                    path=fields.get(":path", ""),
                    sent_ms=sent_ms,
                    priority=fields.get("priority"),
                    priority_updates=tuple(self._updates.get(key, ())),
                    headers=headers,
                )
            )
        return tuple(found)

    def arrivals(self) -> tuple[FrameArrival, ...]:
        return tuple(
            FrameArrival(*frame, blocked_bytes=self._blocked.get(place, 0))
            for place, frame in enumerate(self._frames)
            if frame[2] % 4 == 0  # opened by the client, both ways
        )

    def streams(self, sessions: tuple[QuicSession, ...]) -> tuple[StreamArrival, ...]:
        """In order of their first byte; then those with a request and no answer."""
        is_known = {session.source_id: session.hol_bytes is not None for session in sessions}
        silent = {key: NotedStream() for key in self._requests if key not in self._streams}
        found = [
            StreamArrival(
                session=key[0],
                stream_id=key[1],
                first_byte_ms=stream.first_ms,
                last_byte_ms=stream.last_ms,
                received_bytes=stream.received,
                frames=stream.frames,
                hol_bytes=stream.blocked if is_known[key[0]] else None,
            )
            for key, stream in (self._streams | silent).items()
        ]
        return tuple(sorted(found, key=lambda item: math.inf if item.first_byte_ms is None else item.first_byte_ms))


def _host(params: _Params) -> str:
    """The host of the pool's destination, such as "https://site.test:8443"."""
    return urlsplit(str(params.get("destination", ""))).hostname or ""
