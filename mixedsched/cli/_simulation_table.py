"""Simulated loads as tables for the terminal; what is too wide for it is continued in a further table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from mixedsched.cli._simulation import Outcome, Simulation
from mixedsched.core.sim.record import weight_of
from mixedsched.model.page import Page
from mixedsched.units import format_bytes, format_ms

BASELINE = "rr"
NONE = "–"
GAP = 2  # columns of the terminal between two columns of a table
EDGES = 2

CAPTION = (
    "BI: ByteIndex, of all resources and of those above the fold (ATF), lower is better. speed-up: BI of {baseline} with the "
    "same send buffer, divided by this one's. FCP, LCP, SI: estimated from the page model{browser}."
)


@dataclass(frozen=True, slots=True)
class Column:
    """Its title, which may have several lines, and a cell for each row. best: rows that stand out."""

    title: str
    cells: Sequence[str]
    best: frozenset[int] = frozenset()

    @property
    def width(self) -> int:
        return max(map(cell_len, (*self.title.split("\n"), *self.cells)), default=0)


def page_tables(simulation: Simulation, outcomes: Sequence[Outcome], width: int) -> Iterator[RenderableType]:
    """What became of one page: a row for each scheme and send buffer."""
    page = simulation.pages[outcomes[0].task.page]
    atf = [_index(outcome, "atf") for outcome in outcomes]
    least = min((value for value in atf if value is not None), default=None)
    best = frozenset(row for row, value in enumerate(atf) if value is not None and value == least)
    speed_ups = _speed_ups(simulation, outcomes)
    columns = [
        Column("finished", [_ms(outcome.figures.get("finished_ms")) for outcome in outcomes]),
        Column("BI all", [_ms(_index(outcome, "all")) for outcome in outcomes]),
        Column("BI ATF", [_ms(value) for value in atf], best),
        Column("speed-up\nall", [_ratio(item.get("all")) for item in speed_ups]),
        Column("speed-up\nATF", [_ratio(item.get("atf")) for item in speed_ups]),
        Column("FCP", [_ms(outcome.figures.get("estimate_ms", {}).get("fcp")) for outcome in outcomes]),
        Column("LCP", [_ms(outcome.figures.get("estimate_ms", {}).get("lcp")) for outcome in outcomes]),
        Column("SI", [_ms(outcome.figures.get("estimate_ms", {}).get("si")) for outcome in outcomes]),
    ]
    held = [_held_bytes(outcome) for outcome in outcomes]
    if any(held):
        columns.append(Column("HOL", [NONE if size is None else format_bytes(size) for size in held]))
    keys = _keys(simulation, [outcome.task for outcome in outcomes])
    yield from _fitting(_page_title(simulation, page), keys, columns, width)


def resource_tables(simulation: Simulation, outcomes: Sequence[Outcome], width: int) -> Iterator[RenderableType]:
    """When each resource of one page was complete: a column for each scheme and send buffer."""
    page = simulation.pages[outcomes[0].task.page]
    keys = [
        Column("complete", [item.id for item in page.resources]),
        Column("size", [format_bytes(weight_of(item)) for item in page.resources]),
    ]
    columns = []
    for outcome in outcomes:
        complete_ms = {item["id"]: item["complete_ms"] for item in outcome.figures.get("resources", ())}
        title = "\n".join(column.cells[0] for column in _keys(simulation, [outcome.task]))
        columns.append(Column(title, [_ms(complete_ms.get(item.id)) for item in page.resources]))
    yield from _fitting(f"{page.name}: times to completion", keys, columns, width)


class Summary:
    """All pages together: mean speed-ups, and which scheme is best how often."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        rows = simulation.loads_per_page
        self._speed_ups: list[dict[str, list[float]]] = [{"all": [], "atf": []} for _ in range(rows)]
        self._best = [0] * rows
        self._failed = [0] * rows

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """One page, complete. Best is the lowest ByteIndex above the fold with the same send buffer; several may share it."""
        indexes = [_index(outcome, "atf") for outcome in outcomes]
        least: dict[int, float] = {}  # by send buffer
        for outcome, value in zip(outcomes, indexes, strict=True):
            if value is not None:
                buffer = outcome.task.send_buffer_bytes
                least[buffer] = min(value, least.get(buffer, math.inf))
        for row, (outcome, speed_ups) in enumerate(zip(outcomes, _speed_ups(self._simulation, outcomes), strict=True)):
            self._failed[row] += bool(outcome.error)
            self._best[row] += not outcome.error and indexes[row] == least[outcome.task.send_buffer_bytes]
            for which, ratio in speed_ups.items():
                if ratio is not None:
                    self._speed_ups[row][which].append(ratio)

    def tables(self, width: int) -> Iterator[RenderableType]:
        simulation = self._simulation
        columns = [
            Column(
                f"mean speed-up\n{label}",
                [_ratio(statistics.fmean(v[which]) if v[which] else None) for v in self._speed_ups],
            )
            for which, label in (("all", "all"), ("atf", "ATF"))
        ]
        columns.append(Column("pages where\nbest ATF", [f"{count}" for count in self._best]))
        if any(self._failed):
            columns.append(Column("failed", [f"{count}" for count in self._failed]))
        keys = _keys(simulation, list(simulation.tasks())[: len(self._best)])
        yield from _fitting(f"{len(simulation.pages)} pages, rung {simulation.rung.name}", keys, columns, width)


def caption(simulation: Simulation) -> str:
    """How to read the tables."""
    browser = "" if simulation.model.is_ideal else f" and browser model {simulation.model.name}"
    return CAPTION.format(baseline=simulation.schemes[_baseline(simulation)], browser=browser)


def _baseline(simulation: Simulation) -> int:
    """The scheme that speed-ups are against: `rr` where it is played, else the first."""
    return simulation.schemes.index(BASELINE) if BASELINE in simulation.schemes else 0


def _speed_ups(simulation: Simulation, outcomes: Sequence[Outcome]) -> list[Mapping[str, float | None]]:
    baseline = _baseline(simulation)
    against = {item.task.send_buffer_bytes: item for item in outcomes if item.task.scheme == baseline}
    return [
        {
            which: _divided(_index(against[outcome.task.send_buffer_bytes], which), _index(outcome, which))
            for which in ("all", "atf")
        }
        for outcome in outcomes
    ]


def _divided(before_ms: float | None, after_ms: float | None) -> float | None:
    if before_ms is None or after_ms is None:
        return None
    if before_ms == after_ms:
        return 1.0
    return before_ms / after_ms if after_ms else None


def _index(outcome: Outcome, which: str) -> float | None:
    found = outcome.figures.get("byte_index_ms")
    return found[which] if found else None


def _held_bytes(outcome: Outcome) -> int | None:
    """Bytes that had to wait for earlier ones: behind a loss on rung `stack`, behind a late packet on rung `pipe`."""
    if outcome.error:
        return None
    return int(outcome.figures.get("held_bytes", outcome.figures["hol_bytes"]))


def _keys(simulation: Simulation, tasks: Iterable[tuple[int, int, int]]) -> list[Column]:
    """The columns that say what a row is of; the send buffer only where there are several."""
    rows = list(tasks)
    keys = [Column("scheme", [simulation.schemes[scheme] for _, scheme, _ in rows])]
    if len(simulation.send_buffers_bytes) > 1:
        keys.append(Column("buffer", [format_bytes(size) for _, _, size in rows]))
    return keys


def _page_title(simulation: Simulation, page: Page) -> str:
    size = format_bytes(sum(weight_of(item) for item in page.resources))
    count = len(page.resources)
    return f"{page.name}: {count} resource{'' if count == 1 else 's'}, {size}, rung {simulation.rung.name}"


def _fitting(title: str, keys: Sequence[Column], columns: Sequence[Column], width: int) -> Iterator[RenderableType]:
    """The title, then tables with the key columns and as many of the others as fit; at least one."""
    yield Text(f" {title}", style="bold")
    rest = list(columns)
    while rest:
        taken: list[Column] = []
        used = EDGES + sum(column.width + GAP for column in keys)
        while rest and (not taken or used + rest[0].width <= width):
            used += rest[0].width + GAP
            taken.append(rest.pop(0))
        yield _table((*keys, *taken))


def _table(columns: Sequence[Column]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(Text(column.title), justify="left" if place == 0 else "right", overflow="fold")
    for row in range(len(columns[0].cells)):
        table.add_row(*(Text(column.cells[row], style="bold cyan" if row in column.best else "") for column in columns))
    return table


def _ms(value: float | None) -> str:
    return NONE if value is None else format_ms(value)


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"
