"""Simulated loads as tables for the terminal; what is too wide for it is continued in a further table."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from mixedsched.core.sim.record import weight_of
from mixedsched.lab.play.simulation import RecordedLoad, Simulation
from mixedsched.model.page import Page
from mixedsched.report.wide_table import WideTable
from mixedsched.units import counted, format_bytes, format_ms, printable

BASELINE = "rr"
NONE = "–"
GAP = 2  # columns of the terminal between two of a table, which has many
SETS = {"all": "all", "atf": "ATF"}  # of resources that a ByteIndex is of: key and title

CAPTION = (
    "BI: ByteIndex, of all resources and of those above the fold (ATF), lower is better. speed-up: BI of {baseline} with the "
    "same send buffer, divided by this one's. FCP, LCP, SI: estimated from the page model{browser}."
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, with a cell for each row."""

    title: str  # may have several lines
    cells: Sequence[str]
    best: frozenset[int] = frozenset()  # rows that stand out


def page_table(simulation: Simulation, page: Page, outcomes: Sequence[RecordedLoad]) -> WideTable:
    """The loads of one page: a row for each scheme and send buffer."""
    atf = [_index(outcome, "atf") for outcome in outcomes]
    least = min((value for value in atf if value is not None), default=None)
    best = frozenset(row for row, value in enumerate(atf) if value is not None and value == least)
    speed_ups = _speed_ups(simulation, outcomes)
    columns = [
        Column("finished", [_ms(item.record.get("finished_ms")) for item in outcomes]),
        Column("BI all", [_ms(_index(item, "all")) for item in outcomes]),
        Column("BI ATF", [_ms(value) for value in atf], best),
        *(Column(f"speed-up\n{name}", [_ratio(item[key]) for item in speed_ups]) for key, name in SETS.items()),
    ]
    for paint in ("fcp", "lcp", "si"):
        times_ms = [item.record.get("estimate_ms", {}).get(paint) for item in outcomes]
        columns.append(Column(paint.upper(), [_ms(time_ms) for time_ms in times_ms]))
    # Bytes that had to wait for earlier ones: behind a late packet on rung `pipe`, behind a loss on rung `stack`.
    held = [item.record.get("held_bytes", item.record.get("hol_bytes")) for item in outcomes]
    if any(held):
        columns.append(Column("HOL", [NONE if size is None else format_bytes(size) for size in held]))
    size = format_bytes(sum(map(weight_of, page.resources)))
    title = f"{printable(page.name)}: {counted(len(page.resources), 'resource')}, {size}, rung {simulation.rung}"
    return _table(title, _keys(simulation, outcomes), columns)


def resource_table(simulation: Simulation, page: Page, outcomes: Sequence[RecordedLoad]) -> WideTable:
    """When each resource of one page was complete: a column for each scheme and send buffer."""
    keys = [
        Column("complete", [printable(item.id) for item in page.resources]),
        Column("size", [format_bytes(weight_of(item)) for item in page.resources]),
    ]
    columns = []
    for outcome in outcomes:
        complete_ms = {item["id"]: item["complete_ms"] for item in outcome.record.get("resources", ())}
        title = "\n".join(column.cells[0] for column in _keys(simulation, [outcome]))
        columns.append(Column(title, [_ms(complete_ms.get(item.id)) for item in page.resources]))
    return _table(f"{printable(page.name)}: times to completion", keys, columns)


class AllPages:
    """All pages together: mean speed-ups, and which scheme is best how often."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        rows = simulation.loads_per_page
        self._speed_ups: list[dict[str, list[float]]] = [{key: [] for key in SETS} for _ in range(rows)]
        self._best = [0] * rows
        self._failed = [0] * rows
        self._keys: list[Column] = []

    def add(self, outcomes: Sequence[RecordedLoad]) -> None:
        """One page, complete. Best is the lowest ByteIndex above the fold with the same send buffer; several may share it."""
        self._keys = _keys(self._simulation, outcomes)
        indexes = [_index(outcome, "atf") for outcome in outcomes]
        least: dict[int, float] = {}  # by send buffer
        for outcome, value in zip(outcomes, indexes, strict=True):
            if value is not None:
                least[_buffer(outcome)] = min(value, least.get(_buffer(outcome), math.inf))
        for row, (outcome, speed_ups) in enumerate(zip(outcomes, _speed_ups(self._simulation, outcomes), strict=True)):
            self._failed[row] += bool(outcome.error)
            self._best[row] += not outcome.error and indexes[row] == least[_buffer(outcome)]
            for which, ratio in speed_ups.items():
                if ratio is not None:
                    self._speed_ups[row][which].append(ratio)

    def table(self) -> WideTable:
        simulation = self._simulation
        columns = []
        for key, name in SETS.items():
            means = [statistics.fmean(row[key]) if row[key] else None for row in self._speed_ups]
            columns.append(Column(f"mean speed-up\n{name}", [_ratio(mean) for mean in means]))
        columns.append(Column("pages where\nbest ATF", [f"{count}" for count in self._best]))
        if any(self._failed):
            columns.append(Column("failed", [f"{count}" for count in self._failed]))
        return _table(f"{len(simulation.pages)} pages, rung {simulation.rung}", self._keys, columns)


def caption(simulation: Simulation) -> str:
    """How to read the tables."""
    browser = "" if simulation.model.is_ideal else f" and browser model {simulation.model.name}"
    return CAPTION.format(baseline=_baseline(simulation), browser=browser)


def _baseline(simulation: Simulation) -> str:
    """The scheme that speed-ups are against: `rr` where it is played, else the first."""
    specs = [scheme.spec for scheme in simulation.schemes]
    return BASELINE if BASELINE in specs else specs[0]


def _speed_ups(simulation: Simulation, outcomes: Sequence[RecordedLoad]) -> list[Mapping[str, float | None]]:
    baseline = _baseline(simulation)
    against = {_buffer(item): item for item in outcomes if item.record["scheme"] == baseline}
    return [
        {key: _divided(_index(against[_buffer(item)], key), _index(item, key)) for key in SETS} for item in outcomes
    ]


def _buffer(outcome: RecordedLoad) -> int:
    return int(outcome.record["send_buffer_bytes"])


def _divided(before_ms: float | None, after_ms: float | None) -> float | None:
    if before_ms is None or after_ms is None:
        return None
    if before_ms == after_ms:
        return 1.0
    return before_ms / after_ms if after_ms else None


def _index(outcome: RecordedLoad, which: str) -> float | None:
    found_ms: float | None = outcome.record.get("byte_index_ms", {}).get(which)
    return found_ms


def _keys(simulation: Simulation, outcomes: Sequence[RecordedLoad]) -> list[Column]:
    """The columns that name a row; the send buffer only where there are several."""
    keys = [Column("scheme", [item.record["scheme"] for item in outcomes])]
    if len(simulation.send_buffers_bytes) > 1:
        keys.append(Column("buffer", [format_bytes(_buffer(item)) for item in outcomes]))
    return keys


def _table(title: str, keys: Sequence[Column], columns: Sequence[Column]) -> WideTable:
    table = WideTable(Text(f" {title}"), keys=len(keys), gap=GAP)
    table.title_style = "bold"
    listed = (*keys, *columns)
    for place, column in enumerate(listed):
        table.add_column(Text(column.title), justify="left" if place == 0 else "right", no_wrap=place >= len(keys))
    for row in range(len(keys[0].cells)):
        table.add_row(*(Text(column.cells[row], style="bold cyan" if row in column.best else "") for column in listed))
    return table


def _ms(value: float | None) -> str:
    return NONE if value is None else format_ms(value)


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"
