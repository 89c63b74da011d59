"""Which single resources a search may place apart from their cell: the few that matter, by rules with reasons."""

import glob
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from mixedsched.model.mapping import Cell, Override
from mixedsched.model.page import Page, Resource
from mixedsched.model.priority import Priority
from mixedsched.model.request import Flag, Kind

MAX_TARGETS = 6
MAX_OF_A_RULE = 2
LARGE_BYTES = 20_000  # some fifteen packets: what can stand in the way of others
LARGE_SHARE = 0.03  # of the page


@dataclass(frozen=True, slots=True)
class Target:
    """A resource that may be placed apart."""

    match: str  # pattern of its path, as Override has it
    home: Cell  # the cell it would belong to
    covers: tuple[str, ...]  # ids of the resources that the pattern fits
    why: str

    def override(self, priority: Priority) -> Override:
        return Override(self.match, priority, self.why)


def targets_of(pages: Sequence[Page], hero_needs: Collection[str] = ()) -> tuple[Target, ...]:
    """At most MAX_TARGETS, the most promising first: those that share their cell with others on some page.

    hero_needs: ids of resources that must be there before the hero can be drawn. Heroes and these come first, then fonts that
    are found late, scripts that nothing waits for, and images outside the first screen.
    """
    found: list[Target] = []
    for item, why in _candidates(pages, hero_needs):
        match = glob.escape(item.path)
        fits = Override(match, Priority()).fits
        covered = [(place, other) for place, page in enumerate(pages) for other in page.resources if fits(other.path)]
        cells = {cell_of(other): None for _, other in covered}
        taken = any(target.override(Priority()).fits(other.path) for target in found for _, other in covered)
        if taken or len(cells) > 1 or any(other is page.main for page in pages for _, other in covered):
            continue
        if _has_company(pages, cell_of(item), len(covered)):
            found.append(Target(match, cell_of(item), tuple(dict.fromkeys(other.id for _, other in covered)), why))
    return tuple(found[:MAX_TARGETS])


def cell_of(item: Resource) -> Cell:
    """The mapping's cell that counts for it."""
    return (item.chromium_priority, item.kind)


def _has_company(pages: Sequence[Page], cell: Cell, covered: int) -> bool:
    return sum(cell_of(other) == cell for page in pages for other in page.resources) > covered


def _candidates(pages: Sequence[Page], hero_needs: Collection[str]) -> Iterable[tuple[Resource, str]]:
    def needed(page: Page) -> Iterable[tuple[Resource, str]]:
        return ((item, "the hero is not drawn without it") for item in page.resources if item.id in hero_needs)

    for rule in (_heroes, needed, _late_fonts, _idle_scripts, _distant_images):
        by_path: dict[str, tuple[Resource, str]] = {}
        for page in pages:
            for item, why in rule(page):
                by_path.setdefault(item.path, (item, why))
        of_rule = sorted(by_path.values(), key=lambda pair: -pair[0].body_bytes)  # stable: page order among equals
        yield from of_rule[:MAX_OF_A_RULE]


def _heroes(page: Page) -> Iterable[tuple[Resource, str]]:
    return ((item, "the largest paint waits for it") for item in page.resources if Flag.HERO in item.flags)


def _late_fonts(page: Page) -> Iterable[tuple[Resource, str]]:
    for item in page.resources:
        if item.kind is Kind.FONT and item.found_by is not None and item.found_by != page.main.id:
            yield item, "a font that is found late, and text waits for it"


def _idle_scripts(page: Page) -> Iterable[tuple[Resource, str]]:
    for item in page.resources:
        if item.kind is Kind.SCRIPT and item.flags & {Flag.ASYNC, Flag.DEFER} and _is_large(page, item):
            yield item, "a large script that no paint waits for"


def _distant_images(page: Page) -> Iterable[tuple[Resource, str]]:
    for item in page.resources:
        if item.kind is Kind.IMAGE and not item.flags & {Flag.HERO, Flag.ABOVE_FOLD} and _is_large(page, item):
            yield item, "a large image that is not on the first screen"


def _is_large(page: Page, item: Resource) -> bool:
    total_bytes = sum(other.body_bytes for other in page.resources)
    return item.body_bytes >= max(LARGE_BYTES, LARGE_SHARE * total_bytes)
