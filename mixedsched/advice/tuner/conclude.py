"""From all that is known to a Tuning: one word for the page, its reason, and the evidence. Pure but for two simulated loads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mixedsched.advice.tuner.budget import deciding_blocks
from mixedsched.advice.tuner.complexity import deviations
from mixedsched.advice.tuner.contest import Raced
from mixedsched.advice.tuner.entrants import SEQUENTIAL, TUNED, all_contenders, label_of
from mixedsched.advice.tuner.job import BROWSER, TuneJob
from mixedsched.advice.tuner.looks import View, hero_note
from mixedsched.advice.tuner.proof import Judgement, judge
from mixedsched.advice.tuner.reasons import (
    at_bound,
    confirmed_reason,
    nothing_reason,
    out_raced_reason,
    simulated_reason,
    unconfirmed_reason,
)
from mixedsched.advice.tuner.remains import Remains, measured_lines, remains
from mixedsched.advice.tuner.result import Contender, Estimates, NetworkProof, Outcome, Role, Scored, Tuning
from mixedsched.advice.tuner.scoring import BASELINES
from mixedsched.advice.tuner.search import SearchResult
from mixedsched.advice.tuner.ship.headers import HeaderPlan
from mixedsched.advice.tuner.ship.lines import HtmlLine
from mixedsched.advice.tuner.ship.screening import Shipping
from mixedsched.core.sim.load import PageLoad
from mixedsched.errors import PageLoadError
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Comparison, Effect, Verdict
from mixedsched.lab.engine import missing_blocks
from mixedsched.lab.model import Plan, Run
from mixedsched.lab.play.task import Task, play_whole
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile


@dataclass(slots=True)
class Known:
    """What a session has found out so far. candidates: of the search, that promise something. entrants, racing, finalists: see
    those modules. runs: stored ones by (phase, network)."""

    job: TuneJob
    view: View | None = None
    search: SearchResult | None = None
    bounds: dict[str, Estimates] = field(default_factory=dict)
    candidates: tuple[Scored, ...] = ()
    entrants: tuple[Contender, ...] = ()
    racing: tuple[Contender, ...] = ()
    raced: Raced = field(default_factory=Raced)
    shipping: Shipping | None = None
    finalists: tuple[Contender, ...] = ()
    proof_plans: dict[str, Plan] = field(default_factory=dict)
    runs: Mapping[tuple[str, str], tuple[Run, ...]] = field(default_factory=dict)

    @property
    def page(self) -> Page:
        """As it showed itself on the first network, else as its manifest has it."""
        return self.view.scenes[0].page if self.view is not None else self.job.page

    @property
    def header_plan(self) -> HeaderPlan:
        """What headers can say of the winner; one without rules as long as that was not tried."""
        return self.shipping.plan if self.shipping is not None else HeaderPlan(())

    @property
    def best_baseline(self) -> str:
        """The one to beat: by the race, or by simulation where none was run."""
        labels = [item.label for item in self.racing if item.role is Role.BASELINE]
        return self.raced.best(labels) or (self.search.best_baseline if self.search is not None else SEQUENTIAL)

    @property
    def winner_label(self) -> str:
        """Of the best candidate: by the race, or by simulation."""
        return self.raced.best([item.label for item in self.racing if item.role is Role.TUNED]) or TUNED

    @property
    def winner(self) -> Scored | None:
        by_label = {label_of(place): item for place, item in enumerate(self.candidates)}
        return by_label.get(self.winner_label)


def concluded(known: Known, spent_s: float, facts: Mapping[str, Any], *, interrupted: bool) -> Tuning:
    """All of it, as far as it is known."""
    job, found = known.job, known.search
    comparisons = _comparisons(known, "proof", known.proof_plans)
    judgement = _judged(known, comparisons)
    networks = tuple(_network(known, network, comparisons, judgement) for network in job.networks)
    winner = known.winner
    outcome, reason = _outcome(known, comparisons, judgement, interrupted=interrupted)
    left = _remains(known, comparisons, judgement)
    return Tuning(
        site=job.name,
        title=job.title,
        form_factor=job.form_factor,
        objective=dict(job.objective.weights),
        budget_s=job.budget_s,
        spent_s=spent_s,
        seed=job.seed,
        outcome=outcome,
        reason=reason,
        rungs=found.rungs if found is not None else (),
        baselines=dict(found.baselines) if found is not None else {},
        best_baseline=known.best_baseline,
        winner=winner,
        runners_up=tuple(item for item in known.candidates if item is not winner),
        deviations=deviations(winner.candidate, known.page) if winner is not None else (),
        contenders=all_contenders(known.finalists, known.racing, known.winner_label),
        networks=networks,
        headers=() if Role.HEADERS in left.withheld else known.header_plan.rules,
        html=() if Role.HTML in left.withheld else _html(known, comparisons),
        kept_pct=left.kept_pct,
        kept_range_pct=left.kept_range_pct,
        withheld=left.withheld,
        notes=_notes(known, comparisons),
        facts={**facts, "missing_blocks": _missing(known)},
        rung=job.rung,
    )


def _comparisons(known: Known, phase: str, plans: Mapping[str, Plan]) -> dict[str, Comparison]:
    """Of the networks on which the phase has a complete block, against the best baseline."""
    best = known.best_baseline
    compared = {
        name: analyse(replace(plan, baseline=best if best in {arm.label for arm in plan.arms} else plan.baseline), runs)
        for name, plan in plans.items()
        if (runs := known.runs.get((phase, name), ()))
    }
    return {name: item for name, item in compared.items() if item.complete_blocks}


def _judged(known: Known, comparisons: Mapping[str, Comparison]) -> Judgement | None:
    """None as long as a network has no block."""
    if not comparisons or len(comparisons) < len(known.job.networks):
        return None
    return judge(comparisons, known.finalists, known.best_baseline, known.job.objective.weights)


def _network(
    known: Known, network: Profile, comparisons: Mapping[str, Comparison], judgement: Judgement | None
) -> NetworkProof:
    name, proof = network.name, comparisons.get(network.name)
    races = _comparisons(known, "race", known.raced.plans)
    sequential = None
    if proof is not None and proof.plan.baseline != SEQUENTIAL and SEQUENTIAL in {arm.label for arm in proof.arms}:
        sequential = analyse(replace(proof.plan, baseline=SEQUENTIAL), known.runs["proof", name])
    return NetworkProof(
        profile=network,
        bound=known.bounds.get(name, Estimates(0.0, 0.0, 0.0)),
        race=races.get(name),
        race_runs=known.runs.get(("race", name), ()),
        dropped=tuple(known.raced.dropped),
        proof=proof,
        runs=known.runs.get(("proof", name), ()),
        effects=judgement.effects[name] if judgement is not None else (),
        simulated=_simulated(known, name) if proof is None else (),
        sequential=sequential,
    )


def _simulated(known: Known, name: str) -> tuple[PageLoad, ...]:
    """One load under the best baseline, one under the winner; nothing where there is no winner or one of them never ends."""
    if known.view is None or known.search is None or known.winner is None:
        return ()
    scene = next(scene for scene in known.view.scenes if scene.name == name)
    baseline = known.search.baselines[known.best_baseline].candidate
    try:
        return tuple(play_whole(Task(scene, item, known.job.seed)) for item in (baseline, known.winner.candidate))
    except PageLoadError:
        return ()


def _outcome(
    known: Known, comparisons: Mapping[str, Comparison], judgement: Judgement | None, *, interrupted: bool
) -> tuple[Outcome, str]:
    best, found = known.best_baseline, known.search
    if judgement is not None and judgement.is_confirmed:
        assert found is not None
        assert known.winner is not None, "it is what was proved"
        reason = confirmed_reason(judgement.effects, known.bounds, known.job.objective, found, known.winner, best)
        return Outcome.CONFIRMED, reason
    if interrupted:
        end = "proof" if known.job.rung == BROWSER else "end of the search, or of what follows"
        return Outcome.INTERRUPTED, f"It was stopped before the {end}; the same command goes on."
    assert found is not None, "without a search there is no end"
    winner = known.winner
    if winner is None:
        return Outcome.NOTHING_TO_GAIN, nothing_reason(known.job.objective, found, best, known.bounds)
    if known.job.rung != BROWSER:
        return Outcome.SIMULATED, simulated_reason(known.job.objective, found, winner, best, known.bounds)
    tuned = [item.label for item in known.racing if item.role is Role.TUNED]
    if tuned and known.raced.has_dropped(tuned):
        return Outcome.UNCONFIRMED, out_raced_reason(known.raced.dropped, best)
    room = at_bound(known.job.objective, found.baselines[best], known.bounds)
    if judgement is not None and not judgement.harm and room and _all_equivalent(judgement.effects):
        return Outcome.NOTHING_TO_GAIN, nothing_reason(known.job.objective, found, best, known.bounds)
    return Outcome.UNCONFIRMED, unconfirmed_reason(
        comparisons, judgement, known.bounds, known.job.objective, found, best
    )


def _all_equivalent(effects: Mapping[str, tuple[Effect, ...]]) -> bool:
    return all(items[0].verdict is Verdict.EQUIVALENT for items in effects.values())


def _html(known: Known, comparisons: Mapping[str, Comparison]) -> tuple[HtmlLine, ...]:
    if known.shipping is None:
        return ()
    weights = known.job.objective.weights
    return measured_lines(known.shipping.html, known.finalists, comparisons, known.best_baseline, weights)


def _remains(known: Known, comparisons: Mapping[str, Comparison], judgement: Judgement | None) -> Remains:
    """Of the proof's loads; of simulation where no browser was asked."""
    job = known.job
    if job.rung != BROWSER:
        return Remains(known.shipping.kept_pct if known.shipping is not None else {})
    if judgement is None:
        return Remains()
    return remains(comparisons, judgement, known.finalists, known.best_baseline, job.objective.weights, job.seed)


def _notes(known: Known, comparisons: Mapping[str, Comparison]) -> tuple[str, ...]:
    notes = []
    if known.view is not None and (text := hero_note(known.view)):
        notes.append(text)
    if known.winner is not None and known.search is not None and (count := known.search.all_tried):
        notes.append(f"All {count} orders of delivery that differ were tried.")
    if known.search is not None and known.winner is None and _may_find_more(known, known.search):
        notes.append(
            f"{known.search.tried} of many orders were tried, {known.search.tried_on_stack} of them on rung stack: "
            "a larger --budget tries more."
        )
    if known.search is not None and known.winner is None:
        notes.append(
            "What the page asks for, and when, may still be worth a change: `mixedsched audit` looks for that."
        )
    if known.job.rung == BROWSER and known.search is not None and known.racing:
        racing = {item.label for item in known.racing}
        left_out = [label for label in known.search.baselines if label not in racing]
        if left_out:
            notes.append(f"There was no time to race {' and '.join(left_out)}: simulation likes others better.")
    if known.job.rung == BROWSER and known.candidates and not known.racing:
        notes.append("There was no time for a race: simulation chose the candidate and the best baseline.")
    if known.search is not None and (failed := len(BASELINES) - len(known.search.baselines)) > 0:
        notes.append(f"Loads of {failed} of the baselines never end in simulation.")
    if known.shipping is not None:
        notes += [f"Headers cannot say everything: {text}." for text in known.shipping.plan.lost]
    if _missing(known):
        notes.append("Some blocks failed again and again and are missing.")
    blocks = min((item.complete_blocks for item in comparisons.values()), default=0)
    if comparisons and blocks < deciding_blocks(len(comparisons)):
        notes.append(
            f"{blocks} complete blocks are too few to decide anything; with a larger --budget the same command goes on."
        )
    return tuple(notes)


def _may_find_more(known: Known, found: SearchResult) -> bool:
    """Whether there is room above the bound, and orders that were not tried."""
    room = not at_bound(known.job.objective, found.baselines[known.best_baseline], known.bounds)
    return bool(room and found.rungs and not found.all_tried)


def _missing(known: Known) -> int:
    """Blocks that were begun and failed for good."""
    count = 0
    for phase, plans in (("race", known.raced.plans), ("proof", known.proof_plans)):
        for name, plan in plans.items():
            runs = known.runs.get((phase, name), ())
            gone = set(missing_blocks(plan, runs))
            voided = {run.block for run in runs if run.attempt >= 3}
            count += len(gone & voided)
    return count
