"""An estimate of First and Largest Contentful Paint from the page model, for loads that no browser has rendered.

Not a metric of a browser's run, so no METRIC. Good for comparing orders of bytes on one page, not for comparing with what
Lighthouse measures. It leaves out: the time to parse, run scripts, lay out and paint; text that waits for its font; that a
parser stops at a script in the body and what stands above it can be painted; what a script draws; and which element really
is the largest (the page's flags say so).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from mixedsched.page import Page, Resource
from mixedsched.request import ChromiumPriority, Flag, Kind


@dataclass(frozen=True, slots=True)
class PaintEstimate:
    """When something, and when the main thing, could be seen at the earliest. In ms since navigation."""

    fcp_ms: float
    lcp_ms: float


@dataclass(frozen=True, slots=True)
class PaintNeeds:
    """What the paints of a page wait for, as resource ids in the page's order; made once for many loads.

    main: the document of which a byte must be there. blocking: must be complete before anything is painted. largest: must
    be complete for the largest paint; may be empty.
    """

    main: str
    blocking: tuple[str, ...]
    largest: tuple[str, ...]

    @classmethod
    def of(cls, page: Page) -> Self:
        """Read them off the page.

        blocking: style sheets and scripts in the head or critical, neither async nor deferred, that the main document or
        one of its style sheets (or one that these import) makes known. What a script inserts blocks nothing, nor do style
        sheets of other media, which Chromium asks for as VeryLow.
        largest: the resources flagged hero; without any, the images flagged above_fold.
        """
        main = page.main
        heroes = tuple(item.id for item in page.resources if Flag.HERO in item.flags)
        images = (item for item in page.resources if item.kind is Kind.IMAGE and Flag.ABOVE_FOLD in item.flags)
        blocking = tuple(item.id for item in _of_document(page) if _blocks(item))
        return cls(main.id, blocking, heroes or tuple(item.id for item in images))

    def estimate(self, first_byte_ms: Mapping[str, float], complete_ms: Mapping[str, float]) -> PaintEstimate:
        """The paints of a load with these times by resource id.

        FCP: the main document's first byte is there and all of the blocking set. LCP: that, and all of the largest set.
        """
        fcp_ms = max(first_byte_ms[self.main], *(complete_ms[name] for name in self.blocking), 0.0)
        return PaintEstimate(fcp_ms, max(fcp_ms, *(complete_ms[name] for name in self.largest), 0.0))


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
