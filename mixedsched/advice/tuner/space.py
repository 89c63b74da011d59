"""The candidates that a search may try: schemes with their parameters, a table of used cells, overrides of few resources.

A candidate in the space is a Genome, a few small numbers; `canonical` says which of them are the same in effect.
"""

import glob
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from mixedsched.advice.tuner.candidate import AS_SENT, PLAIN, SIGNALLED, Candidate, cell_of
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import UsageError
from mixedsched.lab.play import task
from mixedsched.model.mapping import Cell, Override
from mixedsched.model.page import Page, Resource
from mixedsched.model.priority import URGENCY_MAX, Priority
from mixedsched.model.request import Flag, Kind
from mixedsched.model.scheme import Parameter, configure
from mixedsched.world import catalog

# Single resources that may be placed apart


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
        if sum(cell_of(other) == cell_of(item) for page in pages for other in page.resources) > len(covered):
            found.append(Target(match, cell_of(item), tuple(dict.fromkeys(other.id for _, other in covered)), why))
    return tuple(found[:MAX_TARGETS])


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


# All candidates


DEFAULT_SCHEMES = ("eps", "mixed", "nip", "ip", "batched-rr", "firefox-tree", "firefox")

OFF = -1  # no override
CODES = 2 * (URGENCY_MAX + 1)  # of priorities: twice the urgency, one more for incremental ones
LINEAR_STEPS = 10  # between the bounds of a parameter without a natural unit
PER_DECADE = (1, 2, 3, 5)  # of one that counts something


class Genome(NamedTuple):
    """A candidate in numbers. Cells and targets are empty where the family has no table."""

    family: int
    values: tuple[int, ...] = ()  # place of each parameter's value among its steps
    cells: tuple[int, ...] = ()  # code of each cell's priority
    targets: tuple[int, ...] = ()  # code of each override's priority, or OFF


@dataclass(frozen=True, slots=True)
class Steps:
    """A parameter and the values that are tried."""

    name: str
    values: tuple[str, ...]  # in order
    usual: int  # place of its default among them


@dataclass(frozen=True, slots=True)
class Family:
    """A scheme of the space."""

    name: str
    steps: tuple[Steps, ...]
    fixed: str = ""  # parameters that are given, as written
    has_table: bool = False  # its table is searched
    published: str | None = None  # the mapping that it uses instead; None for none, or its own


@dataclass(frozen=True, slots=True)
class Unit:
    """Resources that are always placed alike: those of an override, or the rest of a cell."""

    home: int  # place of the cell
    target: int  # place of the override; OFF for the rest of the cell
    counts: tuple[int, ...]  # its resources on each page
    signal: int  # code that the browser signals
    kind: Kind  # of its resources


@dataclass(frozen=True, slots=True)
class Space:
    """All candidates of a search."""

    pages: tuple[Page, ...]
    families: tuple[Family, ...]
    cells: tuple[Cell, ...]  # used by the pages, in order of the table
    targets: tuple[Target, ...]
    units: tuple[Unit, ...]  # that cells and targets make

    @classmethod
    def of(
        cls, pages: Sequence[Page], schemes: Sequence[str] = DEFAULT_SCHEMES, *, hero_needs: Collection[str] = ()
    ) -> Self:
        """schemes: names, with parameters where these are not to be searched. hero_needs: ids, as Scenario has them.

        Raises UsageError for an unknown scheme or parameter.
        """
        used = {cell_of(item) for page in pages for item in page.resources}
        cells = tuple(cell for cell in SIGNALLED if cell in used)
        targets = targets_of(pages, hero_needs)
        families = tuple(dict.fromkeys(map(_family, schemes)))
        if all(len(page.resources) == 1 for page in pages):
            families, cells, targets = _without_order(families), (), ()
        return cls(tuple(pages), families, cells, targets, _units(pages, cells, targets))

    def size(self) -> int:
        """How many candidates there are, counting each way of writing those that are the same in effect."""
        tables = CODES ** len(self.cells) * (CODES + 1) ** len(self.targets)
        return sum(
            math.prod(len(item.values) for item in family.steps) * (tables if family.has_table else 1)
            for family in self.families
        )

    @property
    def size_in_words(self) -> str:
        """As "1234" or "about 10^40"."""
        size = self.size()
        return str(size) if size < 10**6 else f"about 10^{len(str(size)) - 1}"

    def usual(self, family: int) -> Genome:
        """A family's candidate without any departure: usual parameters, as the browser signals."""
        values = tuple(item.usual for item in self.families[family].steps)
        if not self.families[family].has_table:
            return Genome(family, values)
        return Genome(family, values, tuple(map(signal_code, self.cells)), (OFF,) * len(self.targets))

    def candidate(self, genome: Genome) -> Candidate:
        """The candidate to be played and shipped."""
        family = self.families[genome.family]
        words = [family.fixed] if family.fixed else []
        words += [
            f"{item.name}={item.values[place]}"
            for item, place in zip(family.steps, genome.values, strict=True)
            if place != item.usual
        ]
        scheme = f"{family.name}:{','.join(words)}" if words else family.name
        if not family.has_table:
            return Candidate(scheme, published=family.published)
        cells = tuple(
            (cell, priority_of(code))
            for cell, code in zip(self.cells, genome.cells, strict=True)
            if code != signal_code(cell)
        )
        overrides = tuple(
            target.override(priority_of(code))
            for target, code in zip(self.targets, genome.targets, strict=True)
            if code != OFF
        )
        return Candidate(scheme, cells, overrides)


def priority_of(code: int) -> Priority:
    return _PRIORITIES[code]


_PRIORITIES = tuple(Priority(code // 2, bool(code % 2)) for code in range(CODES))


def signal_code(cell: Cell) -> int:
    """Code of the browser's signal for a cell."""
    return 2 * SIGNALLED[cell].urgency + SIGNALLED[cell].incremental


def _without_order(families: Sequence[Family]) -> tuple[Family, ...]:
    """For pages of one response, which all schemes deliver alike: the plainest family, without choices."""
    plainest = min(families, key=lambda item: item.name != PLAIN)
    return (Family(plainest.name, (), plainest.fixed, published=AS_SENT if plainest.has_table else None),)


def read_schemes(text: str | None) -> tuple[str, ...]:
    """The value of an option: None for the usual ones, "all" for every one that there is. Raises UsageError."""
    if text is None:
        return DEFAULT_SCHEMES
    return tuple(dict.fromkeys(scheme.spec for scheme in task.read_schemes(text)))


def _family(spec: str) -> Family:
    configured = configure(spec, SCHEMES, catalog.load_mapping)
    words = [word for word in spec.replace(":", ",").split(",")[1:] if word]
    scheme, given = configured.scheme, {word.partition("=")[0] for word in words}
    has_table = scheme.default_mapping is not None
    if has_table and any(item.switch and item.name in given for item in scheme.parameters):
        raise UsageError(f"{spec}: the table is searched, so it has no switches", fix="leave them out")
    searched = [item for item in scheme.parameters if item.name not in given and not item.switch]
    return Family(scheme.name, tuple(map(steps_of, searched)), ",".join(words), has_table)


def steps_of(parameter: Parameter) -> Steps:
    """The values of a parameter that are worth trying, its default included: its words, evenly spread numbers or, where it
    counts something, ever larger ones."""
    if parameter.choices:
        return Steps(parameter.name, parameter.choices, parameter.choices.index(str(parameter.default)))
    low, high, default = parameter.low, parameter.high, float(parameter.default)
    if parameter.whole:
        decades = (float(step * 10**power) for power in range(len(str(int(high)))) for step in PER_DECADE)
        numbers = {low, default, *(number for number in decades if low <= number <= high)}
        if high < 1000:
            numbers.add(high)
    else:
        numbers = {default, *(low + (high - low) * step / LINEAR_STEPS for step in range(LINEAR_STEPS + 1))}
    values = sorted(numbers)
    return Steps(parameter.name, tuple(f"{value:g}" for value in values), values.index(default))


def _units(pages: Sequence[Page], cells: Sequence[Cell], targets: Sequence[Target]) -> tuple[Unit, ...]:
    """The rests of cells that have any, then the targets."""
    places = {cell: place for place, cell in enumerate(cells)}
    patterns = [target.override(Priority()) for target in targets]
    rests = [[0] * len(pages) for _ in cells]
    singles = [[0] * len(pages) for _ in targets]
    for number, page in enumerate(pages):
        for item in page.resources:
            place = places.get(cell_of(item))
            if place is None:
                continue
            target = next((index for index, pattern in enumerate(patterns) if pattern.fits(item.path)), OFF)
            (rests[place] if target == OFF else singles[target])[number] += 1
    found = [(place, OFF, counts) for place, counts in enumerate(rests) if any(counts)]
    found += [
        (places[item.home], number, counts) for number, (item, counts) in enumerate(zip(targets, singles, strict=True))
    ]
    return tuple(
        Unit(home, target, tuple(counts), signal_code(cells[home]), cells[home][1]) for home, target, counts in found
    )
