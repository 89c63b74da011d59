"""Stored runs as a table: one row per run, with plain values, ready for pandas or a CSV file."""

from pathlib import Path

from mixedsched.core.metrics import METRICS
from mixedsched.lab.experiment import Experiment, read_experiment
from mixedsched.lab.model import Run
from mixedsched.lab.plan import attempt_seed
from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study.export import study_rows
from mixedsched.world.browser.kinds import browser_of
from mixedsched.world.store import StudyStore, file_address

Row = dict[str, str | int | float | bool | None]


def read_results(folder: Path | str) -> list[Row]:
    """All runs that `compare` or a study has stored in a folder, one row each: `pandas.DataFrame(read_results(folder))`.

    Failed and invalid runs and those of a warm-up block are rows, too: `status` and `warm_up` distinguish them. Metrics are
    in the unit that their name ends with, and None where they are missing. Raises InputError if the folder contains no results.
    """
    folder = Path(folder)
    if (folder / DATABASE_NAME).is_file():
        with StudyStore(file_address(folder / DATABASE_NAME)) as store:
            if studies := store.studies():
                return [row for stored in studies for row in study_rows(store, stored)]
    experiment = read_experiment(folder)
    return [_row(experiment, run) for run in experiment.runs]


def _row(experiment: Experiment, run: Run) -> Row:
    plan, facts = experiment.plan, experiment.facts
    block = next(item for item in plan.blocks if item.index == run.block)
    return {
        "site": plan.site,
        "link": plan.link,
        "arm": run.arm,
        "scheme": next(arm.scheme for arm in plan.arms if arm.label == run.arm),
        "block": run.block,
        "warm_up": block.warm_up,
        "attempt": run.attempt,
        "position": run.position,
        "seed": attempt_seed(block, run.attempt),
        "rung": "browser",
        "status": run.status.value,
        "reason": run.reason,
        **{metric.key: run.value(metric) for metric in METRICS},
        "score": run.score,
        "finished_ms": run.page_load.get("observed", {}).get("load_ms"),
        "started_at": run.started_at,
        "cost_s": run.cost_s,
        "machine": facts.machine.get("processor"),
        "browser": browser_of(facts.versions),
    }
