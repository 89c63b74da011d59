"""An experiment on one site as commands carry it out: in its folder, going on where it was stopped, with progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mixedsched.cli._console import err
from mixedsched.cli._progress import RunProgress
from mixedsched.cli._runs import database_url, own_versions
from mixedsched.lab.engine import carry_out, stored_runs
from mixedsched.lab.lab import Lab, Scene
from mixedsched.lab.model import Plan
from mixedsched.lab.patience import Impatient
from mixedsched.lab.progress import runs_left
from mixedsched.lab.resume import continued, refuse_other_versions, with_history
from mixedsched.world.store import Store

Facts = Callable[[Mapping[str, str], Sequence[str]], dict[str, Any]]


async def measure(plan: Plan, scene: Scene, folder: Path, facts: Facts) -> None:
    """Make the runs of the plan that the folder does not hold yet; each is stored at once.

    facts: what to store with a new experiment, from the versions of all programs and the notes on the network. Raises
    UsageError if the folder holds another experiment, or one of other versions, MixedschedError if the page cannot be loaded.
    """
    with Store(database_url(folder)) as store:
        stored = next(iter(store.experiments()), None)
        plan = continued(plan, stored)
        if stored is not None and not runs_left(plan, stored_runs(store, plan.digest)):
            return
        async with Lab(scene, plan.arms, folder) as lab:
            versions = {**own_versions(), **await lab.versions()}
            refuse_other_versions(stored, versions)
            for note in lab.notes:
                err.print(f"network: {note}", style="yellow", markup=False, soft_wrap=True)
            known = facts(versions, lab.notes) if stored is None else stored.facts
            store.save_plan(plan.digest, plan.to_dict(), with_history(known, plan))
            with RunProgress(runs_left(plan, stored_runs(store, plan.digest))) as progress:
                await carry_out(plan, store, Impatient(lab, plan.blocks[0].index), progress)
