"""One way of delivering a page that a search may try: a scheme, and where it departs from what the browser signals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.mapping import Cell, Override, PriorityMapping
from mixedsched.model.page import derive_incremental
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.model.scheme import ConfiguredScheme, MappingLoader, configure

MAPPING_NAME = "tuned"


def signalled(cell: Cell) -> Priority:
    """What Chromium signals for requests of this priority and kind: urgency = rank, `i` for what is useful in parts."""
    priority, kind = cell
    return Priority(priority.rank, derive_incremental(kind))


SIGNALLED: Mapping[Cell, Priority] = MappingProxyType(
    {(priority, kind): signalled((priority, kind)) for priority in ChromiumPriority for kind in Kind}
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scheme with its departures from the browser's signals.

    scheme: name and parameters, as `scheme.configure` reads them. cells: only those that differ from SIGNALLED, in order of
    the table; overrides: by path pattern, the first that fits counts. Both are empty for schemes that look at no mapping.
    published: name of a mapping to take as it is instead of cells and overrides; None for the candidate's own.
    """

    scheme: str
    cells: tuple[tuple[Cell, Priority], ...] = ()
    overrides: tuple[Override, ...] = ()
    published: str | None = None

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
        """Its own table; None where the scheme looks at none, or has a published one."""
        if not self.uses_mapping or self.published is not None:
            return None
        return PriorityMapping(
            name=MAPPING_NAME,
            description="Found by search.",
            source="mixedsched tune",
            cells=MappingProxyType({**SIGNALLED, **dict(self.cells)}),
            overrides=self.overrides,
        )

    def configured(self, load_mapping: MappingLoader) -> ConfiguredScheme:
        """Ready to be played or served. Raises UsageError for a scheme or parameter that there is not."""
        own = self.mapping()
        if own is None:
            return configure(self.scheme, SCHEMES, load_mapping, self.published)
        return configure(self.scheme, SCHEMES, lambda _name, _switches: own, MAPPING_NAME)
