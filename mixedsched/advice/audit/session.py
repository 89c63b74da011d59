"""An audit from its first load to its result: look, find, screen, measure. Every run is stored at once."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mixedsched.advice.audit._screening import EditionPlayer, Screening, screen
from mixedsched.advice.audit.budget import Measuring, blocks_wanted, more_blocks, plan_measuring
from mixedsched.advice.audit.result import (
    PRIMARY,
    TODAY,
    Alternative,
    Audit,
    AuditVerdict,
    NetworkResult,
    best_contender,
    family_effects,
    outcome_of,
)
from mixedsched.advice.audit.spared import Wastes, play_wastes
from mixedsched.advice.changes.candidates import candidates_of
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.findings import findings_of
from mixedsched.advice.changes.look import look_at
from mixedsched.advice.changes.observed import page_model, scenario_of
from mixedsched.advice.changes.own_server import KeptServer
from mixedsched.advice.changes.page_change import PageModel, document_of, make_edition
from mixedsched.advice.changes.servers import WebServer, recorded_server
from mixedsched.advice.changes.waste import wastes_of
from mixedsched.core.metrics import metric_named
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.analysis import analyse
from mixedsched.lab.bench import Bench, Design, ServedArm, Surroundings
from mixedsched.lab.costs import START_S, known_overhead_s, loads_cost_s, refuse_short_budget
from mixedsched.lab.engine import TimeIsUp
from mixedsched.lab.machine import machine_facts
from mixedsched.lab.model import AS_USUAL, Arm
from mixedsched.lab.plan import arm_of
from mixedsched.lab.play.pool import playing_costs
from mixedsched.lab.play.scenario import SEEDS
from mixedsched.lab.play.task import NamedScheme, Simulator
from mixedsched.lab.results import ExperimentFacts, continued, open_store, spent_before_s
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.profile import Profile
from mixedsched.sites.site import Site
from mixedsched.units import counted
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.servers import is_server, read_choice
from mixedsched.world.store import Store

FOLLOWS_PRIORITIES = "eps"  # the scheme of RFC 9218
CHANGED, CHANGED_SAME_SERVER, NEW_SERVER = "changed", "changed, same server", "priorities followed"
_SIMPLER_LABELS = "changed in part"
EDITIONS_FOLDER = "editions"
SCREENED = 25  # editions in a screening, about


@dataclass(frozen=True, slots=True)
class AuditJob:
    """A site to audit, and how."""

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
    server: WebServer | None = None  # the owner's own, if it was named; else a recording may say
    own: KeptServer | None = None  # the same, if it was named: advice is for it alone
    browser: Browser = Browser.CHROMIUM  # that loads the page

    @property
    def schemes(self) -> tuple[str, ...]:
        """Under which today's page is looked at, the baseline first."""
        return (self.baseline,) if self.own is not None else tuple(dict.fromkeys((self.baseline, FOLLOWS_PRIORITIES)))

    @property
    def digest(self) -> str:
        """Names the audit: equal for equal ones, whatever their budget."""
        networks = [f"{item.name} {sorted(item.facts().items())}" for item in self.networks]
        own = () if self.own is None else (self.own.name, self.own.on, self.own.version)
        browser = () if self.browser is Browser.CHROMIUM else (self.browser.value,)
        facts = (self.site_digest, networks, self.baseline, self.form_factor, self.seed, *own, *browser)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]

    @property
    def work(self) -> dict[str, str]:
        """Marks its loads in the store."""
        return {"audit": self.digest}


@dataclass(frozen=True, slots=True)
class AuditSurroundings(Surroundings):
    """The outside world of an audit."""

    simulator: Simulator[PaintEstimate | None]


def played_as(scheme: str) -> str:
    """The scheme that a baseline is simulated by: of a server of other people's, the one that comes nearest to it."""
    return read_choice(scheme).kind.stand_in if is_server(scheme) else scheme


def refuse_small_budget(job: AuditJob) -> None:
    """Raises UsageError before any work, if there is no time for one block. How long a load takes is simulated."""
    load_s, screening_s = playing_costs(
        [scenario_of(PageModel(job.site.page, {}), network, job.model) for network in job.networks],
        NamedScheme(played_as(job.baseline)),
        job.seed,
        lambda scenario: SCREENED * len(scenario.few_seeds_of(range(SEEDS))),
    )
    loads = len(job.schemes) + 2  # looks under every scheme, and one block of one contender
    least_s = loads_cost_s(load_s, loads, known_overhead_s(job.folder)) + screening_s
    work = "to look at the page, simulate changes and measure a single block"
    refuse_short_budget(job.budget_s, least_s, f"{job.site.name} on {', '.join(load_s)}", work)


async def run_audit(job: AuditJob, world: AuditSurroundings) -> Audit:
    """Carry the audit out, or go on with it.

    Raises MixedschedError if the page cannot be loaded, UsageError if the folder holds something else, and what the site's
    files or the lab are refused for.
    """
    with open_store(job.folder) as store:
        return await _AuditSession(job, world, store).run()


class _AuditSession:
    def __init__(self, job: AuditJob, world: AuditSurroundings, store: Store) -> None:
        self._job = job
        self._world = world
        self._store = store
        self._started_s = world.began_s - spent_before_s(store, job.work)
        self._machine = machine_facts()  # with its load before ours

    @property
    def _spent_s(self) -> float:
        return self._world.clock_s() - self._started_s

    async def run(self) -> Audit:
        job, world = self._job, self._world
        results = [await self._looked_at(network) for network in job.networks]
        models = {item.name: page_model(item.look, job.site.page, job.site.hosts, job.model) for item in results}
        player = EditionPlayer(models, job.networks, self._world.simulator, job.model, job.seed, job.own)
        wastes = self._wastes(results, models, player)
        screening, contenders, expected_today = self._screen(results, player)
        measuring = self._measuring(results, contenders)
        contenders = contenders[: measuring.contenders]
        arms = " and ".join(f"'{item.label}'" for item in contenders)
        for place, result in enumerate(results if contenders else ()):
            share_s = (job.budget_s - self._spent_s) / (len(results) - place)
            world.say(f"measuring {arms} against today's page over {result.name}")
            results[place] = await self._measured(result, contenders, measuring.blocks, self._spent_s + share_s)
        audit = replace(self._concluded(results, screening, expected_today, contenders), wastes=wastes)
        self._note_look(audit)
        return audit

    def _bench(self, arms: Sequence[ServedArm], *, inspect: bool = False) -> Bench:
        job = self._job
        design = Design(
            tuple(arms),
            (PRIMARY,),
            job.form_factor,
            job.seed,
            metrics=job.browser.metrics,
            conditions=replace(AS_USUAL, browser=job.browser),
            inspect=inspect,
        )
        facts = ExperimentFacts(versions=job.versions, work=job.work)
        return Bench(design, self._store, job.folder, facts, self._world.observe, say=self._world.say)

    def _arm(self, label: str, scheme: str, changes: Sequence[Change] = ()) -> ServedArm:
        folder = (self._job.folder / EDITIONS_FOLDER).resolve()
        edition = make_edition(self._job.site, self._job.site_digest, changes, folder)
        arm = replace(arm_of(scheme), label=label) if is_server(scheme) else Arm(label, scheme)
        return ServedArm(arm, edition.site, edition.digest)

    async def _looked_at(self, network: Profile) -> NetworkResult:
        """One load of today's page under every scheme, and what it shows."""
        job, site = self._job, self._job.site
        self._world.say(f"looking at {site.name} as it is today over {network.name}")
        labels = {scheme: f"{TODAY}, {scheme}" for scheme in job.schemes}
        arms = [self._arm(label, scheme) for scheme, label in labels.items()]
        async with self._bench(arms, inspect=True) as bench:
            runs = await bench.look(network)
        looks = {scheme: runs[label] for scheme, label in labels.items()}
        look = look_at(looks[job.baseline], site.page, site.hosts, network.rtt_ms)
        return NetworkResult(network, looks, look, tuple(findings_of(look, network.down.rate_bps)))

    def _wastes(
        self, results: Sequence[NetworkResult], models: Mapping[str, PageModel], player: EditionPlayer
    ) -> Wastes:
        """What the first network's look found, played over all of them."""
        job, site, first = self._job, self._job.site, results[0]
        known = site.replay  # else header fields are those of our server, which says nothing of caching
        inspection = first.look.run.page_load.get("inspection")
        wastes = wastes_of(inspection, site.page, site.hosts, first.profile.rtt_ms, knows_caching=known)
        if wastes:
            self._world.say(f"simulating the page without {counted(len(wastes), 'way')} of wasting bytes or time")
        today_ms = {item.name: item.look.lcp_ms for item in results}
        return play_wastes(wastes, models, player, played_as(job.baseline), today_ms, knows_caching=known)

    def _screen(
        self, results: Sequence[NetworkResult], player: EditionPlayer
    ) -> tuple[Screening, list[Alternative], Mapping[str, PaintEstimate]]:
        job, site = self._job, self._job.site
        late = [item for result in results for item in result.findings]
        candidates = candidates_of([result.look for result in results], late, document_of(site))
        if site.application is not None:  # an edge changes fields, not documents
            self._world.say("changes of the document are left out: edges forward the document unchanged")
            candidates = [item for item in candidates if not item.is_html]
        elif job.own is not None and job.own.headers != "merged":
            candidates = [item for item in candidates if item.is_html]
        self._world.say(f"simulating {counted(len(candidates), 'change')}, alone and in sets")
        today = FOLLOWS_PRIORITIES if job.own is None else played_as(job.baseline)
        screening = screen(candidates, player.under(today))
        expected_today = player.under(played_as(job.baseline))([()])[0]
        is_kept = job.own is not None
        return screening, _contenders(screening, job.baseline, player, is_kept=is_kept), expected_today

    def _measuring(self, results: Sequence[NetworkResult], contenders: Sequence[Alternative]) -> Measuring:
        """The size of the proof, from the stored costs of the looks, so that an audit that is continued decides alike."""
        looked_s = sum(run.cost_s for item in results for run in item.looks.values()) + START_S * len(results)
        costs_s = {item.name: item.looks[self._job.baseline].cost_s for item in results}
        begun = self._begun(results[0].profile, contenders)
        return plan_measuring(self._job.budget_s - looked_s, costs_s, len(contenders), begun)

    def _begun(self, network: Profile, contenders: Sequence[Alternative]) -> int:
        """How many contenders an earlier start has measured; 0 if none did."""
        for count in range(len(contenders), 0, -1):
            bench = self._bench(self._arms(contenders[:count]))
            if bench.stored(bench.design.plan(network, 1)) is not None:
                return count
        return 0

    def _arms(self, contenders: Sequence[Alternative]) -> list[ServedArm]:
        """The arms of a comparison with today's delivery."""
        others = (self._arm(item.label, item.scheme, item.changes) for item in contenders)
        return [self._arm(TODAY, self._job.baseline), *others]

    async def _measured(
        self, result: NetworkResult, contenders: Sequence[Alternative], blocks: int, deadline_s: float
    ) -> NetworkResult:
        """The network with its comparison. deadline_s: of the time spent, after which no run begins."""
        network = result.profile
        arms = self._arms(contenders)
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
                costs_s = [run.cost_s for run in runs]
                more = more_blocks(deadline_s - self._spent_s, costs_s, len(arms), len(plan.blocks))
                blocks = len(plan.blocks) + more  # loads were cheaper than the first looks made believe
        return replace(result, comparison=analyse(plan, runs), runs=tuple(runs))

    def _concluded(
        self,
        results: Sequence[NetworkResult],
        screening: Screening,
        expected_today: Mapping[str, PaintEstimate],
        contenders: Sequence[Alternative],
    ) -> Audit:
        job = self._job
        comparisons = {item.name: item.comparison for item in results if item.comparison is not None}
        effects = family_effects(comparisons)
        judged = tuple(replace(item, effects=effects.get(item.name, ())) for item in results)
        promising = {item.label for item in contenders if _is_promising(item, expected_today)}
        label = best_contender(effects, [item.label for item in contenders], promising)
        chosen = next((item for item in contenders if item.label == label), None)
        outcome = AuditVerdict.GOOD if label is None else outcome_of(effects, label, promises=label in promising)
        return Audit(
            site=job.site.name,
            title=job.site.title or job.site.name,
            form_factor=job.form_factor,
            browser=job.browser,
            baseline=job.baseline,
            budget_s=job.budget_s,
            spent_s=self._spent_s,
            document=document_of(job.site),
            networks=judged,
            screening=screening,
            expected_today=expected_today,
            contenders=tuple(contenders),
            chosen=chosen,
            outcome=outcome,
            server=job.server or recorded_server(job.site),
            looked=max((item.facts.get("looked", 0) for item in self._store.experiments()), default=0),
            own=job.own,
            facts={
                "machine": self._machine,
                "versions": dict(job.versions),
                "browser_model": {"name": job.model.name, "source": job.model.source},
            },
        )

    def _note_look(self, audit: Audit) -> None:
        """Its results are shown now: whoever goes on after that looks again."""
        if audit.looked or audit.complete_blocks < blocks_wanted(len(audit.contenders), len(audit.networks)):
            return
        shown = {item.comparison.plan.digest for item in audit.networks if item.comparison is not None}
        for stored in self._store.experiments():
            if stored.digest in shown:
                self._store.save_plan(stored.digest, stored.plan, {**stored.facts, "looked": audit.complete_blocks})


def _contenders(
    screening: Screening, baseline: str, player: EditionPlayer, *, is_kept: bool = False
) -> list[Alternative]:
    """Deliveries worth measuring, in order of interest. is_kept: whether the server is to stay."""
    best = screening.best.changes
    if not best and screening.singles and screening.singles[0].score < 0:
        best = screening.singles[0].changes  # little, if anything; simulation may be wrong
    changed_on = baseline if is_kept else FOLLOWS_PRIORITIES
    wanted: list[tuple[str, str, tuple[Change, ...]]] = [(CHANGED, changed_on, best)] if best else []
    if baseline != FOLLOWS_PRIORITIES and not is_kept:
        in_document = tuple(change for change in best if change.is_html)
        wanted += [(CHANGED_SAME_SERVER, baseline, in_document)] if in_document else []
        wanted.append((NEW_SERVER, FOLLOWS_PRIORITIES, ()))
    else:
        simpler = [item.changes for item in screening.simpler][:1]
        wanted += [(_SIMPLER_LABELS, changed_on, changes) for changes in simpler]
    return [
        Alternative(label, scheme, changes, player.under(played_as(scheme))([changes])[0])
        for label, scheme, changes in wanted
    ]


def _is_promising(contender: Alternative, today: Mapping[str, PaintEstimate]) -> bool:
    """Whether simulation expects a gain beyond the margin on a network."""
    least = 1 - metric_named(PRIMARY).margin
    return any(contender.expected[name].lcp_ms < today[name].lcp_ms * least for name in today)
