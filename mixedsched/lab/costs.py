"""The cost of measuring, for budgets of time: from loads that were measured or, before that, from defaults."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mixedsched.core.metrics import PAGE_METRICS, TTI
from mixedsched.errors import MixedschedError, UsageError
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.results import DATABASE_NAME, open_store
from mixedsched.units import format_duration

# Of a load beyond the load itself, where none was measured yet; see docs/measuring.md.
OVERHEAD_S = 8.0
QUICK_OVERHEAD_S = 4.0  # without TTI
START_S = 6.0  # server, browser worker and link of one network come up
BLOCKS_MOST = 20  # more narrow the interval by less than a tenth


def median_overhead_s(runs: Iterable[Run]) -> float | None:
    """Cost of a load beyond itself: the median over the runs that count; None if none does."""
    costs_s = [run.overhead_s for run in runs if run.status is RunStatus.OK]
    return statistics.median(costs_s) if costs_s else None


def known_overhead_s(folder: Path, metrics: Sequence[str] = PAGE_METRICS) -> float:
    """Cost of a load beyond itself: as measured in the folder, else in the latest one beside it, else a default.

    metrics: keys of those asked for; of what was measured only loads with, or without, TTI count as these do.
    """
    waits = TTI in metrics
    beside = sorted(folder.parent.glob(f"*/{DATABASE_NAME}"), key=lambda file: -file.stat().st_mtime)
    for database in [folder / DATABASE_NAME, *beside]:
        if database.is_file() and (found := _stored_overheads_s(database.parent, waits)):
            return statistics.median(found)
    return OVERHEAD_S if waits else QUICK_OVERHEAD_S


def _stored_overheads_s(folder: Path, waits: bool) -> list[float]:
    try:
        with open_store(folder) as store:
            stored = [item for item in store.experiments() if "overhead_s" in item.facts]
    except MixedschedError:  # made by a newer version, or not ours
        return []
    return [
        float(item.facts["overhead_s"]) for item in stored if (TTI in item.plan.get("metrics", PAGE_METRICS)) == waits
    ]


def loads_cost_s(load_s: Mapping[str, float], loads: int, overhead_s: float) -> float:
    """Cost of so many loads on every network, in two sittings. load_s: time of one load itself, by network."""
    return sum(START_S * 2 + loads * (seconds + overhead_s) for seconds in load_s.values())


def fitting_blocks(left_s: float, costs_s: Mapping[str, float], arms: int) -> int:
    """How many blocks of so many arms fit on every network; at least one. costs_s: of one run, by network."""
    fitting = (left_s - START_S * len(costs_s)) / (arms * sum(costs_s.values()))
    return max(1, min(BLOCKS_MOST, int(fitting)))


def refuse_short_budget(budget_s: float, least_s: float, subject: str, work: str, *, is_measured: bool = True) -> None:
    """Raises UsageError before any work for which there is no time.

    least_s: estimated time of the least of it. work: what takes that long, in words. is_measured: in the browser, where more
    loads make the answer surer.
    """
    if budget_s < least_s:
        surer = "; a sure answer takes five to ten times as long" if is_measured else ""
        raise UsageError(
            f"{format_duration(budget_s)} is too short for {subject}",
            why=f"{work} takes about {format_duration(least_s)}",
            fix=f"give --budget {int(least_s // 60) + 1}m at least{surer}",
        )
