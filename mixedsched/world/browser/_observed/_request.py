"""One request from its two tellings: the NetLog knows the wire, DevTools knows why the page asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mixedsched.model.priority import Priority, parse_parameters
from mixedsched.model.request import ChromiumPriority, Kind, kind_of_destination, kind_of_mime
from mixedsched.world.browser._observed._decode import problem_of_body
from mixedsched.world.browser._observed._match import Match
from mixedsched.world.browser._observed._told import ToldInitiator, ToldRequest
from mixedsched.world.browser.netlog import LoggedRequest
from mixedsched.world.browser.observation import Initiator, InitiatorType, ObservedRequest

Headers = tuple[tuple[str, str], ...]

_KIND_BY_TYPE = {
    "Document": Kind.DOCUMENT,
    "Stylesheet": Kind.STYLESHEET,
    "Font": Kind.FONT,
    "Script": Kind.SCRIPT,
    "Image": Kind.IMAGE,
    "Media": Kind.MEDIA,
    "TextTrack": Kind.MEDIA,
    "XHR": Kind.XHR,
    "Fetch": Kind.XHR,
    "EventSource": Kind.XHR,
    "Ping": Kind.XHR,
    "Prefetch": Kind.XHR,
    "Preflight": Kind.XHR,
    "Manifest": Kind.OTHER,
}
# Chromium's network stack counts on from Blink's five levels: net/base/request_priority.h.
_PRIORITY_BY_NET_NAME = {
    "HIGHEST": ChromiumPriority.VERY_HIGH,
    "MEDIUM": ChromiumPriority.HIGH,
    "LOW": ChromiumPriority.MEDIUM,
    "LOWEST": ChromiumPriority.LOW,
    "IDLE": ChromiumPriority.VERY_LOW,
}
_INITIATORS: dict[str, InitiatorType] = {
    "parser": "parser",
    "script": "script",
    "preload": "preload",
    "redirect": "redirect",
    "preflight": "preflight",
}
_BODILESS = (101, 103, 204, 205, 304)


@dataclass(frozen=True, slots=True)
class Clock:
    """navigation_tick_ms: when the navigation began, on the machine's monotonic clock."""

    navigation_tick_ms: float

    def at(self, tick_ms: float | None) -> float | None:
        """Ms from navigation start. NetLogs count whole ms, so that their first may seem to be before it."""
        return None if tick_ms is None else round(max(0.0, tick_ms - self.navigation_tick_ms), 3)


def request_of(match: Match, clock: Clock, *, keeps: bool) -> ObservedRequest:
    """One request; its index, redirected_from and flags are for whoever knows the others. keeps: whether bodies were wanted."""
    told = match.told if match.told is not None else _told_by_log(match.logged)
    logged = match.logged
    was_sent = logged is not None and logged.place is not None
    request_headers = _lowered(logged.request_headers if logged and was_sent else told.request_headers.items())
    response_headers = logged.response_headers if logged and logged.status else _split(told.response_headers)
    status = logged.status if logged and logged.status else told.status
    priority = dict(request_headers).get("priority")
    signal = _signal(priority, told.protocol)
    destination = dict(request_headers).get("sec-fetch-dest")
    resource_type = "Preflight" if told.initiator.type == "preflight" else told.type
    problem = _problem(told, logged, _encoding(response_headers), keeps=keeps)
    return ObservedRequest(
        index=-1,
        url=told.url,
        method=told.method,
        kind=_kind(destination, resource_type, told.mime, request_headers),
        resource_type=resource_type,
        destination=destination,
        priority=_PRIORITY_BY_NET_NAME.get(logged.priority, told.priority) if logged and was_sent else told.priority,
        final_priority=told.final_priority,
        urgency=signal.urgency if signal else None,
        incremental=signal.incremental if signal else None,
        request_headers=request_headers,
        status=status,
        protocol=told.protocol,
        mime=told.mime,
        response_headers=response_headers,
        encoding=_encoding(response_headers),
        sent_bytes=logged.sent_bytes if logged else 0,
        decoded_bytes=logged.decoded_bytes if logged else told.decoded_bytes,
        asked_ms=clock.at(told.asked_tick_ms) or 0.0,
        sent_ms=clock.at(logged.sent_ms if logged else told.sent_tick_ms),
        first_byte_ms=clock.at(told.first_byte_tick_ms),
        complete_ms=clock.at(told.complete_tick_ms),
        initiator=_initiator(told.initiator, told.type),
        document_url=told.document_url,
        body=logged.body if logged and problem is None else None,
        problem=problem,
        after_scroll=match.after_scroll,
    )


def _told_by_log(logged: LoggedRequest | None) -> ToldRequest:
    """What DevTools would have told of a request that only the log knows."""
    assert logged is not None
    priority = _PRIORITY_BY_NET_NAME.get(logged.priority, ChromiumPriority.LOW)
    mime = dict(logged.response_headers).get("content-type", "").partition(";")[0].strip().lower()
    return ToldRequest(
        index=-1,
        url=logged.url,
        method=logged.method,
        type="Other",
        priority=priority,
        final_priority=priority,
        is_preload=False,
        has_body=False,
        request_headers={},
        initiator=ToldInitiator(type="other", url=logged.initiator),
        document_url="",
        frame_id=None,
        redirected_from=None,
        asked_tick_ms=logged.started_ms,
        asked_wall_ms=0.0,
        decoded_bytes=0,
        status=logged.status,
        mime=mime,
        protocol="h3" if logged.stream_id is not None else "",
        response_headers={},
        from_cache=False,
        sent_tick_ms=logged.sent_ms,
        first_byte_tick_ms=logged.answered_ms,
        complete_tick_ms=logged.ended_ms,
        is_finished=logged.ended_ms is not None,
        failure=None,
    )


def _kind(destination: str | None, resource_type: str, mime: str, request_headers: Headers) -> Kind:
    """As a server sees it, by its destination; pages without TLS do not tell that, and DevTools' type must do."""
    kind = kind_of_destination(destination) or _KIND_BY_TYPE.get(resource_type)
    if kind is not None:
        return kind
    fields = dict(request_headers)
    if "prefetch" in fields.get("purpose", "") + fields.get("sec-purpose", ""):
        return Kind.XHR
    return Kind.IMAGE if fields.get("accept", "").startswith("image/") else kind_of_mime(mime)


def _signal(field: str | None, protocol: str) -> Priority | None:
    """Of the `priority` field; the defaults where the protocol knows it and the field is missing."""
    if field is None:
        return Priority() if protocol in ("h2", "h3") else None
    parameters = parse_parameters(field.encode())
    return parameters.over(Priority()) if parameters is not None else Priority()


def _initiator(told: ToldInitiator, resource_type: str) -> Initiator:
    if resource_type == "Document" and told.type == "other" and told.url is None:
        return Initiator("navigation")
    return Initiator(_INITIATORS.get(told.type, "other"), told.url, told.line, told.column)


def _encoding(headers: Headers) -> str | None:
    codings = [value.strip().lower() for name, value in headers if name == "content-encoding"]
    coding = ", ".join(value for value in codings if value and value != "identity")
    return coding or None


def _problem(told: ToldRequest, logged: LoggedRequest | None, encoding: str | None, *, keeps: bool) -> str | None:
    """Why the request has no body although it should, in words; None if all is well."""
    if told.failure is not None:
        return f"it failed: {told.failure}"
    if told.type == "EventSource" or told.mime == "text/event-stream":
        return "it is a stream of events, which has no end"
    if not told.is_finished:
        return "it had not ended when the watching did" if told.status else "it was not answered while it was watched"
    if told.method == "HEAD" or told.status in _BODILESS or 300 <= told.status < 400 or not keeps:
        return None
    if logged is None:
        return "the browser's log does not know it"
    if logged.body is None:
        return None if logged.sent_bytes == 0 and told.decoded_bytes == 0 else "the browser's log has no body of it"
    if encoding is None or not logged.is_coded:
        return None
    return problem_of_body(logged.body, encoding, logged.decoded_bytes)


def _lowered(headers: Iterable[tuple[str, str]]) -> Headers:
    return tuple((name.lower(), value) for name, value in headers)


def _split(headers: dict[str, str]) -> Headers:
    """DevTools joins fields of the same name by line breaks."""
    return tuple((name.lower(), line) for name, value in headers.items() for line in value.split("\n"))
