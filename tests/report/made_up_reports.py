"""Reports and films of made-up experiments, and folders that have their loads."""

from pathlib import Path
from typing import Any

from mixedsched.lab.analysis import analyse
from mixedsched.lab.engine import run_record
from mixedsched.lab.model import Plan, Run
from mixedsched.lab.results import ExperimentFacts, open_store, owned
from mixedsched.report._player import Film, film_of
from mixedsched.report.compare._document import render_html
from tests.report.made_up_runs import MadeUp, made_up_plan

FACTS: dict[str, Any] = {
    "command": "mixedsched compare shop --schemes round-robin,mixed --link sander-loss2 --blocks 12 --seed 7",
    "machine": {"processor": "made-up", "memory_bytes": 4_000_000_000},
    "versions": {"chromium": "156.0", "lighthouse": "12.8.2"},
    "title": "made-up shop",
    "licence": "CC0-1.0",
    "notes": "the relay emulated the network",
}


def experiment(blocks: int = 12, **maker: Any) -> tuple[Plan, list[Run]]:
    plan = made_up_plan(blocks, ("round-robin", "mixed"))
    return plan, MadeUp(plan, **{"factors": {"mixed": 0.85}, **maker}).runs()


def report(plan: Plan, runs: list[Run], facts: dict[str, Any] | None = None) -> str:
    return render_html(analyse(plan, runs), runs, FACTS if facts is None else facts)


def store_experiment(folder: Path, blocks: int = 7) -> Path:
    """A comparison that was stopped: loads, and no report."""
    plan, runs = experiment(blocks)
    with owned(folder), open_store(folder) as store:
        store.save_plan(plan.digest, plan.to_dict(), ExperimentFacts(title="made up").to_dict())
        for run in runs:
            store.add_run(plan.digest, run.block, run.attempt, run.arm, run_record(run))
    return folder


def one_block(*labels: str, **maker: Any) -> dict[str, Run]:
    plan = made_up_plan(7, labels)
    block = plan.blocks[-1].index
    return {run.arm: run for run in MadeUp(plan, **maker).runs() if run.block == block}


def film(*labels: str, **maker: Any) -> Film:
    found = film_of(one_block(*(labels or ("round-robin", "mixed")), **maker))
    assert found is not None
    return found
