"""A comparison of delivery schemes on one page and network: from a design to measured loads and what they show."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mixedsched.errors import InputError, UsageError
from mixedsched.lab.analysis import analyse
from mixedsched.lab.bench import Bench, Design, Observe, Say, unobserved
from mixedsched.lab.comparison import Comparison
from mixedsched.lab.diagnostics import held_up_of, misses_of
from mixedsched.lab.engine import missing_blocks, stored_runs
from mixedsched.lab.machine import machine_facts, own_versions
from mixedsched.lab.model import Plan, Run
from mixedsched.lab.results import DATABASE_NAME, ExperimentFacts, continued, folder_of, open_store, owned
from mixedsched.model.profile import Profile
from mixedsched.sites.analysis import expected_connections
from mixedsched.sites.site import Origins
from mixedsched.world.emulator.backend import RELAY


@dataclass(frozen=True)
class Experiment:
    """What a folder of results holds, finished or not."""

    folder: Path
    plan: Plan
    runs: tuple[Run, ...]  # all attempts, in the order in which they were made
    facts: ExperimentFacts

    @cached_property
    def comparison(self) -> Comparison:
        """What the runs show."""
        return analyse(self.plan, self.runs)

    @property
    def missing_blocks(self) -> tuple[int, ...]:
        """Indices of the analysed blocks that are not complete."""
        return missing_blocks(self.plan, self.runs)

    def to_dict(self, report: str | None = None) -> dict[str, Any]:
        """The JSON contract of `compare --json`. report: path of the HTML report."""
        labels = [arm.label for arm in self.comparison.arms]
        return {
            **self.comparison.to_dict(report),
            "misses": [item.to_dict() for item in misses_of(self.runs, labels)],
            "held_up": [item.to_dict() for item in held_up_of(self.runs, labels)],
        }


def run_experiment(
    design: Design,
    network: Profile,
    blocks: int = 8,
    folder: Path | None = None,
    *,
    site_argument: str = "",
    warm_up: bool = True,
    packet_log: bool = False,
    observe: Observe = unobserved,
    say: Say = lambda _: None,
) -> Experiment:
    """Load a page in real Chromium under every arm of the design, and return all that is known then.

    Every run is stored at once: after an interruption the same call goes on where it stopped, and with more blocks it adds
    to what is there. All arms need the same site name, URL and hosts.

    blocks: paired repeats; 6 decide on one metric of two arms, 8 on all seven.
    folder: of the results; by default one in runs/ that is named after the design and the versions of our programs.
    site_argument: how the site was named, for reports; its name by default.
    warm_up: begin with a block that is not analysed.
    packet_log: keep the fate of every packet in the folder; for the relay only.
    observe: watches the runs; called with the number of those that are left.
    say: takes remarks, such as what the emulated network cannot do.

    Raises UsageError if the design cannot be planned, or if the folder holds another experiment or one of other versions;
    MissingPartError without Node or Chromium; MixedschedError if the page cannot be loaded.
    """
    if packet_log and design.backend != RELAY:
        raise UsageError("only the relay logs the fate of packets", fix="leave --packet-log or --backend out")
    plan = design.plan(network, blocks, warm_up=warm_up)
    folder = folder or default_folder(plan)
    facts = _facts(design, site_argument)
    with owned(folder):
        asyncio.run(_measure(design, plan, network, folder, facts, observe, say, packet_log=packet_log))
        return read_experiment(folder)


def default_folder(plan: Plan) -> Path:
    """Where the results of a comparison go unless another folder is named."""
    return folder_of(f"{plan.site}-{plan.link}", plan.digest, own_versions())


def read_experiment(folder: Path) -> Experiment:
    """The experiment stored in a folder. Raises InputError if there is none, or more than one."""
    if not (folder / DATABASE_NAME).is_file():
        raise InputError(
            f"{folder} holds no results",
            why=f"there is no {DATABASE_NAME} in it",
            fix="name a folder that compare made",
        )
    with open_store(folder) as store:
        experiments = store.experiments()
        if len(experiments) != 1:
            raise InputError(f"{folder} holds {len(experiments)} experiments", fix="a report is made of exactly one")
        stored = experiments[0]
        runs = tuple(stored_runs(store, stored.digest))
        return Experiment(folder, Plan.from_dict(stored.plan), runs, ExperimentFacts.from_dict(stored.facts))


async def _measure(
    design: Design,
    plan: Plan,
    network: Profile,
    folder: Path,
    facts: ExperimentFacts,
    observe: Observe,
    say: Say,
    *,
    packet_log: bool,
) -> None:
    with open_store(folder) as store:
        plan = continued(plan, next(iter(store.experiments()), None))
        async with Bench(design, store, folder, facts, observe, say=say, packet_log=packet_log) as bench:
            await bench.carry_out(plan, network)


def _facts(design: Design, site_argument: str) -> ExperimentFacts:
    site = design.arms[0].site
    return ExperimentFacts(
        site_argument=site_argument or site.name,
        title=site.title or site.name,
        origins=(Origins.MERGE if site.merged_hosts else Origins.KEEP).value,
        connections=str(expected_connections(site)),
        licence=site.licence,
        machine=machine_facts(),
        versions=own_versions(),
    )
