"""The parts of a page: for each resource kind, content type, size and priority; not yet who finds it."""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.sites.generate._distributions import (
    Distributions,
    KindFacts,
    SizeClass,
    apportioned,
    by_shares,
    distributions,
    from_quantiles,
    size_from_quantiles,
)


@dataclass(frozen=True, slots=True)
class KindTotal:
    """How many resources of a kind there are, and how many bytes they have together."""

    resources: int
    body_bytes: int

    def __post_init__(self) -> None:
        if self.resources < 0 or self.body_bytes < self.resources or (self.body_bytes and not self.resources):
            raise ValueError(f"{self.resources} resources cannot have {self.body_bytes} bytes: each has at least one")


@dataclass(frozen=True, slots=True)
class Totals:
    """The resources that a page is to have, to the byte. A kind that is missing does not occur."""

    kinds: Mapping[Kind, KindTotal]  # the documents include the main one
    main_bytes: int | None = None  # of the main document; None to have it drawn
    hosts: int | None = None  # how many there may be; None to have that drawn

    def __post_init__(self) -> None:
        documents = self.kinds.get(Kind.DOCUMENT)
        if documents is None or not documents.resources:
            raise ValueError("a page has at least one document")
        rest_bytes = documents.body_bytes - (self.main_bytes or 0)
        if self.main_bytes is not None and (
            self.main_bytes < 1 or rest_bytes < documents.resources - 1 or (documents.resources == 1 and rest_bytes)
        ):
            raise ValueError(
                f"a main document of {self.main_bytes} bytes does not go with {documents.resources} documents of "
                f"{documents.body_bytes} bytes"
            )
        if self.hosts is not None and self.hosts < 1:
            raise ValueError(f"a page cannot have {self.hosts} hosts")


POINTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # where the quantiles of the tables stand
MAIN_MIME = "text/html"
_MIXING = 0.25  # how much the mix of kinds varies from page to page, as standard deviation of its logarithm
_HURRIED_IMAGES = 5
_OTHERS = {ChromiumPriority.HIGH: "image/x-icon", ChromiumPriority.MEDIUM: "application/manifest+json"}
_MARKUP_BYTES = 100  # of a reference in a document


@dataclass(frozen=True, slots=True)
class PagePart:
    """A resource before its place in the page is known."""

    kind: Kind
    mime: str
    body_bytes: int
    priority: ChromiumPriority


def draw_parts(
    facts: Distributions, size_class: SizeClass, totals: Totals | None, rng: random.Random
) -> list[PagePart]:
    """All parts of a page, the main document first, the rest kind by kind.

    With totals, number and bytes of each kind are exactly those. Raises ValueError if they leave less than a byte for a body.
    """
    counts = (
        _drawn_counts(size_class, rng)
        if totals is None
        else {kind: item.resources for kind, item in totals.kinds.items()}
    )
    parts = {kind: _drawn_parts(kind, counts.get(kind, 0), facts, size_class, rng) for kind in Kind}
    _let_medium_be(parts)
    main_bytes = round(size_from_quantiles(size_class.main_bytes, POINTS, rng))
    main_bytes = max(main_bytes, _MARKUP_BYTES * sum(counts.values()))
    parts[Kind.DOCUMENT][0] = PagePart(Kind.DOCUMENT, MAIN_MIME, main_bytes, ChromiumPriority.VERY_HIGH)
    if totals is None:
        page_bytes = round(size_from_quantiles(size_class.body_bytes, POINTS, rng))
        return _scaled([part for group in parts.values() for part in group], page_bytes)
    return [part for kind, group in parts.items() for part in _to_totals(kind, group, totals)]


def _let_medium_be(parts: dict[Kind, list[PagePart]]) -> None:
    """Give a page with priorities Medium a blocking script, as they are those of what is found while a script blocks.

    A page without scripts gets High in their place.
    """
    scripts, images = parts[Kind.SCRIPT], parts[Kind.IMAGE]
    waiting = [part for part in (*scripts, *images) if part.priority is ChromiumPriority.MEDIUM]
    if not waiting or any(part.priority is ChromiumPriority.HIGH for part in scripts):
        return
    if scripts:
        ranks = [part.priority.rank for part in scripts]
        blocking = ranks.index(min(ranks))
        scripts[blocking] = replace(scripts[blocking], priority=ChromiumPriority.HIGH)
    else:
        images[:] = [replace(part, priority=ChromiumPriority.HIGH) if part in waiting else part for part in images]


def _drawn_counts(size_class: SizeClass, rng: random.Random) -> dict[Kind, int]:
    count = round(from_quantiles(size_class.resources, POINTS, rng)) - 1  # without the main document
    shares = [(kind, item.share_pct * rng.lognormvariate(0, _MIXING)) for kind, item in size_class.kinds.items()]
    drawn = Counter(by_shares(shares, count, rng))
    drawn[Kind.DOCUMENT] += 1
    return dict(drawn)


def _drawn_parts(
    kind: Kind, count: int, facts: Distributions, size_class: SizeClass, rng: random.Random
) -> list[PagePart]:
    """Draw the parts of one kind. Sizes of kinds that the class lacks are those of the content types."""
    of_kind, in_class = facts.kinds[kind], size_class.kinds.get(kind)
    priorities = by_shares(of_kind.signals, count, rng) if count else []
    if kind is Kind.IMAGE:
        priorities = _few_hurried(priorities)
    parts = []
    for priority in priorities:
        body_bytes = round(size_from_quantiles(in_class.body_bytes, POINTS, rng)) if in_class else of_kind.mimes[0][2]
        parts.append(PagePart(kind, _mime(kind, priority, of_kind, body_bytes, rng), max(1, body_bytes), priority))
    return parts


def _few_hurried(priorities: Sequence[ChromiumPriority]) -> list[ChromiumPriority]:
    """Chromium hurries the first five images of a document, with Medium; the others it raises when it sees them, to High."""
    hurried, drawn = 0, []
    for priority in priorities:
        hurried += priority is ChromiumPriority.MEDIUM
        is_late = priority is ChromiumPriority.MEDIUM and hurried > _HURRIED_IMAGES
        drawn.append(ChromiumPriority.HIGH if is_late else priority)
    return drawn


def _mime(kind: Kind, priority: ChromiumPriority, facts: KindFacts, body_bytes: int, rng: random.Random) -> str:
    """A content type, the more likely the nearer its median size. For kind `other` the priority tells which it is."""
    if kind is Kind.OTHER:
        return _OTHERS.get(priority, "text/plain")
    weights = [weight * math.exp(-abs(math.log(body_bytes / median_bytes))) for _, weight, median_bytes in facts.mimes]
    return rng.choices([mime for mime, _, _ in facts.mimes], weights)[0]


def _scaled(parts: Sequence[PagePart], page_bytes: int) -> list[PagePart]:
    """The parts with sizes that sum up to page_bytes, the main document's as it is unless it takes more than half of them."""
    main, rest = parts[0], parts[1:]
    main_bytes = min(main.body_bytes, max(1, page_bytes // 2)) if rest else page_bytes
    return [*_resized([main], main_bytes), *_resized(rest, page_bytes - main_bytes)]


def _to_totals(kind: Kind, parts: Sequence[PagePart], totals: Totals) -> list[PagePart]:
    total = totals.kinds.get(kind)
    if total is None or not parts:
        return []
    if kind is not Kind.DOCUMENT:
        return _resized(parts, total.body_bytes)
    main, frames = parts[0], parts[1:]
    if totals.main_bytes is not None:
        return [*_resized([main], totals.main_bytes), *_resized(frames, total.body_bytes - totals.main_bytes)]
    return _resized(parts, total.body_bytes)


def _resized(parts: Sequence[PagePart], total_bytes: int) -> list[PagePart]:
    facts = distributions()
    least = [facts.least_bytes_by_mime.get(part.mime, facts.kinds[part.kind].least_bytes) for part in parts]
    sizes = apportioned([part.body_bytes for part in parts], total_bytes, least)
    return [PagePart(part.kind, part.mime, size, part.priority) for part, size in zip(parts, sizes, strict=True)]
