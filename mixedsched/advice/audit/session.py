"""An audit from its first load to its result: look, find, screen, measure. Every run is stored at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mixedsched.advice.audit.budget import START_S, Measuring, more_blocks, plan_measuring
from mixedsched.advice.audit.play import Player, Workers
from mixedsched.advice.audit.result import TODAY, Alternative, Audit, NetworkResult
from mixedsched.advice.audit.screening import Screening, screen
from mixedsched.advice.audit.verdict import PRIMARY, AuditVerdict, best_contender, family_effects, outcome_of
from mixedsched.advice.changes.candidates import candidates_of
from mixedsched.advice.changes.edition import Edition, document_of, make_edition
from mixedsched.advice.changes.findings import LateResource, findings_of
from mixedsched.advice.changes.look import Look, look_at
from mixedsched.core.metrics import metric_named
from mixedsched.errors import UsageError
from mixedsched.lab.analysis import analyse
from mixedsched.lab.engine import Laboratory, RunObserver, carry_out, stored_runs
from mixedsched.lab.in_time import InTime, TimeIsUp
from mixedsched.lab.lab import Edition as LabEdition
from mixedsched.lab.lab import Lab, Scene
from mixedsched.lab.model import Arm, Block, Plan, Run, RunStatus
from mixedsched.lab.patience import Impatient, no_good_run
from mixedsched.lab.plan import make_plan
from mixedsched.lab.progress import runs_left
from mixedsched.lab.resume import continued, refuse_other_versions
from mixedsched.model.profile import Profile
from mixedsched.sites.analysis import expected_connections
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Site
from mixedsched.world.store import Store, StoredExperiment

FOLLOWS_PRIORITIES = "eps"  # the scheme of RFC 9218
CHANGED, CHANGED_SAME_SERVER, NEW_SERVER = "changed", "changed, same server", "priorities followed"
_SIMPLER_LABELS = "changed in part"
EDITIONS_FOLDER, MEMORY_NAME = "editions", "screening.json"
_LOOK_BLOCK = 1
_SEED_SPACE = 1_000_000  # apart from the seeds of measured links, which are drawn from 48 bits by name


@dataclass(frozen=True, slots=True)
class Job:
    """What to audit. site_digest: fingerprint of what it serves. baseline: scheme of today's server. versions: of our own
    programs. seed: of orders, links and simulations. folder: for everything that is kept."""

    site: Site
    site_digest: str
    networks: tuple[Profile, ...]
    baseline: str
    form_factor: str
    budget_s: float
    seed: int
    folder: Path
    versions: Mapping[str, str]

    @property
    def schemes(self) -> tuple[str, ...]:
        """Under which today's page is looked at, the baseline first."""
        return tuple(dict.fromkeys((self.baseline, FOLLOWS_PRIORITIES)))

    @property
    def digest(self) -> str:
        """Names the audit: equal for equal ones, whatever their budget."""
        networks = [f"{item.name} {sorted(item.facts().items())}" for item in self.networks]
        facts = (self.site_digest, networks, self.baseline, self.form_factor, self.seed)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an audit needs of the world.

    clock_s: monotonic. began_s: when the time of the audit began to count, by that clock. say: one line on what happens now.
    observe: watches runs, given how many are left. workers: play simulated loads.
    """

    clock_s: Callable[[], float]
    began_s: float
    say: Callable[[str], None]
    observe: Callable[[int], AbstractContextManager[RunObserver]]
    workers: Workers


async def run_audit(job: Job, world: Surroundings, facts: Mapping[str, Any]) -> Audit:
    """Carry the audit out, or go on with it. Raises MixedschedError if the page cannot be loaded, UsageError if the folder
    holds another audit, and what the site's files or the lab are refused for."""
    with Store(f"sqlite:///{job.folder / 'results.sqlite'}") as store:
        return await _Session(job, world, store).run(facts)


class _Session:
    def __init__(self, job: Job, world: Surroundings, store: Store) -> None:
        self._job = job
        self._world = world
        self._store = store
        self._started_s = world.began_s - self._spent_before_s()

    @property
    def _spent_s(self) -> float:
        return self._world.clock_s() - self._started_s

    async def run(self, facts: Mapping[str, Any]) -> Audit:
        job, world = self._job, self._world
        today = self._edition(())
        looks = {}
        for network in job.networks:
            world.say(f"looking at {job.site.name} as it is today over {network.name}")
            looks[network.name] = await self._look(network, today)
        read = {
            network.name: look_at(looks[network.name][job.baseline], job.site.page, job.site.hosts, network.rtt_ms)
            for network in job.networks
        }
        findings = {
            network.name: tuple(findings_of(read[network.name], network.down.rate_bps)) for network in job.networks
        }
        screening, contenders, expected_today = self._screen(read, findings)
        measuring = self._measuring(looks, contenders)
        contenders = contenders[: measuring.contenders]
        results = []
        for place, network in enumerate(job.networks):
            result = NetworkResult(network, looks[network.name], read[network.name], findings[network.name])
            share = (job.budget_s - self._spent_s) / (len(job.networks) - place)
            if contenders:
                world.say(f"measuring {_arms_in_words(contenders)} against today's page over {network.name}")
                result = await self._measured(result, today, contenders, measuring, self._spent_s + share)
            results.append(result)
        return self._concluded(results, screening, expected_today, contenders, facts)

    def _spent_before_s(self) -> float:
        """By earlier starts of the same audit. Raises UsageError if the folder holds another one."""
        spent_s = 0.0
        for experiment in self._store.experiments():
            if experiment.facts.get("audit") != self._job.digest:
                raise UsageError("the folder holds another audit", fix="choose another folder with --out")
            spent_s += sum(run.cost_s for run in stored_runs(self._store, experiment.digest))
        return spent_s

    def _edition(self, changes: Sequence[Any]) -> Edition:
        folder = self._job.folder / EDITIONS_FOLDER
        return make_edition(self._job.site, self._job.site_digest, changes, folder.resolve())

    async def _look(self, network: Profile, today: Edition) -> dict[str, Run]:
        """One load of today's page under every scheme."""
        arms = [Arm(f"{TODAY}, {scheme}", scheme) for scheme in self._job.schemes]
        labels = tuple(arm.label for arm in arms)
        plan = self._plan(network, arms, [today] * len(arms), blocks=1)
        plan = replace(plan, blocks=(Block(_LOOK_BLOCK, self._job.seed, labels),))
        await self._carry_out(plan, network, dict.fromkeys(labels, today), deadline_s=None)
        runs = stored_runs(self._store, plan.digest)
        good = {run.arm: run for run in runs if run.status is RunStatus.OK}
        if any(label not in good for label in labels):
            raise no_good_run(runs, network.name)
        return {arm.scheme: good[arm.label] for arm in arms}

    def _screen(
        self, looks: Mapping[str, Look], findings: Mapping[str, Sequence[LateResource]]
    ) -> tuple[Screening, list[Alternative], Mapping[str, Any]]:
        job = self._job
        document = document_of(job.site)
        everything = [item for items in findings.values() for item in items]
        candidates = candidates_of(list(looks.values()), everything, document)
        self._world.say(f"simulating {len(candidates)} changes and sets of them")
        codes = ",".join(change.code for change in candidates)
        runs = ",".join(look.run.started_at for look in looks.values())
        player = Player(
            {name: look.model for name, look in looks.items()},
            job.networks,
            self._world.workers,
            first_seed=_SEED_SPACE + job.seed,
            memory=job.folder / MEMORY_NAME,
            subject=hashlib.sha256(f"{job.digest} {codes} {runs} {sorted(job.versions.items())}".encode()).hexdigest(),
        )
        screening = screen(candidates, player.under(FOLLOWS_PRIORITIES))
        expected_today = player.under(job.baseline)([()])[0]
        return screening, _contenders(screening, job.baseline, player), expected_today

    def _measuring(self, looks: Mapping[str, Mapping[str, Run]], contenders: Sequence[Alternative]) -> Measuring:
        """From costs of the looks, which are stored, so that an audit that goes on decides alike."""
        looked_s = sum(run.cost_s for runs in looks.values() for run in runs.values()) + START_S * len(looks)
        costs_s = {name: runs[self._job.baseline].cost_s for name, runs in looks.items()}
        return plan_measuring(self._job.budget_s - looked_s, costs_s, len(contenders))

    async def _measured(
        self,
        result: NetworkResult,
        today: Edition,
        contenders: Sequence[Alternative],
        measuring: Measuring,
        deadline_s: float,
    ) -> NetworkResult:
        """The network with its comparison. deadline_s: of the time spent, after which no run begins."""
        network, blocks = result.profile, measuring.blocks
        editions = {TODAY: today, **{item.label: self._edition(item.changes) for item in contenders}}
        arms = [Arm(TODAY, self._job.baseline), *(Arm(item.label, item.scheme) for item in contenders)]
        while True:
            plan = self._plan(network, arms, list(editions.values()), blocks)
            plan = replace(plan, blocks=tuple(block for block in plan.blocks if not block.warm_up))
            plan = continued(plan, self._stored(plan))
            await self._carry_out(plan, network, editions, deadline_s)
            runs = stored_runs(self._store, plan.digest)
            more = more_blocks(deadline_s - self._spent_s, [run.cost_s for run in runs], len(arms), len(plan.blocks))
            if not more:
                break
            blocks = len(plan.blocks) + more  # loads were cheaper than the first looks made believe
        return replace(result, comparison=analyse(plan, runs), runs=tuple(runs))

    def _stored(self, plan: Plan) -> StoredExperiment | None:
        return next((item for item in self._store.experiments() if item.digest == plan.digest), None)

    def _plan(self, network: Profile, arms: Sequence[Arm], editions: Sequence[Edition], blocks: int) -> Plan:
        """Without a warm-up: every arm has a server of its own, so all are equally new in the first block."""
        job = self._job
        served = " ".join(edition.digest for edition in editions)
        arguments: dict[str, Any] = {
            "site": job.site.name,
            "site_digest": hashlib.sha256(served.encode()).hexdigest()[:16],
            "link": network.name,
            "link_facts": network.facts(),
            "form_factor": job.form_factor,
            "baseline": arms[0].label,
            "primary": (metric_named(PRIMARY).key,),
            "seed": job.seed,
        }
        if len(arms) == 1:
            return Plan(**arguments, arms=tuple(arms), blocks=(Block(_LOOK_BLOCK, job.seed, (arms[0].label,)),))
        return make_plan(**arguments, arms=arms, blocks=blocks)

    async def _carry_out(
        self, plan: Plan, network: Profile, editions: Mapping[str, Edition], deadline_s: float | None
    ) -> None:
        """Make the runs that are missing, as far as the time goes."""
        job = self._job
        stored = self._stored(plan)
        left = runs_left(plan, stored_runs(self._store, plan.digest)) if stored is not None else 1
        if not left or (deadline_s is not None and self._spent_s >= deadline_s):
            return
        first = next(iter(editions.values()))
        connections = {label: expected_connections(edition.site) for label, edition in editions.items()}
        scene = Scene(
            served_site(first.site),
            network,
            job.form_factor,
            next(iter(connections.values())),
            editions={
                label: LabEdition(served_site(edition.site), connections[label]) for label, edition in editions.items()
            },
        )
        async with Lab(scene, plan.arms, job.folder) as lab:
            versions = {**job.versions, **await lab.versions()}
            refuse_other_versions(stored, versions)
            self._store.save_plan(plan.digest, plan.to_dict(), {"audit": job.digest, "versions": versions})
            with self._world.observe(runs_left(plan, stored_runs(self._store, plan.digest))) as observer:
                laboratory: Laboratory
                if deadline_s is None:
                    laboratory = Impatient(lab, _LOOK_BLOCK)
                else:
                    laboratory = InTime(lab, lambda: self._spent_s < deadline_s)
                try:
                    await carry_out(plan, self._store, laboratory, observer)
                except TimeIsUp:
                    self._world.say("the time is up")

    def _concluded(
        self,
        results: Sequence[NetworkResult],
        screening: Screening,
        expected_today: Mapping[str, Any],
        contenders: Sequence[Alternative],
        facts: Mapping[str, Any],
    ) -> Audit:
        job = self._job
        comparisons = {item.name: item.comparison for item in results if item.comparison is not None}
        effects = family_effects(comparisons)
        judged = tuple(replace(item, effects=effects.get(item.name, ())) for item in results)
        label = best_contender(effects, [item.label for item in contenders])
        chosen = next((item for item in contenders if item.label == label), None)
        return Audit(
            site=job.site.name,
            title=job.site.title or job.site.name,
            form_factor=job.form_factor,
            baseline=job.baseline,
            budget_s=job.budget_s,
            spent_s=self._spent_s,
            document=document_of(job.site),
            networks=judged,
            screening=screening,
            expected_today=expected_today,
            contenders=tuple(contenders),
            chosen=chosen,
            outcome=_outcome(effects, chosen, expected_today),
            facts=facts,
        )


def _contenders(screening: Screening, baseline: str, player: Player) -> list[Alternative]:
    """What is worth measuring, in order of interest."""
    best = screening.best.changes
    if not best and screening.singles and screening.singles[0].score < 0:
        best = screening.singles[0].changes  # little, if anything; simulation may be wrong
    wanted: list[tuple[str, str, tuple[Any, ...]]] = [(CHANGED, FOLLOWS_PRIORITIES, best)] if best else []
    if baseline != FOLLOWS_PRIORITIES:
        in_document = tuple(change for change in best if change.is_html)
        wanted += [(CHANGED_SAME_SERVER, baseline, in_document)] if in_document else []
        wanted.append((NEW_SERVER, FOLLOWS_PRIORITIES, ()))
    else:
        simpler = [item.changes for item in screening.simpler][:1]
        wanted += [(_SIMPLER_LABELS, FOLLOWS_PRIORITIES, changes) for changes in simpler]
    return [
        Alternative(label, scheme, changes, player.under(scheme)([changes])[0]) for label, scheme, changes in wanted
    ]


def _outcome(
    effects: Mapping[str, Sequence[Any]], chosen: Alternative | None, expected_today: Mapping[str, Any]
) -> AuditVerdict:
    if chosen is None:
        return AuditVerdict.GOOD
    margin = metric_named(PRIMARY).margin
    promises = any(chosen.expected[name].lcp_ms < expected_today[name].lcp_ms * (1 - margin) for name in expected_today)
    return outcome_of(effects, chosen.label, promises=promises)


def _arms_in_words(contenders: Sequence[Alternative]) -> str:
    return " and ".join(f"'{item.label}'" for item in contenders)
