"""What could be saved beside the order of delivery: bytes, waits and second downloads that Lighthouse finds in a load.

Each is a change of the page model, so that its effect can be played before anybody is told of it. Pure.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from mixedsched.advice.changes.change import Key, names_of
from mixedsched.advice.changes.page_change import PageModel, with_resources
from mixedsched.lab.page_view import path_of
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Flag

LEAST_BYTES = 2000  # a packet or two more or less make no difference that anybody sees
SLOW_SERVER_MS = 100.0  # beyond the network's round trip
LONG_CACHE_S = 30 * 86400.0


class WasteKind(StrEnum):
    """What is wasted, by how it is mended."""

    COMPRESSION = "compression"  # text is sent uncompressed
    IMAGE_FORMAT = "image-format"  # images in old formats, or encoded poorly
    IMAGE_SIZE = "image-size"  # images have more pixels than are shown
    UNUSED_STYLES = "unused-styles"  # rules that match nothing on the page
    UNUSED_SCRIPTS = "unused-scripts"  # code that was not carried out while the page loaded
    BLOCKING_FONT = "blocking-font"  # text is invisible until its font is there
    CACHING = "caching"  # what a browser keeps too briefly for the next visit
    FIRST_BYTE = "first-byte"  # the server thinks long before it sends the page


class Moment(StrEnum):
    """What people wait for, where less waste is to be seen."""

    LCP = "lcp"
    TEXT = "text"
    """The first text can be read."""
    NEXT_VISIT = "next-visit"
    """The largest paint of a second visit, by a browser that has kept what it may."""


MOMENTS: Mapping[WasteKind, Moment] = {WasteKind.BLOCKING_FONT: Moment.TEXT, WasteKind.CACHING: Moment.NEXT_VISIT}

_SMALLER: Mapping[WasteKind, Sequence[str]] = {
    WasteKind.COMPRESSION: ("text_compression",),
    WasteKind.IMAGE_FORMAT: ("image_format", "image_encoding"),
    WasteKind.IMAGE_SIZE: ("image_size",),
    WasteKind.UNUSED_STYLES: ("unused_styles",),
    WasteKind.UNUSED_SCRIPTS: ("unused_scripts",),
}


@dataclass(frozen=True, slots=True)
class WastedFile:
    """A file that could cost less."""

    key: Key
    wasted_bytes: int = 0
    """Bytes of its body that could be saved; 0 where it is not about bytes."""
    wait_ms: float = 0.0
    """Time that could be saved."""
    cache_s: float = 0.0
    """For how long a browser may keep it now."""


@dataclass(frozen=True, slots=True)
class Waste:
    """All files of a page that waste something in one way, the worst first."""

    kind: WasteKind
    files: tuple[WastedFile, ...]

    @property
    def moment(self) -> Moment:
        return MOMENTS.get(self.kind, Moment.LCP)

    @property
    def wasted_bytes(self) -> int:
        return sum(item.wasted_bytes for item in self.files)

    @property
    def names(self) -> str:
        """Such as "a.jpg, b.jpg and 12 more"."""
        return names_of(item.key for item in self.files)


def wastes_of(
    inspection: Mapping[str, Sequence[Mapping[str, Any]] | None] | None,
    page: Page,
    hosts: Sequence[str],
    rtt_ms: float,
    *,
    knows_caching: bool,
) -> tuple[Waste, ...]:
    """What a load that was inspected found in the page's own files, in the order of WasteKind.

    inspection: of the load, see world.browser.pageload. hosts: of the site. rtt_ms: of the network. knows_caching: whether
    header fields are those of the real server; else nothing is said of caching.
    """
    found = _Found(inspection or {}, page, hosts)
    wastes = [Waste(kind, found.smaller(names)) for kind, names in _SMALLER.items()]
    wastes.append(Waste(WasteKind.BLOCKING_FONT, found.fonts()))
    if knows_caching:
        wastes.append(Waste(WasteKind.CACHING, found.kept_briefly()))
    wastes.append(Waste(WasteKind.FIRST_BYTE, found.slow_document(rtt_ms)))
    return tuple(waste for waste in wastes if waste.files)


class _Found:
    """Lighthouse's lists, by keys of the page's resources."""

    def __init__(
        self, lists: Mapping[str, Sequence[Mapping[str, Any]] | None], page: Page, hosts: Sequence[str]
    ) -> None:
        self._lists = lists
        self._page = page
        self._hosts = hosts

    def _items(self, name: str) -> Iterable[tuple[Resource, Mapping[str, Any]]]:
        known = self._page.by_path()
        for item in self._lists.get(name) or ():
            host = urlsplit(item["url"]).hostname
            key = (self._hosts.index(host), path_of(item["url"])) if host in self._hosts else None
            if key is not None and key in known:
                yield known[key], item

    def smaller(self, names: Sequence[str]) -> tuple[WastedFile, ...]:
        spared: dict[Key, int] = {}
        for name in names:
            for resource, item in self._items(name):
                size = min(int(item["wasted_bytes"] or 0), max(0, resource.body_bytes - 1))
                spared[resource.key] = max(size, spared.get(resource.key, 0))
        files = (WastedFile(key, wasted_bytes=size) for key, size in spared.items() if size >= LEAST_BYTES)
        return tuple(sorted(files, key=lambda file: (-file.wasted_bytes, file.key)))

    def fonts(self) -> tuple[WastedFile, ...]:
        items = self._items("font_display")
        files = (WastedFile(font.key, wait_ms=float(item["wasted_ms"] or 0.0)) for font, item in items)
        return tuple(sorted(files, key=lambda file: (-file.wait_ms, file.key)))

    def kept_briefly(self) -> tuple[WastedFile, ...]:
        files = []
        for resource, item in self._items("caching"):
            cache_s = float(item["cache_s"] or 0.0)
            if resource.id != self._page.main.id and cache_s < LONG_CACHE_S:
                files.append(WastedFile(resource.key, resource.body_bytes, cache_s=cache_s))
        return tuple(sorted(files, key=lambda file: (-file.wasted_bytes, file.key)))

    def slow_document(self, rtt_ms: float) -> tuple[WastedFile, ...]:
        waits = [float(item["wasted_ms"] or 0.0) - rtt_ms for _, item in self._items("server_response")]
        key = self._page.main.key
        return tuple(WastedFile(key, wait_ms=wait_ms) for wait_ms in waits[:1] if wait_ms >= SLOW_SERVER_MS)


# Changes of the page


@dataclass(frozen=True, slots=True)
class Twins:
    """A page as it is and without a waste, to be played and compared."""

    before: PageModel
    after: PageModel


def twins_of(model: PageModel, waste: Waste) -> Twins:
    """The two pages whose difference is what a waste costs at its moment.

    BLOCKING_FONT: text waits for the fonts, or for nothing but the first paint. CACHING: a next visit with an empty cache for
    these files, or with all of them kept. FIRST_BYTE: the server's time to think is added to a page that is played without.
    """
    return _TWINS.get(waste.kind, _without_bytes)(model, waste)


def _without_bytes(model: PageModel, waste: Waste) -> Twins:
    spared = {file.key: file.wasted_bytes for file in waste.files}
    ratios: dict[str, float] = {}
    smaller = []
    for item in model.page.resources:
        body_bytes = max(1, item.body_bytes - spared.get(item.key, 0)) if item.body_bytes else 0
        ratios[item.id] = body_bytes / item.body_bytes if item.body_bytes else 1.0
        smaller.append(item.model_copy(update={"body_bytes": body_bytes}))
    # What a file names stands at the same place of its text, so in proportion earlier in fewer bytes.
    found = [
        item.model_copy(update={"found_at_bytes": int(item.found_at_bytes * ratios.get(item.found_by or "", 1.0))})
        for item in smaller
    ]
    return Twins(model, _with(model, found))


def _text_without_waiting(model: PageModel, waste: Waste) -> Twins:
    waited_for = {file.key for file in waste.files}

    def awaiting(keys: Iterable[Key]) -> PageModel:
        wanted = set(keys)
        resources = [
            item.model_copy(
                update={
                    "flags": (item.flags - {Flag.HERO, Flag.ABOVE_FOLD})
                    | ({Flag.HERO} if item.key in wanted else frozenset())
                }
            )
            for item in model.page.resources
        ]
        return replace(_with(model, resources), hero_needs=())

    return Twins(awaiting(waited_for), awaiting(()))


def _next_visit(model: PageModel, waste: Waste) -> Twins:
    """What is cached is not requested; what it makes known is discovered when the cached file itself is."""
    lost = {file.key for file in waste.files}
    main = model.page.main.id
    kept_now = {item.id for item in model.page.resources if item.id != main and item.key not in lost}
    kept_then = {item.id for item in model.page.resources if item.id != main}
    return Twins(_without(model, kept_now), _without(model, kept_then))


def _without(model: PageModel, kept: set[str]) -> PageModel:
    by_id = model.page.by_id()
    resources = []
    for item in model.page.resources:
        if item.id in kept:
            continue
        finder = item
        while finder.found_by in kept:  # it lies in the cache, and is there as soon as it is known itself
            finder = by_id[finder.found_by or ""]
        found = {name: getattr(finder, name) for name in ("found_by", "found_when", "found_at_bytes")}
        resources.append(item.model_copy(update=found))
    left = {item.id for item in resources}
    needs = tuple(name for name in model.hero_needs if name in left)
    return replace(_with(model, resources), gated=model.gated & left, hero_needs=needs)


def _thinking(model: PageModel, waste: Waste) -> Twins:
    main, wait_ms = model.page.main, waste.files[0].wait_ms
    resources = [
        item.model_copy(update={"delay_ms": item.delay_ms + wait_ms}) if item.id == main.id else item
        for item in model.page.resources
    ]
    return Twins(_with(model, resources), model)


def _with(model: PageModel, resources: Iterable[Resource]) -> PageModel:
    return replace(model, page=with_resources(model.page, resources))


_TWINS: Mapping[WasteKind, Callable[[PageModel, Waste], Twins]] = {
    WasteKind.BLOCKING_FONT: _text_without_waiting,
    WasteKind.CACHING: _next_visit,
    WasteKind.FIRST_BYTE: _thinking,
}
