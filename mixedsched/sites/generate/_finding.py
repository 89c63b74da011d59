"""What discovers each part of a page, when, and how it sits there."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.generate._amounts import POINTS, PagePart
from mixedsched.sites.generate._distributions import Distributions, Finder, FoundLater, KindFacts, from_quantiles

_DELAY_POINTS = (0.0, 1 / 3, 2 / 3, 1.0)
_HEAD = (0.02, 0.2)  # where of a document its head's references are, as shares of its length
_BODY = (0.25, 0.95)
_LATE = (0.75, 0.98)
_DEEPER = 0.8  # how much less likely a script is to load others for each step that it is from the document

_MARKUP_BYTES = 120  # of a reference
_HERO_BYTES = 1500  # less than nine of ten measured heroes have
_DOT_BYTES = 600  # shorter images are icons, or pixels that count visits

_Zone = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PartDiscovery:
    """How a part is discovered."""

    parent: int | None  # index of the part that finds this one; None for the main document
    when: FoundLater | None = None
    at_share: float = 0.0  # where in the parent, if `bytes`
    delay_ms: int = 0
    flags: frozenset[Flag] = frozenset()


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in the document's markup that goes with a kind and priority."""

    zone: _Zone
    flags: frozenset[Flag] = frozenset()


_C, _HIGH, _MEDIUM = ChromiumPriority, ChromiumPriority.HIGH, ChromiumPriority.MEDIUM
_PLACES: dict[tuple[Kind, ChromiumPriority], _Place] = {
    (Kind.STYLESHEET, _C.VERY_HIGH): _Place(_HEAD, frozenset({Flag.IN_HEAD, Flag.CRITICAL})),
    (Kind.STYLESHEET, _HIGH): _Place(_HEAD),
    (Kind.STYLESHEET, _MEDIUM): _Place(_LATE, frozenset({Flag.LATE_BODY})),
    (Kind.STYLESHEET, _C.VERY_LOW): _Place(_HEAD),
    (Kind.FONT, _HIGH): _Place(_HEAD, frozenset({Flag.PRELOAD, Flag.CRITICAL})),
    (Kind.SCRIPT, _HIGH): _Place(_HEAD, frozenset({Flag.IN_HEAD, Flag.CRITICAL})),
    (Kind.SCRIPT, _MEDIUM): _Place(_LATE, frozenset({Flag.LATE_BODY, Flag.AFTER_FIRST_IMAGE})),
    (Kind.IMAGE, _HIGH): _Place(_BODY, frozenset({Flag.ABOVE_FOLD})),
    (Kind.IMAGE, _MEDIUM): _Place(_BODY, frozenset({Flag.ABOVE_FOLD})),
    (Kind.OTHER, _MEDIUM): _Place(_HEAD),
}
_FLAGS_ELSEWHERE = {Kind.FONT: frozenset({Flag.CRITICAL}), Kind.SCRIPT: frozenset({Flag.ASYNC})}


@dataclass(slots=True)
class _Finders:
    """Parts that can find others, by what they are, with how likely each does."""

    indices: dict[Finder, list[int]] = field(default_factory=dict)
    weights: dict[Finder, list[float]] = field(default_factory=dict)

    def add(self, finder: Finder, index: int, weight: float) -> None:
        self.indices.setdefault(finder, []).append(index)
        self.weights.setdefault(finder, []).append(weight)

    def draw(self, finder: Finder, rng: random.Random) -> int | None:
        known = self.indices.get(finder)
        return rng.choices(known, self.weights[finder])[0] if known else None


def find_parts(parts: Sequence[PagePart], facts: Distributions, rng: random.Random) -> list[PartDiscovery]:
    """For each part who finds it. The first part is the main document.

    Parts that their priority ties to the document's markup have their place there; the others are found as their kind's
    table says, by what is there to find them: frames by scripts, fonts by style sheets, what scripts fetch by scripts.
    """
    found: dict[int, PartDiscovery] = {0: PartDiscovery(None, flags=frozenset({Flag.MAIN, Flag.CRITICAL}))}
    finders, depths = _Finders(), {0: 0}
    finders.add("main", 0, 1.0)
    for index in _finding_order(parts):
        part = parts[index]
        found[index] = _found(part, facts.kinds[part.kind], finders, rng)
        parent = found[index].parent
        assert parent is not None, "only the main document has no parent"
        depths[index] = depths[parent] + 1
        finder = _as_finder(part)
        if finder is not None:
            finders.add(finder, index, part.body_bytes**0.5 * _DEEPER ** depths[index])
    return [found[index] for index in range(len(parts))]


def _finding_order(parts: Sequence[PagePart]) -> list[int]:
    """Markup first, then scripts, then frames, then all that these may find."""

    def turn(index: int) -> tuple[int, int]:
        part = parts[index]
        tied = (part.kind, part.priority) in _PLACES
        return (0 if tied else {Kind.SCRIPT: 1, Kind.DOCUMENT: 2}.get(part.kind, 3)), index

    return sorted(range(1, len(parts)), key=turn)


def _as_finder(part: PagePart) -> Finder | None:
    if part.kind is Kind.STYLESHEET and part.priority is not ChromiumPriority.VERY_LOW:  # that is one for print
        return "stylesheet"
    if part.kind is Kind.SCRIPT and part.priority is not ChromiumPriority.VERY_LOW:  # that is a worker's
        return "script"
    return "document" if part.kind is Kind.DOCUMENT else None


def _found(part: PagePart, facts: KindFacts, finders: _Finders, rng: random.Random) -> PartDiscovery:
    place = _PLACES.get((part.kind, part.priority))
    if place is not None:
        return PartDiscovery(0, "bytes", rng.uniform(*place.zone), flags=place.flags)
    flags = _FLAGS_ELSEWHERE.get(part.kind, frozenset())
    ways = [(finder, when) for finder, when, _ in facts.found]
    finder, when = rng.choices(ways, [weight for _, _, weight in facts.found])[0]
    if part.priority is ChromiumPriority.VERY_LOW and part.kind is Kind.SCRIPT:
        finder, when, flags = "script", "complete", frozenset()
    parent = finders.draw(finder, rng)
    if parent is None:  # no such part to find it: the document does
        parent, when = 0, "complete"
    if when == "complete":
        return PartDiscovery(
            parent, when, delay_ms=round(from_quantiles(facts.delay_ms, _DELAY_POINTS, rng)), flags=flags
        )
    low, high = (_HEAD[0], _LATE[1]) if part.kind is Kind.SCRIPT else _BODY
    at_share = low + from_quantiles(facts.at_pct, POINTS, rng) / 100 * (high - low)
    if part.kind is Kind.SCRIPT and rng.getrandbits(1):
        flags = frozenset({Flag.DEFER})
    return PartDiscovery(parent, when, at_share, flags=flags)


def with_visible_images(parts: Sequence[PagePart], found: Sequence[PartDiscovery]) -> list[PartDiscovery]:
    """The same, with the images of the first screen before the others in the markup, and one of them as the hero."""
    changed = list(found)
    in_markup = [index for index, item in enumerate(found) if item.when == "bytes" and item.parent == 0]
    images = [index for index in in_markup if parts[index].kind is Kind.IMAGE]
    at_shares = sorted(found[index].at_share for index in images)
    first_seen = sorted(images, key=lambda index: (Flag.ABOVE_FOLD not in found[index].flags, index))
    for index, at_share in zip(first_seen, at_shares, strict=True):
        changed[index] = replace(found[index], at_share=at_share)
    visible = [index for index in images if Flag.ABOVE_FOLD in found[index].flags]
    if visible:
        hero = max(visible, key=lambda index: (parts[index].body_bytes, -index))
        changed[hero] = replace(changed[hero], flags=changed[hero].flags | {Flag.HERO})
    return changed


def with_visible_files(parts: Sequence[PagePart], found: Sequence[PartDiscovery], rank: float) -> list[PagePart]:
    """The parts with images that changed files, so that what is to be seen can be.

    The hero gets the file of that rank by size, 0 the longest, 1 the shortest that could be one. Images that Chromium
    hurries are no dots, as it hurries none that are small on the screen.
    """
    changed = list(parts)
    images = [index for index, part in enumerate(parts) if part.kind is Kind.IMAGE]
    images.sort(key=lambda index: (-parts[index].body_bytes, index))
    for hero in images:
        if Flag.HERO in found[hero].flags:
            large = [index for index in images if parts[index].body_bytes >= _HERO_BYTES] or images[:1]
            _swap_files(changed, hero, large[min(int(rank * len(large)), len(large) - 1)])
    for dot in images:
        if changed[dot].priority is ChromiumPriority.MEDIUM and changed[dot].body_bytes < _DOT_BYTES:
            unseen = [index for index in images if changed[index].priority is ChromiumPriority.LOW]
            long_enough = [index for index in unseen if changed[index].body_bytes >= _DOT_BYTES]
            if long_enough:
                _swap_files(changed, dot, min(long_enough, key=lambda index: (changed[index].body_bytes, index)))
    return changed


def _swap_files(parts: list[PagePart], one: int, other: int) -> None:
    first, second = parts[one], parts[other]
    parts[one] = replace(first, mime=second.mime, body_bytes=second.body_bytes)
    parts[other] = replace(second, mime=first.mime, body_bytes=first.body_bytes)


def with_room_for_markup(parts: Sequence[PagePart], found: Sequence[PartDiscovery]) -> list[PartDiscovery]:
    """The same, with references of one document as far apart as markup takes, or as its length allows."""
    changed = list(found)
    referring: dict[int, list[int]] = {}
    for index, item in enumerate(found):
        if item.when == "bytes" and item.parent is not None:
            referring.setdefault(item.parent, []).append(index)
    for parent, indices in referring.items():
        gap = min(_MARKUP_BYTES / parts[parent].body_bytes, 1 / (len(indices) + 1))
        indices.sort(key=lambda index: (found[index].at_share, index))
        reached = 0.0
        for number, index in enumerate(indices, start=1):
            latest = 1 - (len(indices) - number) * gap
            reached = min(max(found[index].at_share, reached + gap), latest)
            changed[index] = replace(found[index], at_share=reached)
    return changed
