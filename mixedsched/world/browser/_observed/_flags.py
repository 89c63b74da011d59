"""How each resource sits in the page: from elements when they were first seen, and the first screen at the end."""

from collections import defaultdict
from collections.abc import Sequence

from mixedsched.model.request import ChromiumPriority, Flag
from mixedsched.world.browser._observed._report import (
    LoadReport,
    ReportedElement,
    ReportedFace,
    ReportedFont,
    ReportedRequest,
)

_BOLD, _NORMAL = 700, 400


class PageFlags:
    """Flags by URL, once for a load."""

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
