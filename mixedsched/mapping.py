"""Mapping tables: (Chromium priority, kind) -> (urgency, incremental). `mapping_file` reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from mixedsched.priority import Priority
from mixedsched.request import ChromiumPriority, Kind, Request

Cell = tuple[ChromiumPriority, Kind]


@dataclass(frozen=True, slots=True)
class Switch:
    """A cell (or several) on which sources disagree. values: the names one may choose from."""

    name: str
    description: str
    default: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PriorityMapping:
    """A complete table, or None for `cells` where the client's signal is taken as it comes.

    chosen: the value of every switch, as built.
    """

    name: str
    description: str
    source: str
    cells: Mapping[Cell, Priority] | None
    switches: tuple[Switch, ...] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A fingerprint of what the mapping does, whatever it is called."""
        cells = sorted(self.cells.items()) if self.cells is not None else "as sent"
        return hashlib.sha256(repr(cells).encode()).hexdigest()[:12]

    def priority_for(self, request: Request) -> Priority:
        """The EPS priority that this mapping gives to a request."""
        if self.cells is None:
            return request.signal
        return self.cells[request.chromium_priority, request.kind]
