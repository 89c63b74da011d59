"""Requests from two sources, matched: the NetLog knows the wire, DevTools knows why the page asked."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mixedsched.model.codings import UndecodableError, decode
from mixedsched.model.priority import Priority, parse_parameters
from mixedsched.model.request import ChromiumPriority, Kind, kind_of_destination, kind_of_mime
from mixedsched.world.browser._observed._report import ReportedInitiator, ReportedRequest
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
# The network stack's names for Blink's five levels: net/base/request_priority.h.
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
class Match:
    """A request that left, or failed to, as the two sides know it: None if one does not; never both."""

    reported: ReportedRequest | None
    logged: LoggedRequest | None
    after_scroll: bool = False

    @property
    def order(self) -> tuple[bool, float, float]:
        """By the log's clock if it was sent, by the page's if it never was; after scrolling last."""
        if self.logged is not None and self.logged.place is not None:
            assert self.logged.sent_ms is not None
            return self.after_scroll, self.logged.sent_ms, self.logged.place
        if self.reported is not None:
            return self.after_scroll, self.reported.asked_tick_ms, float("inf")
        assert self.logged is not None
        return self.after_scroll, self.logged.started_ms, float("inf")


def match(
    reported: Sequence[ReportedRequest], logged: Sequence[LoggedRequest], watched_until_ms: float = float("inf")
) -> tuple[list[Match], int]:
    """The requests in the order in which they left, and how many of the load a cache answered, which are left out.

    They are matched by URL, method and order. What only the log knows (such as reports) is included if a page asked for it
    before watching ended: when DevTools lets go, the emulated device goes, so that pages choose other images, and service
    workers that were held back start.
    """
    waiting: defaultdict[tuple[str, str], deque[LoggedRequest]] = defaultdict(deque)
    for entry in (entry for entry in logged if entry.started_ms <= watched_until_ms):
        waiting[entry.url, entry.method].append(entry)
    matches, cached = [], 0
    for request in reported:
        queue = waiting[request.url, request.method]
        if request.from_cache and not (queue and queue[0].place is not None and request.status == 304):
            cached += not request.after_scroll
            if queue and queue[0].place is None:
                queue.popleft()
            continue
        matches.append(Match(request, queue.popleft() if queue else None, request.after_scroll))
    left = [entry for queue in waiting.values() for entry in queue]
    scroll_ms = min((request.asked_tick_ms for request in reported if request.after_scroll), default=float("inf"))
    matches += [Match(None, entry, entry.started_ms >= scroll_ms) for entry in left if _is_of_a_page(entry)]
    return sorted(matches, key=lambda item: item.order), cached


def _is_of_a_page(entry: LoggedRequest) -> bool:
    is_http = entry.url.startswith(("http:", "https:"))
    return is_http and entry.initiator is not None and not entry.is_page and entry.place is not None


@dataclass(frozen=True, slots=True)
class Clock:
    """Times since navigation start."""

    navigation_tick_ms: float
    """When the navigation began, on the machine's monotonic clock."""

    def at(self, tick_ms: float | None) -> float | None:
        """Ms from navigation start. NetLogs count whole ms, so that their first ones may seem to be before it."""
        return None if tick_ms is None else round(max(0.0, tick_ms - self.navigation_tick_ms), 3)


def request_of(match: Match, clock: Clock, *, keeps: bool) -> ObservedRequest:
    """One request; its index, redirected_from and flags are still to be set. keeps: whether bodies were wanted."""
    reported = match.reported if match.reported is not None else _reported_by_log(match.logged)
    logged = match.logged
    sent = logged if logged is not None and logged.place is not None else None
    answered = logged if logged is not None and logged.status else None
    request_headers = _lowered(sent.request_headers if sent else reported.request_headers.items())
    response_headers = answered.response_headers if answered else _split(reported.response_headers)
    fields, encoding = dict(request_headers), _encoding(response_headers)
    signal = _signal(fields.get("priority"), reported.protocol)
    destination = fields.get("sec-fetch-dest")
    resource_type = "Preflight" if reported.initiator.type == "preflight" else reported.type
    problem = _problem(reported, logged, encoding, keeps=keeps)
    sent_tick_ms = logged.sent_ms if logged else reported.sent_tick_ms
    # DevTools tells of a preflight when it comes to it, which on a busy machine is after the answer.
    asked_tick_ms = min(tick for tick in (reported.asked_tick_ms, sent_tick_ms) if tick is not None)
    return ObservedRequest(
        index=-1,
        url=reported.url,
        method=reported.method,
        kind=_kind(destination, resource_type, reported.mime, fields),
        resource_type=resource_type,
        destination=destination,
        priority=_PRIORITY_BY_NET_NAME.get(sent.priority, reported.priority) if sent else reported.priority,
        final_priority=reported.final_priority,
        urgency=signal.urgency if signal else None,
        incremental=signal.incremental if signal else None,
        request_headers=request_headers,
        status=answered.status if answered else reported.status,
        protocol=reported.protocol,
        mime=reported.mime,
        response_headers=response_headers,
        encoding=encoding,
        sent_bytes=logged.sent_bytes if logged else 0,
        decoded_bytes=logged.decoded_bytes if logged else reported.decoded_bytes,
        asked_ms=clock.at(asked_tick_ms) or 0.0,
        sent_ms=clock.at(sent_tick_ms),
        first_byte_ms=clock.at(reported.first_byte_tick_ms),
        complete_ms=clock.at(reported.complete_tick_ms),
        initiator=_initiator(reported.initiator, reported.type),
        document_url=reported.document_url,
        body=logged.body if logged and problem is None else None,
        problem=problem,
        after_scroll=match.after_scroll,
    )


def _reported_by_log(logged: LoggedRequest | None) -> ReportedRequest:
    """What DevTools would have reported about a request that only the log knows."""
    assert logged is not None
    priority = _PRIORITY_BY_NET_NAME.get(logged.priority, ChromiumPriority.LOW)
    mime = dict(logged.response_headers).get("content-type", "").partition(";")[0].strip().lower()
    return ReportedRequest(
        index=-1,
        url=logged.url,
        method=logged.method,
        type="Other",
        priority=priority,
        final_priority=priority,
        is_preload=False,
        has_body=False,
        request_headers={},
        initiator=ReportedInitiator(type="other", url=logged.initiator),
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


def _kind(destination: str | None, resource_type: str, mime: str, fields: Mapping[str, str]) -> Kind:
    """By its destination, as a server sees it; pages without TLS do not send that, and DevTools' type must do."""
    kind = kind_of_destination(destination) or _KIND_BY_TYPE.get(resource_type)
    if kind is not None:
        return kind
    if "prefetch" in fields.get("purpose", "") + fields.get("sec-purpose", ""):
        return Kind.XHR
    return Kind.IMAGE if fields.get("accept", "").startswith("image/") else kind_of_mime(mime)


def _signal(field: str | None, protocol: str) -> Priority | None:
    """The value of the `priority` field; the defaults if the protocol has it and the field is missing."""
    if field is None:
        return Priority() if protocol in ("h2", "h3") else None
    parameters = parse_parameters(field.encode())
    return parameters.over(Priority()) if parameters is not None else Priority()


def _initiator(reported: ReportedInitiator, resource_type: str) -> Initiator:
    if resource_type == "Document" and reported.type == "other" and reported.url is None:
        return Initiator("navigation")
    return Initiator(_INITIATORS.get(reported.type, "other"), reported.url, reported.line, reported.column)


def _encoding(headers: Headers) -> str | None:
    codings = [value.strip().lower() for name, value in headers if name == "content-encoding"]
    coding = ", ".join(value for value in codings if value and value != "identity")
    return coding or None


def _problem(
    reported: ReportedRequest, logged: LoggedRequest | None, encoding: str | None, *, keeps: bool
) -> str | None:
    """Why the request has no body although it should, in words; None if all is well."""
    if reported.failure is not None:
        return f"it failed: {reported.failure}"
    if reported.type == "EventSource" or reported.mime == "text/event-stream":
        return "it is a stream of events, which has no end"
    if not reported.is_finished:
        return (
            "it had not ended when the watching did" if reported.status else "it was not answered while it was watched"
        )
    if reported.method == "HEAD" or reported.status in _BODILESS or 300 <= reported.status < 400 or not keeps:
        return None
    if logged is None:
        return "the browser's log does not know it"
    if logged.body is None:
        return None if logged.sent_bytes == 0 and reported.decoded_bytes == 0 else "the browser's log has no body of it"
    if encoding is None or not logged.is_coded:
        return None
    return problem_of_body(logged.body, encoding, logged.decoded_bytes)


def _lowered(headers: Iterable[tuple[str, str]]) -> Headers:
    return tuple((name.lower(), value) for name, value in headers)


def _split(headers: dict[str, str]) -> Headers:
    """DevTools joins fields of the same name by line breaks."""
    return tuple((name.lower(), line) for name, value in headers.items() for line in value.split("\n"))


def problem_of_body(body: Path, coding: str, decoded_bytes: int) -> str | None:
    """What is wrong with a body in this content coding, in words; None if it decodes to as many bytes as the browser says."""
    try:
        size = len(decode(body.read_bytes(), "gzip" if coding == "x-gzip" else coding))
    except UndecodableError as error:
        return f"it is not in the coding {coding} that it names: {error}"
    except ValueError:
        return f"its content coding {coding} is not known"
    return None if size == decoded_bytes else f"it decodes to {size} bytes, and the browser saw {decoded_bytes}"
