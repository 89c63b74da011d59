"""Loads in the browser for looks, race and proof: plans are stored before the first load, loads one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from mixedsched.advice.changes.edition import Edition, make_edition
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.job import Job, Surroundings
from mixedsched.advice.tuner.result import Contender, Role
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import UsageError
from mixedsched.lab.engine import Laboratory, RunObserver, carry_out, stored_runs
from mixedsched.lab.in_time import InTime, TimeIsUp
from mixedsched.lab.lab import Edition as LabEdition
from mixedsched.lab.lab import Lab, Scene
from mixedsched.lab.model import Arm, Block, Plan, Run, RunStatus
from mixedsched.lab.patience import Impatient, no_good_run
from mixedsched.lab.plan import make_plan
from mixedsched.lab.progress import runs_left
from mixedsched.lab.resume import refuse_other_versions
from mixedsched.model.mapping_file import dump_mapping
from mixedsched.model.profile import Profile
from mixedsched.sites.analysis import expected_connections
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Site
from mixedsched.world import catalog
from mixedsched.world.store import Store, StoredExperiment

EDITIONS_FOLDER, MAPPINGS_FOLDER = "editions", "mappings"
FIRST_BLOCK = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """A phase on one network: its plan as far as it was carried out, and the runs of it."""

    plan: Plan
    runs: tuple[Run, ...]


class Bench:
    """Measures contenders of one phase on all networks, block by block. Use with `async with`.

    phase: names it, and seeds its links and orders. Laboratories stay open as long as the bench: one for each network.
    patient: False gives up early where a page cannot be loaded at all.
    """

    def __init__(
        self, job: Job, world: Surroundings, store: Store, phase: str, contenders: Sequence[Contender], *, patient: bool
    ) -> None:
        assert job.site is not None, "only sites are loaded"
        self._job = job
        self._site: Site = job.site
        self._world = world
        self._store = store
        self._phase = phase
        self._contenders = tuple(contenders)
        self._patient = patient
        self._stack = AsyncExitStack()
        self._labs: dict[str, Laboratory] = {}
        self._editions = {item.label: self._edition(item) for item in contenders}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    def plan(self, network: Profile, blocks: int, left: Callable[[int], Sequence[str]] | None = None) -> Plan:
        """The phase on a network. left: labels that are still in by block; all of them where it is None."""
        job, arms = self._job, [arm_of(item) for item in self._contenders]
        served = " ".join(edition.digest for edition in self._editions.values())
        arguments: dict[str, Any] = {
            "site": self._site.name,
            "site_digest": hashlib.sha256(served.encode()).hexdigest()[:16],
            "link": network.name,
            "link_facts": network.facts(),
            "form_factor": job.form_factor,
            "baseline": arms[0].label,
            "primary": tuple(job.objective.weights),
            "seed": job.seed_of(self._phase),
        }
        if len(arms) == 1:
            block = Block(FIRST_BLOCK, job.seed_of(self._phase), (arms[0].label,))
            return Plan(**arguments, arms=tuple(arms), blocks=(block,))
        plan = make_plan(**arguments, arms=arms, blocks=blocks)
        planned = [
            block for block in plan.blocks if not block.warm_up
        ]  # every arm has a server of its own: all equally new
        if left is not None:
            planned = [
                replace(block, order=tuple(label for label in block.order if label in left(block.index)))
                for block in planned
            ]
        return replace(plan, blocks=tuple(planned))

    def measured(self, plan: Plan) -> Measured:
        return Measured(plan, tuple(stored_runs(self._store, plan.digest)))

    async def carry_out(self, plan: Plan, network: Profile, has_time: Callable[[], bool] | None, left: int) -> None:
        """Make the runs that are missing. has_time: asked before each; None for whatever it takes. left: runs after these.

        Raises TimeIsUp, and MixedschedError where the page cannot be loaded at all.
        """
        if not self.missing(plan):
            return
        if has_time is not None and not has_time():
            raise TimeIsUp
        laboratory = await self._laboratory(network, plan)
        stored = self._stored(plan)
        facts = stored.facts if stored is not None else {}
        self._store.save_plan(plan.digest, plan.to_dict(), {**self._facts(), **facts})
        with self._world.observe(self.missing(plan) + left) as observer:
            in_time = laboratory if has_time is None else InTime(laboratory, has_time)
            await carry_out(plan, self._store, in_time, _Ahead(observer, left))

    def missing(self, plan: Plan) -> int:
        """How many runs of a plan are not stored."""
        return runs_left(plan, stored_runs(self._store, plan.digest))

    async def _laboratory(self, network: Profile, plan: Plan) -> Laboratory:
        if network.name not in self._labs:
            lab = await self._stack.enter_async_context(Lab(self._scene(network), self._lab_arms(), self._job.folder))
            self._versions = {**self._job.versions, **await lab.versions()}
            refuse_other_versions(self._stored(plan), self._versions)
            self._labs[network.name] = lab if self._patient else Impatient(lab, FIRST_BLOCK)
        return self._labs[network.name]

    def _facts(self) -> dict[str, Any]:
        return {"tune": self._job.digest, "phase": self._phase, "versions": self._versions}

    def _stored(self, plan: Plan) -> StoredExperiment | None:
        return next((item for item in self._store.experiments() if item.digest == plan.digest), None)

    def _edition(self, contender: Contender) -> Edition:
        folder = (self._job.folder / EDITIONS_FOLDER).resolve()
        return make_edition(self._site, self._job.digest_of_contents, contender.changes, folder)

    def _lab_arms(self) -> list[Arm]:
        """The arms as servers are told of them: tables are files."""
        arms = []
        for item in self._contenders:
            arm, own = arm_of(item), item.candidate.mapping()
            if own is not None:
                file = self._job.folder / MAPPINGS_FOLDER / f"{own.digest}.toml"
                file.parent.mkdir(exist_ok=True)
                file.write_text(dump_mapping(own, {}), encoding="utf-8")
                arm = replace(arm, mapping=str(file.resolve()))
            arms.append(arm)
        return arms

    def _scene(self, network: Profile) -> Scene:
        editions = {
            label: LabEdition(served_site(item.site), expected_connections(item.site))
            for label, item in self._editions.items()
        }
        first = next(iter(self._editions.values()))
        return Scene(
            served_site(first.site),
            network,
            self._job.form_factor,
            expected_connections(first.site),
            editions=editions,
        )


def arm_of(contender: Contender) -> Arm:
    """The arm as plans have it: a table of its own by its fingerprint, wherever its file is."""
    candidate, own = contender.candidate, contender.candidate.mapping()
    if own is not None:
        return Arm(contender.label, candidate.scheme, f"{own.name}-{own.digest}", own.digest)
    table = candidate.configured(catalog.load_mapping).mapping
    usual = SCHEMES[candidate.scheme.partition(":")[0]].default_mapping
    name = candidate.published if candidate.published != usual else None
    return Arm(contender.label, candidate.scheme, name, table.digest if table is not None else None)


def plain_eps(label: str, role: Role, changes: Sequence[Any] = ()) -> Contender:
    """What a server does that follows the browser's signals, and response headers over them."""
    return Contender(label, role, Candidate("eps", published=SCHEMES["eps"].default_mapping), tuple(changes))


def spent_before_s(store: Store, job: Job) -> float:
    """By loads of earlier starts of the same job. Raises UsageError if the folder holds something else."""
    spent_s = 0.0
    for experiment in store.experiments():
        if experiment.facts.get("tune") != job.digest:
            raise UsageError(
                "the folder holds something else",
                why="its loads were not made for this page, network, objective, seed and schemes",
                fix="choose another folder with --out",
            )
        spent_s += sum(run.cost_s for run in stored_runs(store, experiment.digest))
    return spent_s


def only_good_run(found: Measured, network: str) -> Run:
    """The run of a plan of one load. Raises MixedschedError if there is no good one."""
    good = [run for run in found.runs if run.status is RunStatus.OK]
    if good:
        return good[-1]
    raise no_good_run(found.runs, network)


class _Ahead:
    """An observer that is told of the runs to come after this plan's, too."""

    def __init__(self, observer: RunObserver, more: int) -> None:
        self._observer = observer
        self._more = more

    def before(self, arm: str, block: int, warm_up: bool, left: int) -> None:
        self._observer.before(arm, block, warm_up, left + self._more)

    def after(self, run: Run, left: int) -> None:
        self._observer.after(run, left + self._more)
