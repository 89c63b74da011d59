"""One load from all reports of it: requests in the order in which they left, with bodies, flags and notes."""

import base64
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from mixedsched.model.request import ChromiumPriority, Flag
from mixedsched.units import counted
from mixedsched.world.browser._observed._report import (
    LoadReport,
    ReportedElement,
    ReportedFace,
    ReportedFont,
    ReportedMoments,
    ReportedRequest,
)
from mixedsched.world.browser._observed._request import Clock, Match, match, request_of
from mixedsched.world.browser.netlog import LoggedRequest
from mixedsched.world.browser.observation import Observation, ObservationJob, ObservedRequest

_LOGIN_STATUSES = (401, 407)
_READING_METHODS = ("GET", "HEAD", "OPTIONS")
_BOLD, _NORMAL = 700, 400  # weights of fonts


def observation_of(job: ObservationJob, report: LoadReport, logged: Sequence[LoggedRequest]) -> Observation:
    """The load of a job. There is at least one request: the worker refuses loads without any."""
    matches, cached = match(report.requests, logged, report.watched_until_tick_ms)
    clock = Clock(report.requests[0].asked_tick_ms)
    requests = _with_redirects(matches, [request_of(item, clock, keeps=job.bodies_dir is not None) for item in matches])
    requests = _with_flags(requests, matches, report)
    origin_ms = report.requests[0].asked_wall_ms
    moments = report.moments or ReportedMoments(
        origin_ms=origin_ms, fcp_ms=None, dom_content_loaded_ms=None, load_ms=None
    )
    later_ms = moments.origin_ms - origin_ms
    return Observation(
        url=job.url,
        final_url=report.final_url,
        form_factor=job.form_factor,
        requests=tuple(requests),
        ended=report.ended,
        notes=(*report.notes, *_notes([item for item in requests if not item.after_scroll], report, cached, job)),
        title=report.title,
        viewport_px=report.viewport_px,
        lcp_url=report.paint.url if report.paint else None,
        lcp_element=report.paint.element if report.paint else None,
        fcp_ms=_shifted(moments.fcp_ms, later_ms),
        lcp_ms=_shifted(report.paint.at_ms, report.paint.origin_ms - origin_ms) if report.paint else None,
        dom_content_loaded_ms=_shifted(moments.dom_content_loaded_ms, later_ms),
        load_ms=_shifted(moments.load_ms, later_ms),
        chromium_version=report.chromium,
        screenshot=base64.b64decode(report.screenshot_base64) if report.screenshot_base64 else None,
    )


def _shifted(value_ms: float | None, by_ms: float) -> float | None:
    return None if value_ms is None else round(value_ms + by_ms, 1)


def _with_redirects(matches: Sequence[Match], requests: Sequence[ObservedRequest]) -> list[ObservedRequest]:
    """Number the requests, and change DevTools' numbers of redirects to these."""
    number_of = {item.reported.index: place for place, item in enumerate(matches) if item.reported is not None}
    numbered = []
    for place, (item, request) in enumerate(zip(matches, requests, strict=True)):
        before = item.reported.redirected_from if item.reported is not None else None
        numbered.append(
            replace(request, index=place, redirected_from=number_of.get(before) if before is not None else None)
        )
    return numbered


def _with_flags(
    requests: Sequence[ObservedRequest], matches: Sequence[Match], report: LoadReport
) -> list[ObservedRequest]:
    """Both ends of a redirect get the same flags; the main document is the one that stayed."""
    page_flags = PageFlags(report)
    flags = [page_flags.of(item.reported) if item.reported is not None else frozenset() for item in matches]
    by_chain: dict[int, frozenset[Flag]] = {}
    chain_of = _chains(requests)
    for chain, own in zip(chain_of, flags, strict=True):
        by_chain[chain] = by_chain.get(chain, frozenset()) | own
    flags = [by_chain[chain] for chain in chain_of]
    main = _main(requests, matches, report)
    if main is not None:
        flags[main] |= {Flag.MAIN, Flag.CRITICAL}
    return [replace(request, flags=own) for request, own in zip(requests, flags, strict=True)]


def _chains(requests: Sequence[ObservedRequest]) -> list[int]:
    """For each request, the number of the first one in its chain of redirects."""
    first: list[int] = []
    for request in requests:
        before = request.redirected_from
        first.append(first[before] if before is not None and before < len(first) else request.index)
    return first


def _main(requests: Sequence[ObservedRequest], matches: Sequence[Match], report: LoadReport) -> int | None:
    """The document of the page that was seen at the end; the first one if none was."""
    navigations = [
        request.index
        for request, item in zip(requests, matches, strict=True)
        if item.reported is not None
        and item.reported.type == "Document"
        and item.reported.frame_id == report.main_frame_id
        and not item.after_scroll
    ]
    final_url = report.final_url.partition("#")[0]
    final = [index for index in navigations if requests[index].url == final_url]
    candidates = final or navigations
    return candidates[-1] if candidates else None


def _notes(requests: Sequence[ObservedRequest], report: LoadReport, cached: int, job: ObservationJob) -> list[str]:
    """Remarks on the requests as a whole, and on how the load went."""
    notes = []
    main = next((request for request in requests if Flag.MAIN in request.flags), None)
    if main is not None and main.status in _LOGIN_STATUSES:
        notes.append(f"the page wants a login: it was answered with status {main.status}")
    elif main is not None and main.status >= 400:
        notes.append(f"the page itself was answered with status {main.status}")
    if len(report.navigations) > 1:
        notes.append(f"it sent its visitor on: {' -> '.join(report.navigations[:5])}")
    if report.ended == "limit":
        notes.append("it did not become quiet in time" + (", and was not scrolled" if job.scroll else ""))
    counts = {
        "{} had not ended": sum(_is_unfinished(request) for request in requests),
        "{} sent data or changed something (other methods than GET)": sum(
            request.method not in _READING_METHODS for request in requests
        ),
        "{} opened a stream of events, which cannot be kept": sum(_is_stream(request) for request in requests),
        "{} failed": sum(_has_failed(request) for request in requests),
        "{} for what was there already came from the browser's cache": cached,
    }
    return notes + [text.format(counted(count, "request")) for text, count in counts.items() if count]


def _is_unfinished(request: ObservedRequest) -> bool:
    return request.complete_ms is None and not _is_stream(request)


def _is_stream(request: ObservedRequest) -> bool:
    return request.resource_type == "EventSource" or request.mime == "text/event-stream"


def _has_failed(request: ObservedRequest) -> bool:
    return request.status == 0 and request.complete_ms is not None


class PageFlags:
    """How each resource sits in the page, as flags by URL: from elements when they were first seen, and the first screen at the
    end."""

    def __init__(self, report: LoadReport) -> None:
        self._elements: defaultdict[str, list[ReportedElement]] = defaultdict(list)
        for element in report.elements:
            self._elements[element.url.partition("#")[0]].append(element)
        self._lazy = {image.url for image in report.images if image.lazy}
        self._visible = {image.url for image in report.images if image.visible}
        self._hero = report.paint.url if report.paint is not None else None
        self._critical = {*report.blocking, *urls_of_visible_text(report.used_fonts, report.font_faces)}

    def of(self, request: ReportedRequest) -> frozenset[Flag]:
        """All but `main`, which does not depend on the URL."""
        url = request.url
        flags = {Flag.PRELOAD} if request.is_preload or request.initiator.type == "preload" else set()
        for element in self._elements.get(url, ()):
            flags |= _flags_of(element, request)
        wanted = {
            Flag.LAZY: url in self._lazy,
            Flag.ABOVE_FOLD: url in self._visible,
            Flag.HERO: url == self._hero,
            Flag.CRITICAL: url in self._critical,
        }
        return frozenset(flags | {flag for flag, is_set in wanted.items() if is_set})


def _flags_of(element: ReportedElement, request: ReportedRequest) -> set[Flag]:
    if element.tag == "script":
        return _script_flags(element, request)
    if element.tag == "link":
        return _link_flags(element)
    return {Flag.LAZY} if element.lazy else set()


def _script_flags(element: ReportedElement, request: ReportedRequest) -> set[Flag]:
    # What document.write puts in the page comes from the parser, and is as urgent as the rest of the text.
    is_inserted = request.initiator.type == "script" and request.priority is ChromiumPriority.LOW
    if is_inserted:
        return {Flag.ASYNC}
    flags = set()
    if element.is_async:
        flags.add(Flag.ASYNC)
    elif element.defer or element.module:
        flags.add(Flag.DEFER)
    if element.in_head:
        flags.add(Flag.IN_HEAD)
    elif not flags:
        flags.add(Flag.LATE_BODY)
    if element.after_image:
        flags.add(Flag.AFTER_FIRST_IMAGE)
    return flags


def _link_flags(element: ReportedElement) -> set[Flag]:
    relations = set(element.rel.lower().split())
    place = {Flag.IN_HEAD} if element.in_head else set()
    if "stylesheet" in relations:
        return place or {Flag.LATE_BODY}
    if relations & {"preload", "modulepreload"}:
        return place | {Flag.PRELOAD}
    return set()


def urls_of_visible_text(fonts: Sequence[ReportedFont], faces: Sequence[ReportedFace]) -> set[str]:
    """The web fonts that visible text is drawn with: of each of its families the loaded faces nearest to what it asks for (the
    same style first, then the weight).
    """
    by_family: defaultdict[str, list[ReportedFace]] = defaultdict(list)
    for face in faces:
        by_family[_unquoted(face.family)].append(face)
    urls = set()
    for font in fonts:
        for family in font.families.split(","):
            loaded = by_family.get(_unquoted(family), [])
            nearest = min((_distance(face, font) for face in loaded), default=None)
            urls |= {face.url for face in loaded if _distance(face, font) == nearest}
    return urls


def _distance(face: ReportedFace, font: ReportedFont) -> tuple[bool, float]:
    lightest, heaviest = _weights(face.weight)
    wanted, _ = _weights(font.weight)
    return face.style != font.style, max(lightest - wanted, wanted - heaviest, 0)


def _weights(text: str) -> tuple[float, float]:
    """ "normal", "bold", "300" or "100 900" as lightest and heaviest."""
    numbers = []
    for word in text.split():
        try:
            numbers.append(float(word))
        except ValueError:
            numbers.append(_BOLD if word == "bold" else _NORMAL)
    return (min(numbers), max(numbers)) if numbers else (_NORMAL, _NORMAL)


def _unquoted(name: str) -> str:
    return name.strip().strip("\"'").lower()
