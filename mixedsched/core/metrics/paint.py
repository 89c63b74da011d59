"""An estimate of First and Largest Contentful Paint and Speed Index from the page model, for loads that no browser rendered.

It is good for comparing orders of bytes on one page, not for comparing with Lighthouse's values. A browser model gives the time
that the browser needs to process a resource; without one it needs none. Left out are: layout; text that waits for its font;
that a parser stops at a script in the body and the content above it can be painted; what a script draws; and which element
really is the largest (the page's flags say so).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import ChromiumPriority, Flag, Kind

# The share of a first screen with images that is there at the first paint, and how much more of it a hero takes than its bytes
# suggest. The best of 48 combinations on 112 loads of six sites at slow-4g: computed from measured FCP and image times, it is
# 15 % off Lighthouse's Speed Index on average, 46 % on the worst site. Chosen on these loads, so expect more elsewhere.
FIRST_PAINT_SHARE = 0.35
HERO_FACTOR = 2.0

_WORD_BY_KIND = {
    Kind.DOCUMENT: "document_ms_per_kb",
    Kind.STYLESHEET: "style_ms_per_kb",
    Kind.SCRIPT: "script_ms_per_kb",
    Kind.IMAGE: "decode_ms_per_kb",
}


def work_ms(item: Resource, model: BrowserModel) -> float:
    """How long the browser processes a resource before it can use it: by its length, and a script as long as it says."""
    return item.work_ms + work_of_ms(item.kind, item.body_bytes, model)


def work_of_ms(kind: Kind, body_bytes: int, model: BrowserModel) -> float:
    """The same by its length alone."""
    word = _WORD_BY_KIND.get(kind)
    return 0.0 if word is None else float(getattr(model, word)) * body_bytes / 1000


@dataclass(frozen=True, slots=True)
class PaintEstimate:
    """The earliest times at which the first and the main content can be seen, and the Speed Index, in ms since navigation."""

    fcp_ms: float
    lcp_ms: float
    si_ms: float

    @classmethod
    def median_of(cls, paints: Sequence[PaintEstimate]) -> Self:
        """The median of several loads, for each paint separately."""
        return cls(
            statistics.median(item.fcp_ms for item in paints),
            statistics.median(item.lcp_ms for item in paints),
            statistics.median(item.si_ms for item in paints),
        )

    @classmethod
    def earliest_of(cls, paints: Sequence[PaintEstimate]) -> Self:
        """The earliest of several loads, for each paint separately."""
        return cls(
            min(item.fcp_ms for item in paints), min(item.lcp_ms for item in paints), min(item.si_ms for item in paints)
        )

    def to_dict(self) -> dict[str, float]:
        return {"fcp_ms": self.fcp_ms, "lcp_ms": self.lcp_ms, "si_ms": self.si_ms}


@dataclass(frozen=True, slots=True)
class PaintNeeds:
    """The resources that the paints of a page wait for, as ids in the page's order; made once for many loads."""

    main: str
    """The document, of which the first byte must be there."""
    blocking: tuple[str, ...]
    """Must be complete before anything is painted."""
    largest: tuple[str, ...]
    """Must be complete for the largest paint; may be empty."""
    resources: Mapping[str, Resource]
    """All of the page, by id, in its order."""
    areas: Mapping[str, float]
    """Shares of the first screen that its images take, by id; their sum is 1, or there are none."""

    @classmethod
    def of(cls, page: Page) -> Self:
        """The needs of a page.

        blocking: style sheets and scripts in the head or critical, neither async nor deferred, that the main document or
        one of its style sheets (or one that these import) makes known. What a script inserts blocks nothing, nor do style
        sheets of other media, which Chromium asks for as VeryLow.
        largest: the resources flagged hero; without any, the images flagged above_fold.
        """
        main = page.main
        heroes = tuple(item.id for item in page.resources if Flag.HERO in item.flags)
        images = (item for item in page.resources if item.kind is Kind.IMAGE and Flag.ABOVE_FOLD in item.flags)
        blocking = tuple(item.id for item in _of_document(page) if _blocks(item))
        largest = heroes or tuple(item.id for item in images)
        return cls(main.id, blocking, largest, page.by_id(), _areas(page))

    def awaited(self, hero_needs: Sequence[str] = ()) -> frozenset[str]:
        """Ids of all resources whose times `estimate` needs."""
        return frozenset((self.main, *self.blocking, *self.largest, *self.areas, *hero_needs))

    def estimate(
        self,
        first_byte_ms: Mapping[str, float],
        complete_ms: Mapping[str, float],
        model: BrowserModel = IDEAL,
        hero_needs: Sequence[str] = (),
    ) -> PaintEstimate:
        """The paints of a load with these times by resource id. Later times never give earlier paints.

        hero_needs: ids of what must be there before the browser knows of the largest, or can draw it. FCP: the main
        document's first byte is there and all of the blocking set; the main thread works on them one after the other, in the
        page's order. LCP: that, and all of the largest set, decoded. Speed Index: the area above the curve of what can be seen.
        FIRST_PAINT_SHARE is there at FCP, images of the first screen add the rest in proportion to the square roots of their
        bytes. All of it is there at FCP where there are no images.
        """
        fcp_ms = self._worked_on_ms(self.blocking, first_byte_ms, complete_ms, model) + model.paint_ms

        def drawn_ms(name: str) -> float:
            return max(fcp_ms, complete_ms[name] + work_ms(self.resources[name], model) + model.paint_ms)

        needed = {*self.blocking, *hero_needs}
        in_order = [name for name in self.resources if name in needed] if hero_needs else self.blocking
        needed_ms = self._worked_on_ms(in_order, first_byte_ms, complete_ms, model) + model.paint_ms
        lcp_ms = max(fcp_ms, needed_ms, *(drawn_ms(name) for name in self.largest), 0.0)
        si_ms = fcp_ms
        if self.areas:
            images_ms = sum(share * drawn_ms(name) for name, share in self.areas.items())
            si_ms = FIRST_PAINT_SHARE * fcp_ms + (1 - FIRST_PAINT_SHARE) * images_ms
        return PaintEstimate(fcp_ms, lcp_ms, si_ms)

    def _worked_on_ms(
        self,
        names: Sequence[str],
        first_byte_ms: Mapping[str, float],
        complete_ms: Mapping[str, float],
        model: BrowserModel,
    ) -> float:
        """When the main thread has processed the main document and these, one after the other."""
        time_ms = first_byte_ms[self.main] + work_ms(self.resources[self.main], model)
        for name in names:
            time_ms = max(time_ms, complete_ms[name]) + work_ms(self.resources[name], model)
        return time_ms


def _areas(page: Page) -> dict[str, float]:
    """The share of the first screen that each of its images takes, guessed from its bytes."""
    areas = {
        item.id: math.sqrt(item.body_bytes) * (HERO_FACTOR if Flag.HERO in item.flags else 1.0)
        for item in page.resources
        if item.kind is Kind.IMAGE and item.flags & {Flag.HERO, Flag.ABOVE_FOLD}
    }
    total = sum(areas.values())
    return {name: area / total for name, area in areas.items()} if total else {}


def _blocks(item: Resource) -> bool:
    if item.kind not in {Kind.STYLESHEET, Kind.SCRIPT} or item.flags & {Flag.ASYNC, Flag.DEFER}:
        return False
    if item.kind is Kind.STYLESHEET and item.chromium_priority is ChromiumPriority.VERY_LOW:
        return False
    return bool(item.flags & {Flag.IN_HEAD, Flag.CRITICAL})


def _of_document(page: Page) -> list[Resource]:
    """What the main document finds, directly or by a chain of style sheets. Parents may be listed behind their children."""
    by_id = page.by_id()
    finds_for_document = {page.main.id: True}  # by id: whether what it finds counts
    found: list[Resource] = []
    for item in page.resources:
        chain: list[str] = []
        parent = item.found_by
        while parent is not None and parent not in finds_for_document and by_id[parent].kind is Kind.STYLESHEET:
            chain.append(parent)
            parent = by_id[parent].found_by
        counts = parent is not None and finds_for_document.get(parent, False)
        finds_for_document.update(dict.fromkeys(chain, counts))
        if counts:
            found.append(item)
    return found
