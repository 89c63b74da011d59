"""One way of delivering a page that a search may try: a scheme, and where it departs from what the browser signals.

Departures from plain EPS with the browser's signals are counted, as their cost in a search, and told in words.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.mapping import Cell, Override, PriorityMapping
from mixedsched.model.page import Page, Resource, derive_incremental
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.model.scheme import SERVERS, ConfiguredScheme, MappingLoader, configure

MAPPING_NAME = "tuned"

PENALTY = 0.002  # for each departure: what a fifth of a per cent in the logarithm of a paint is worth
PLAIN = "eps"  # the scheme of most servers that follow priorities at all
AS_SENT = "chromium"  # the mapping that changes nothing
COST_OF_A_SCHEME = 2  # departures that another scheme counts for: it takes another server
COST_OF_LATE_FONTS = 4  # more, where fonts come later: no estimate sees what text waits for
TEXT = frozenset({Kind.DOCUMENT, Kind.FONT})

SIGNALLED: Mapping[Cell, Priority] = {
    (priority, kind): Priority(priority.rank, derive_incremental(kind))
    for priority in ChromiumPriority
    for kind in Kind
}
"""Chromium's signal for requests by priority and kind: urgency = rank, `i` for kinds that are useful in parts."""


def cell_of(item: Resource) -> Cell:
    """The mapping's cell that counts for it."""
    return (item.chromium_priority, item.kind)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scheme with its departures from the browser's signals. Cells and overrides are for schemes that use a mapping."""

    scheme: str  # name and parameters, as `scheme.configure` reads them
    cells: tuple[tuple[Cell, Priority], ...] = ()  # only those that differ from SIGNALLED, in order of the table
    overrides: tuple[Override, ...] = ()  # by path pattern, the first that fits counts
    published: str | None = None  # name of a mapping to take as it is instead of cells and overrides

    @property
    def uses_mapping(self) -> bool:
        """Whether its scheme looks at a mapping at all."""
        return SCHEMES[self.scheme.partition(":")[0]].default_mapping is not None

    @property
    def code(self) -> str:
        """Names the candidate: equal for equal ones. For logs, storage and as a key."""
        words = [self.scheme]
        words += [f"@{self.published}"] if self.published is not None else []
        words += [f"{priority}.{kind}={value}" for (priority, kind), value in self.cells]
        words += [f"{item.match}={item.priority}" for item in self.overrides]
        return " ".join(words).replace(", ", ",")

    def mapping(self) -> PriorityMapping | None:
        """Its own table; None where the scheme uses none, or has a published one."""
        if not self.uses_mapping or self.published is not None:
            return None
        return PriorityMapping(
            name=MAPPING_NAME,
            description="Found by search.",
            source="mixedsched tune",
            cells=MappingProxyType({**SIGNALLED, **dict(self.cells)}),
            overrides=self.overrides,
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON. mapping: name of a published table, "tuned" for its own, None where its scheme has none."""
        own = self.mapping()
        return {
            "scheme": self.scheme,
            "mapping": self.published or (own.name if own is not None else None),
            "cells": {f"{priority.value}.{kind.value}": str(value) for (priority, kind), value in self.cells},
            "overrides": [
                {"match": item.match, "priority": str(item.priority), "why": item.why} for item in self.overrides
            ],
        }

    def configured(self, load_mapping: MappingLoader) -> ConfiguredScheme:
        """Ready to be played or served. Raises UsageError for an unknown scheme or parameter."""
        own = self.mapping()
        if own is None:
            return configure(self.scheme, SCHEMES, load_mapping, self.published)
        return configure(self.scheme, SCHEMES, lambda _name, _switches: own, MAPPING_NAME)


# The cost of departures


def departures(candidate: Candidate, pages: Iterable[Page]) -> int:
    """How many things differ from plain EPS: another scheme (as COST_OF_A_SCHEME), parameters, cells that the pages use,
    overrides. Text that comes later costs `lateness` more, once."""
    name, _, parameters = candidate.scheme.partition(":")
    pages = tuple(pages)
    used = {cell_of(item): None for page in pages for item in page.resources}
    changed = [(cell, priority) for cell, priority in candidate.cells if cell in used]
    placed = [
        *changed,
        *(
            (cell_of(other), item.priority)
            for item in candidate.overrides
            for page in pages
            for other in page.resources
            if item.fits(other.path)
        ),
    ]
    count = len(changed) + len([word for word in parameters.split(",") if word]) + len(candidate.overrides)
    late = (lateness(cell[1], SIGNALLED[cell].urgency, priority.urgency) for cell, priority in placed)
    count += max(late, default=0)
    is_plain = _is_given(name) and candidate.published in {None, AS_SENT}
    return count if is_plain else count + COST_OF_A_SCHEME


def _is_given(scheme: str) -> bool:
    """Whether it is no choice: plain EPS, or the model of the server that one has."""
    return scheme == PLAIN or SCHEMES[scheme].group == SERVERS


def lateness(kind: Kind, signalled: int, urgency: int) -> int:
    """The cost, in departures, of text that comes later.

    For a document, of which the beginning matters most, one for each step of urgency, so that it stays in front of whatever it
    need not wait for; for fonts, without which there is no text, more.
    """
    if kind not in TEXT or urgency <= signalled:
        return 0
    return COST_OF_LATE_FONTS if kind is Kind.FONT else urgency - signalled


# Departures in words

_KINDS = {
    Kind.DOCUMENT: "documents",
    Kind.STYLESHEET: "style sheets",
    Kind.FONT: "fonts",
    Kind.SCRIPT: "scripts",
    Kind.IMAGE: "images",
    Kind.MEDIA: "audio and video",
    Kind.XHR: "fetches",
    Kind.OTHER: "other requests",
}


@dataclass(frozen=True, slots=True)
class Deviation:
    """One departure in words."""

    what: str  # as "images of priority High", or a path pattern
    browser: str
    tuned: str
    covers: tuple[str, ...]  # ids of resources
    why: str  # in a few words


def deviations(candidate: Candidate, page: Page) -> tuple[Deviation, ...]:
    """All departures, for one page; cells that it does not use are left out."""
    found = _of_scheme(candidate)
    blocking = frozenset(PaintNeeds.of(page).blocking)
    left = list(page.resources)
    of_overrides = []
    for item in candidate.overrides:
        covered = [other for other in left if item.fits(other.path)]
        left = [other for other in left if not item.fits(other.path)]
        if covered:
            signal = SIGNALLED[cell_of(covered[0])]
            why = "; ".join(filter(None, (item.why, _direction(signal, item.priority))))
            of_overrides.append(Deviation(item.match, str(signal), str(item.priority), _ids(covered), why))
    for cell, priority in candidate.cells:
        covered = [other for other in left if cell_of(other) == cell]
        if covered:
            why = f"{_role(page, covered, blocking)}{_direction(SIGNALLED[cell], priority)}"
            what = f"{_KINDS[cell[1]]} of priority {cell[0].value}"
            found.append(Deviation(what, str(SIGNALLED[cell]), str(priority), _ids(covered), why))
    return (*found, *of_overrides)


def _of_scheme(candidate: Candidate) -> list[Deviation]:
    name, _, parameters = candidate.scheme.partition(":")
    found = []
    if not _is_given(name):
        found.append(Deviation("delivery scheme", PLAIN, name, (), SCHEMES[name].description))
    if candidate.published not in {None, AS_SENT}:
        found.append(
            Deviation("all requests", "as signalled", f"mapping {candidate.published}", (), "a published table")
        )
    known = {item.name: item for item in SCHEMES[name].parameters}
    for word in filter(None, parameters.split(",")):
        key, _, value = word.partition("=")
        usual = known[key].default
        shown = usual if isinstance(usual, str) else f"{usual:g}"
        found.append(Deviation(f"{name}: {key}", shown, value, (), known[key].description))
    return found


def _ids(resources: Sequence[Resource]) -> tuple[str, ...]:
    return tuple(item.id for item in resources)


def _role(page: Page, covered: Sequence[Resource], blocking: frozenset[str]) -> str:
    """The role of these resources for the paints, as the beginning of a reason."""
    roles = (
        ("the page itself: ", lambda item: item is page.main),
        ("the largest paint waits for one of them: ", lambda item: Flag.HERO in item.flags),
        ("the first paint waits for them: ", lambda item: item.id in blocking),
        ("text waits for them: ", lambda item: item.kind is Kind.FONT),
        ("some are on the first screen: ", lambda item: Flag.ABOVE_FOLD in item.flags),
    )
    return next((words for words, applies in roles if any(map(applies, covered))), "no paint waits for them: ")


def _direction(signal: Priority, tuned: Priority) -> str:
    parts = []
    if tuned.urgency != signal.urgency:
        parts.append("sooner" if tuned.urgency < signal.urgency else "later")
    if tuned.incremental != signal.incremental:
        parts.append("in turns with others" if tuned.incremental else "one whole response after another")
    return ", ".join(parts)
