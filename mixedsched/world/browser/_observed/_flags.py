"""How each resource sits in the page: from elements when they were first seen, and the first screen at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from mixedsched.model.request import ChromiumPriority, Flag
from mixedsched.world.browser._observed._told import Told, ToldElement, ToldFace, ToldFont, ToldRequest

_BOLD, _NORMAL = 700, 400


class PageFlags:
    """Flags by URL, once for a load."""

    def __init__(self, told: Told) -> None:
        self._elements: defaultdict[str, list[ToldElement]] = defaultdict(list)
        for element in told.elements:
            self._elements[element.url.partition("#")[0]].append(element)
        self._lazy = {image.url for image in told.images if image.lazy}
        self._visible = {image.url for image in told.images if image.visible}
        self._hero = told.paint.url if told.paint is not None else None
        self._critical = {*told.blocking, *urls_of_visible_text(told.used_fonts, told.font_faces)}

    def of(self, request: ToldRequest) -> frozenset[Flag]:
        """All but `main`, which is no matter of a URL."""
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


def _flags_of(element: ToldElement, request: ToldRequest) -> set[Flag]:
    if element.tag == "script":
        return _script_flags(element, request)
    if element.tag == "link":
        return _link_flags(element)
    return {Flag.LAZY} if element.lazy else set()


def _script_flags(element: ToldElement, request: ToldRequest) -> set[Flag]:
    # What document.write puts in the page is the parser's, and as urgent as what stands in the text.
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


def _link_flags(element: ToldElement) -> set[Flag]:
    relations = set(element.rel.lower().split())
    place = {Flag.IN_HEAD} if element.in_head else set()
    if "stylesheet" in relations:
        return place or {Flag.LATE_BODY}
    if relations & {"preload", "modulepreload"}:
        return place | {Flag.PRELOAD}
    return set()


def urls_of_visible_text(fonts: Sequence[ToldFont], faces: Sequence[ToldFace]) -> set[str]:
    """The web fonts that visible text is drawn with: of each of its families the loaded faces that come nearest to what it
    asks for. Nearest: the same style first, then the weight.
    """
    by_family: defaultdict[str, list[ToldFace]] = defaultdict(list)
    for face in faces:
        by_family[_unquoted(face.family)].append(face)
    urls = set()
    for font in fonts:
        for family in font.families.split(","):
            loaded = by_family.get(_unquoted(family), [])
            nearest = min((_distance(face, font) for face in loaded), default=None)
            urls |= {face.url for face in loaded if _distance(face, font) == nearest}
    return urls


def _distance(face: ToldFace, font: ToldFont) -> tuple[bool, float]:
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
