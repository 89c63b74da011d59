"""Paired page loads within a budget of time, made once and stored: how comparisons, audits and tunings measure."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from mixedsched.core.metrics import PAGE_METRICS
from mixedsched.lab._lab import Lab, LabSetup
from mixedsched.lab.costs import median_overhead_s
from mixedsched.lab.engine import (
    Impatient,
    IsWanted,
    Laboratory,
    RunObserver,
    TimeIsUp,
    always,
    carry_out,
    is_due,
    no_good_run,
    runs_left,
    stored_runs,
)
from mixedsched.lab.model import AS_USUAL, Arm, Block, Conditions, Plan, Run, RunStatus
from mixedsched.lab.plan import make_plan
from mixedsched.lab.results import ExperimentFacts, refuse_other_versions
from mixedsched.model.profile import Profile
from mixedsched.sites.site import Site
from mixedsched.world.emulator.backend import RELAY
from mixedsched.world.store import Store, StoredExperiment

FIRST_BLOCK = 1  # without a warm-up

Observe = Callable[[int], AbstractContextManager[RunObserver]]  # watches runs, given how many are left
Say = Callable[[str], None]  # takes one line about what happens now


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The outside world, for work within a budget of time."""

    clock_s: Callable[[], float]  # monotonic
    began_s: float  # when the time began to count, by that clock
    say: Say
    observe: Observe


@dataclass(frozen=True, slots=True)
class ServedArm:
    """An arm with all that its server needs."""

    arm: Arm  # as plans have it
    site: Site
    site_digest: str  # fingerprint of what the site serves
    table_file: Path | None = None  # of its mapping table, if that is none of the published ones

    @property
    def for_server(self) -> Arm:
        """The arm as its server gets it."""
        return self.arm if self.table_file is None else replace(self.arm, mapping=str(self.table_file))


@dataclass(frozen=True, slots=True)
class Design:
    """An experimental design: the arms and how they are compared, apart from networks and the number of blocks."""

    arms: tuple[ServedArm, ...]
    primary: tuple[str, ...]  # keys of the metrics to decide on
    form_factor: str
    seed: int  # of orders and link seeds
    baseline: str = ""  # label of an arm; the first by default
    backend: str = RELAY
    across_connections: bool = False
    metrics: tuple[str, ...] = PAGE_METRICS  # keys of the page's metrics that are asked for
    conditions: Conditions = AS_USUAL
    inspect: bool = False  # whether loads also tell what could be saved: for looks alone

    def plan(
        self,
        network: Profile,
        blocks: int,
        *,
        warm_up: bool = False,
        still_in: Callable[[int], Sequence[str]] | None = None,
    ) -> Plan:
        """Paired blocks on a network. Without a warm-up all arms are equally new in the first block, as each has a server.

        still_in: labels of the arms that a block still has; all of them where it is None. Raises UsageError as make_plan.
        """
        plan = make_plan(**self._arguments(network), blocks=blocks, warm_up=warm_up)
        if still_in is None:
            return plan
        orders = {block.index: still_in(block.index) for block in plan.blocks}
        kept = [
            replace(block, order=tuple(label for label in block.order if label in orders[block.index]))
            for block in plan.blocks
        ]
        return replace(plan, blocks=tuple(kept))

    def look(self, network: Profile) -> Plan:
        """One load under each arm, over one link."""
        labels = tuple(item.arm.label for item in self.arms)
        return Plan(**self._arguments(network), blocks=(Block(FIRST_BLOCK, self.seed, labels),))

    def laboratory(
        self, network: Profile, folder: Path, packet_logs: Path | None = None, say: Say = lambda _: None
    ) -> Lab:
        """What makes the runs; not yet open. folder: for what a run leaves meanwhile, and what arms have learned."""
        setup = LabSetup(
            network,
            self.form_factor,
            {item.arm.label: item.site for item in self.arms},
            backend=self.backend,
            across_connections=self.across_connections,
            metrics=self.metrics,
            conditions=self.conditions,
            packet_logs=packet_logs,
            inspect=self.inspect,
        )
        return Lab(setup, [item.for_server for item in self.arms], folder, say)

    def _arguments(self, network: Profile) -> dict[str, Any]:
        digests = [item.site_digest for item in self.arms]
        alike = digests[0] if len(set(digests)) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()[:16]
        return {
            "site": self.arms[0].site.name,
            "site_digest": alike,
            "link": network.name,
            "link_facts": network.facts(),
            "form_factor": self.form_factor,
            "arms": tuple(item.arm for item in self.arms),
            "baseline": self.baseline or self.arms[0].arm.label,
            "primary": self.primary,
            "seed": self.seed,
            "backend": self.backend,
            "across_connections": self.across_connections,
            "metrics": self.metrics,
            "conditions": self.conditions,
        }


class Bench:
    """Makes the loads of a design that are not stored yet. Each is stored at once: any start goes on where the last stopped.

    A laboratory for each network stays open as long as the bench. Use with `async with`.
    folder: of the results; packet logs, too, go there.
    facts: what to store with a new experiment; its versions are those of our own programs.
    """

    def __init__(
        self,
        design: Design,
        store: Store,
        folder: Path,
        facts: ExperimentFacts,
        observe: Observe,
        *,
        say: Say = lambda _: None,
        packet_log: bool = False,
    ) -> None:
        self.design = design
        self._store = store
        self._folder = folder
        self._facts = facts
        self._observe = observe
        self._say = say
        self._packet_logs = folder / "packets" if packet_log else None
        self._stack = AsyncExitStack()
        self._labs: dict[str, tuple[Laboratory, ExperimentFacts]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stack.__aexit__(*error)

    def stored(self, plan: Plan) -> StoredExperiment | None:
        """The experiment of this plan, or of a shorter or longer one, if there is any."""
        return next((item for item in self._store.experiments() if item.digest == plan.digest), None)

    def runs(self, plan: Plan) -> list[Run]:
        """All that are stored, in the order in which they were made."""
        return stored_runs(self._store, plan.digest)

    def missing(self, plan: Plan) -> int:
        """How many runs of the plan are not stored."""
        return runs_left(plan, self.runs(plan))

    async def look(self, network: Profile) -> dict[str, Run]:
        """One load that counts under each arm, by label. Raises MixedschedError where that cannot be had."""
        plan = self.design.look(network)
        await self.carry_out(plan, network)
        runs = self.runs(plan)
        good = {run.arm: run for run in runs if run.status is RunStatus.OK}
        if any(item.arm.label not in good for item in self.design.arms):
            raise no_good_run(runs, network.name)
        return good

    async def carry_out(
        self,
        plan: Plan,
        network: Profile,
        has_time: Callable[[], bool] | None = None,
        later: int = 0,
        is_wanted: IsWanted = always,
    ) -> None:
        """Make the runs of a plan of the design that are missing.

        has_time: asked before each run; raises TimeIsUp as soon as it says no. None for all runs, however long they take:
        then a page that cannot be loaded at all is given up early, by MixedschedError.
        later: runs that are to be made after these, for the observer. is_wanted: as the engine asks before a block.
        Raises UsageError if what is stored was made by other versions.
        """
        stored = self.stored(plan)
        if stored is not None and not self._is_due(plan, is_wanted):
            return
        if has_time is not None and not has_time():
            raise TimeIsUp
        lab, facts = await self._laboratory(network)
        refuse_other_versions(stored, facts.versions)
        facts = (facts if stored is None else ExperimentFacts.from_dict(stored.facts)).planned(plan)
        self._store.save_plan(plan.digest, plan.to_dict(), facts.to_dict())
        try:
            with self._observe(self.missing(plan) + later) as observer:
                laboratory = Impatient(lab, plan.blocks[0].index) if has_time is None else lab
                await carry_out(plan, self._store, laboratory, observer, has_time or (lambda: True), later, is_wanted)
        finally:
            facts = replace(facts, overhead_s=median_overhead_s(self.runs(plan)))
            self._store.save_plan(plan.digest, plan.to_dict(), facts.to_dict())

    def _is_due(self, plan: Plan, is_wanted: IsWanted) -> bool:
        runs = self.runs(plan)
        return any(is_due(block, runs, is_wanted) for block in plan.blocks)

    async def _laboratory(self, network: Profile) -> tuple[Laboratory, ExperimentFacts]:
        """With what a new experiment in it stores."""
        if network.name not in self._labs:
            lab = self.design.laboratory(network, self._folder, self._packet_logs, self._say)
            await self._stack.enter_async_context(lab)
            versions = {**self._facts.versions, **await lab.versions()}
            for note in lab.notes:
                self._say(f"network: {note}")
            for note in lab.server_notes:
                self._say(f"warning: {note}")
            facts = replace(self._facts, versions=versions, network_notes=lab.notes, server_notes=lab.server_notes)
            self._labs[network.name] = lab, facts
        return self._labs[network.name]


class Unobserved:
    """An observer that takes no notice."""

    def before(self, arm: str, block: int, warm_up: bool, left: int) -> None:
        pass

    def after(self, run: Run, left: int) -> None:
        pass


@contextmanager
def unobserved(_left: int) -> Iterator[RunObserver]:
    yield Unobserved()
