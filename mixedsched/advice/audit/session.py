"""An audit from its first load to its result: look, find, screen, measure. Every run is stored at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mixedsched.advice.audit.budget import Measuring, more_blocks, plan_measuring
from mixedsched.advice.audit.play import EditionPlayer
from mixedsched.advice.audit.result import TODAY, Alternative, Audit, NetworkResult
from mixedsched.advice.audit.screening import Screening, screen
from mixedsched.advice.audit.verdict import PRIMARY, AuditVerdict, best_contender, family_effects, outcome_of
from mixedsched.advice.changes.candidates import candidates_of
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.edition import document_of, make_edition
from mixedsched.advice.changes.findings import LateResource, findings_of
from mixedsched.advice.changes.look import Look, look_at
from mixedsched.advice.changes.observed import page_model
from mixedsched.core.metrics import metric_named
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.analysis import analyse
from mixedsched.lab.bench import Bench, Design, ServedArm, Surroundings
from mixedsched.lab.costs import START_S
from mixedsched.lab.engine import TimeIsUp
from mixedsched.lab.model import Arm, Run
from mixedsched.lab.play.task import Simulator
from mixedsched.lab.results import ExperimentFacts, continued, open_store, spent_before_s
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.profile import Profile
from mixedsched.sites.site import Site
from mixedsched.world.store import Store

FOLLOWS_PRIORITIES = "eps"  # the scheme of RFC 9218
CHANGED, CHANGED_SAME_SERVER, NEW_SERVER = "changed", "changed, same server", "priorities followed"
_SIMPLER_LABELS = "changed in part"
EDITIONS_FOLDER = "editions"


@dataclass(frozen=True, slots=True)
class AuditJob:
    """What to audit."""

    site: Site
    site_digest: str  # fingerprint of what it serves
    networks: tuple[Profile, ...]
    baseline: str  # scheme of today's server
    form_factor: str
    budget_s: float
    seed: int  # of orders, links and simulations
    folder: Path  # for everything that is kept
    versions: Mapping[str, str]  # of our own programs
    model: BrowserModel  # plays the page in simulation

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

    @property
    def work(self) -> dict[str, str]:
        """Marks its loads in the store."""
        return {"audit": self.digest}


@dataclass(frozen=True, slots=True)
class AuditSurroundings(Surroundings):
    """What an audit needs of the world."""

    simulator: Simulator[PaintEstimate | None]


async def run_audit(job: AuditJob, world: AuditSurroundings, facts: Mapping[str, Any]) -> Audit:
    """Carry the audit out, or go on with it.

    facts: of the machine and the versions, for the result. Raises MixedschedError if the page cannot be loaded, UsageError
    if the folder holds another audit, and what the site's files or the lab are refused for.
    """
    with open_store(job.folder) as store:
        return await _AuditSession(job, world, store).run(facts)


class _AuditSession:
    def __init__(self, job: AuditJob, world: AuditSurroundings, store: Store) -> None:
        self._job = job
        self._world = world
        self._store = store
        self._started_s = world.began_s - spent_before_s(store, job.work)

    @property
    def _spent_s(self) -> float:
        return self._world.clock_s() - self._started_s

    async def run(self, facts: Mapping[str, Any]) -> Audit:
        job, world = self._job, self._world
        looks = {}
        for network in job.networks:
            world.say(f"looking at {job.site.name} as it is today over {network.name}")
            looks[network.name] = await self._look(network)
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
                arms = " and ".join(f"'{item.label}'" for item in contenders)
                world.say(f"measuring {arms} against today's page over {network.name}")
                result = await self._measured(result, contenders, measuring, self._spent_s + share)
            results.append(result)
        return self._concluded(results, screening, expected_today, contenders, facts)

    def _bench(self, arms: Sequence[ServedArm]) -> Bench:
        job = self._job
        design = Design(tuple(arms), (PRIMARY,), job.form_factor, job.seed)
        facts = ExperimentFacts(versions=job.versions, work=job.work)
        return Bench(design, self._store, job.folder, facts, self._world.observe)

    def _arm(self, label: str, scheme: str, changes: Sequence[Change] = ()) -> ServedArm:
        folder = (self._job.folder / EDITIONS_FOLDER).resolve()
        edition = make_edition(self._job.site, self._job.site_digest, changes, folder)
        return ServedArm(Arm(label, scheme), edition.site, edition.digest)

    async def _look(self, network: Profile) -> dict[str, Run]:
        """One load of today's page under every scheme."""
        labels = {scheme: f"{TODAY}, {scheme}" for scheme in self._job.schemes}
        async with self._bench([self._arm(label, scheme) for scheme, label in labels.items()]) as bench:
            runs = await bench.look(network)
        return {scheme: runs[label] for scheme, label in labels.items()}

    def _screen(
        self, looks: Mapping[str, Look], findings: Mapping[str, Sequence[LateResource]]
    ) -> tuple[Screening, list[Alternative], Mapping[str, Any]]:
        job = self._job
        document = document_of(job.site)
        everything = [item for items in findings.values() for item in items]
        candidates = candidates_of(list(looks.values()), everything, document)
        self._world.say(f"simulating {len(candidates)} changes and sets of them")
        models = {name: page_model(look, job.site.page, job.site.hosts, job.model) for name, look in looks.items()}
        player = EditionPlayer(models, job.networks, self._world.simulator, job.model, job.seed)
        screening = screen(candidates, player.under(FOLLOWS_PRIORITIES))
        expected_today = player.under(job.baseline)([()])[0]
        return screening, _contenders(screening, job.baseline, player), expected_today

    def _measuring(self, looks: Mapping[str, Mapping[str, Run]], contenders: Sequence[Alternative]) -> Measuring:
        """From costs of the looks, which are stored, so that an audit that goes on decides alike."""
        looked_s = sum(run.cost_s for runs in looks.values() for run in runs.values()) + START_S * len(looks)
        costs_s = {name: runs[self._job.baseline].cost_s for name, runs in looks.items()}
        return plan_measuring(self._job.budget_s - looked_s, costs_s, len(contenders))

    async def _measured(
        self, result: NetworkResult, contenders: Sequence[Alternative], measuring: Measuring, deadline_s: float
    ) -> NetworkResult:
        """The network with its comparison. deadline_s: of the time spent, after which no run begins."""
        network, blocks = result.profile, measuring.blocks
        arms = [
            self._arm(TODAY, self._job.baseline),
            *(self._arm(item.label, item.scheme, item.changes) for item in contenders),
        ]
        async with self._bench(arms) as bench:
            more = blocks
            while more:
                plan = bench.design.plan(network, blocks)
                plan = continued(plan, bench.stored(plan))
                try:
                    await bench.carry_out(plan, network, lambda: self._spent_s < deadline_s)
                except TimeIsUp:
                    self._world.say("the time is up")
                runs = bench.runs(plan)
                more = more_blocks(
                    deadline_s - self._spent_s, [run.cost_s for run in runs], len(arms), len(plan.blocks)
                )
                blocks = len(plan.blocks) + more  # loads were cheaper than the first looks made believe
        return replace(result, comparison=analyse(plan, runs), runs=tuple(runs))

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


def _contenders(screening: Screening, baseline: str, player: EditionPlayer) -> list[Alternative]:
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
