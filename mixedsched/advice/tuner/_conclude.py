"""Makes a Tuning of all that is known: its outcome, the reason, and the evidence. Pure but for two simulated loads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mixedsched.advice.tuner._contest import TUNED, Raced, all_contenders, label_of
from mixedsched.advice.tuner._looks import View, hero_note
from mixedsched.advice.tuner._proof import Judgement, Proof, Remains
from mixedsched.advice.tuner._reasons import (
    Room,
    confirmed_reason,
    equivalent_reason,
    nothing_reason,
    out_raced_reason,
    simulated_reason,
    unconfirmed_reason,
)
from mixedsched.advice.tuner._search import SearchResult
from mixedsched.advice.tuner.candidate import Deviation, deviations
from mixedsched.advice.tuner.job import BROWSER, VGPRIO, TuneJob, deciding_blocks
from mixedsched.advice.tuner.objective import BASELINES, SEQUENTIAL
from mixedsched.advice.tuner.result import Contender, NetworkProof, Outcome, Role, Scored, Tuning
from mixedsched.advice.tuner.ship.headers import HeaderPlan
from mixedsched.advice.tuner.ship.own_lines import OwnLines
from mixedsched.advice.tuner.ship.screening import changed_scene
from mixedsched.advice.tuner.ship.shipping import Shipping
from mixedsched.advice.tuner.vgprio import WHOLE_COST_LOADS
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.errors import PageLoadError
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Comparison, Verdict
from mixedsched.lab.engine import MAX_ATTEMPTS, block_state
from mixedsched.lab.model import Plan, Run
from mixedsched.lab.play.task import Task, play_whole
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile


@dataclass(slots=True)
class Known:
    """The findings of a session so far."""

    job: TuneJob
    view: View | None = None
    search: SearchResult | None = None
    bounds: dict[str, PaintEstimate] = field(default_factory=dict)  # the earliest paints, by network
    candidates: tuple[Scored, ...] = ()  # of the search, better than every baseline
    entrants: tuple[Contender, ...] = ()  # that would race
    racing: tuple[Contender, ...] = ()  # that there was time to race
    raced: Raced = field(default_factory=Raced)
    shipping: Shipping | None = None
    finalists: tuple[Contender, ...] = ()  # of the proof
    proof_plans: dict[str, Plan] = field(default_factory=dict)  # by network
    runs: Mapping[tuple[str, str], tuple[Run, ...]] = field(default_factory=dict)  # stored ones by phase and network
    own: OwnLines | None = None  # for the server that one has
    chosen: Sequence[str] | None = None  # labels of the winner and of the best baseline, once the proof has begun
    looked: int | None = None  # blocks of the proof after which an earlier start showed results

    @property
    def page(self) -> Page:
        """The page as the look on the first network shows it, else as its manifest has it."""
        return self.view.scenes[0].page if self.view is not None else self.job.subject.page

    @property
    def header_plan(self) -> HeaderPlan:
        """How headers can express the winner; a plan without rules as long as that was not tried."""
        return self.shipping.plan if self.shipping is not None else HeaderPlan(())

    @property
    def best_baseline(self) -> str:
        """The one to beat: by the race, or by simulation where none was run; the server that one has is the only one."""
        if self.job.server is not None:
            return self.job.server.on
        if self.chosen is not None:
            return self.chosen[1]
        labels = [item.label for item in self.racing if item.role is Role.BASELINE]
        return self.raced.best(labels) or (self.search.best_baseline if self.search is not None else SEQUENTIAL)

    @property
    def tuned_labels(self) -> list[str]:
        """Arms of the race that are candidates."""
        return [item.label for item in self.racing if item.role is Role.TUNED]

    @property
    def winner_label(self) -> str:
        """The best candidate's arm: by the race, or by simulation."""
        if self.chosen is not None:
            return self.chosen[0]
        return self.raced.best(self.tuned_labels) or TUNED

    @property
    def winner(self) -> Scored | None:
        by_label = {label_of(place): item for place, item in enumerate(self.candidates)}
        return by_label.get(self.winner_label)


def concluded(known: Known, spent_s: float, facts: Mapping[str, Any], *, interrupted: bool) -> Tuning:
    """The tuning, as far as it is known."""
    job, found = known.job, known.search
    comparisons = _comparisons(known, "proof", known.proof_plans)
    proof = Proof(comparisons, known.finalists, known.best_baseline, job.objective.weights)
    judgement = proof.judged() if comparisons and len(comparisons) == len(job.networks) else None
    winner = known.winner
    outcome, reason = _outcome(known, comparisons, judgement, interrupted=interrupted)
    if job.rung == BROWSER:
        left = proof.remains(judgement, job.seed) if judgement is not None else Remains()
    else:
        left = Remains(known.shipping.kept_pct if known.shipping is not None else {})
    html = proof.measured(known.shipping.html) if known.shipping is not None else ()
    return Tuning(
        site=job.subject.name,
        title=job.subject.title,
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
        deviations=_deviations(known),
        contenders=all_contenders(known.finalists, known.racing, known.winner_label),
        networks=tuple(_network(known, network, comparisons, judgement) for network in job.networks),
        headers=() if Role.HEADERS in left.withheld else known.header_plan.rules,
        html=() if Role.HTML in left.withheld else html,
        kept_pct=left.kept_pct,
        kept_range_pct=left.kept_range_pct,
        withheld=left.withheld,
        notes=tuple(_notes(known, comparisons)),
        facts={**facts, "missing_blocks": _missing(known)},
        rung=job.rung,
        server=job.server,
        setting=known.own.setting if known.own is not None else None,
    )


def _deviations(known: Known) -> tuple[Deviation, ...]:
    """The winner's departures; the scheme of one's own server does not count as one."""
    if known.winner is None:
        return ()
    found = deviations(known.winner.candidate, known.page)
    return found if known.job.server is None else tuple(item for item in found if item.covers or ":" in item.what)


def _comparisons(known: Known, phase: str, plans: Mapping[str, Plan]) -> dict[str, Comparison]:
    """Against the best baseline, on the networks on which the phase has a complete block."""
    best = known.best_baseline
    compared = {
        name: analyse(replace(plan, baseline=best if best in {arm.label for arm in plan.arms} else plan.baseline), runs)
        for name, plan in plans.items()
        if (runs := known.runs.get((phase, name), ()))
    }
    return {name: item for name, item in compared.items() if item.complete_blocks}


def _network(
    known: Known, network: Profile, comparisons: Mapping[str, Comparison], judgement: Judgement | None
) -> NetworkProof:
    name, proof = network.name, comparisons.get(network.name)
    sequential = None
    if proof is not None and proof.plan.baseline != SEQUENTIAL and SEQUENTIAL in {arm.label for arm in proof.arms}:
        sequential = analyse(replace(proof.plan, baseline=SEQUENTIAL), known.runs["proof", name])
    return NetworkProof(
        profile=network,
        bound=known.bounds.get(name, PaintEstimate(0.0, 0.0, 0.0)),
        race=_comparisons(known, "race", known.raced.plans).get(name),
        race_runs=known.runs.get(("race", name), ()),
        dropped=tuple(known.raced.dropped),
        proof=proof,
        runs=known.runs.get(("proof", name), ()),
        effects=judgement.effects[name] if judgement is not None else (),
        simulated=_simulated(known, name) if proof is None else (),
        sequential=sequential,
    )


def _simulated(known: Known, name: str) -> tuple[PlayedLoad, ...]:
    """A load under the best baseline and one under the winner; empty without a winner, or where one of them never ends."""
    if known.view is None or known.search is None or known.winner is None:
        return ()
    scene = next(scene for scene in known.view.scenes if scene.name == name)
    baseline, after = known.search.baselines[known.best_baseline].candidate, scene
    if known.own is not None:
        after = changed_scene(scene, known.view.models[known.view.scenes.index(scene)], known.own.changes)
    try:
        plays = ((scene, baseline), (after, known.winner.candidate))
        return tuple(play_whole(Task(where, item, known.job.seed)) for where, item in plays)
    except PageLoadError:
        return ()


def _outcome(
    known: Known, comparisons: Mapping[str, Comparison], judgement: Judgement | None, *, interrupted: bool
) -> tuple[Outcome, str]:
    winner, found = known.winner, known.search
    if judgement is not None and judgement.is_confirmed:
        assert found is not None
        assert winner is not None, "it is what was proved"
        return Outcome.CONFIRMED, confirmed_reason(judgement, _room(known, found), winner)
    if interrupted:
        end = "proof" if known.job.rung == BROWSER else "search, or of what follows"
        return Outcome.INTERRUPTED, f"It was stopped before the end of the {end}; the same command continues."
    assert found is not None, "without a search there is no end"
    room = _room(known, found)
    if winner is None:
        return Outcome.NOTHING_TO_GAIN, nothing_reason(found, room)
    if known.job.rung != BROWSER:
        return Outcome.SIMULATED, simulated_reason(winner, room)
    if known.raced.has_dropped(known.tuned_labels):
        reason = out_raced_reason(known.raced.dropped, known.tuned_labels, room.best)
        return Outcome.UNCONFIRMED, reason
    if judgement is not None and not judgement.harm and room.is_used_up:
        verdicts = {items[0].verdict for items in judgement.effects.values()}
        if verdicts == {Verdict.EQUIVALENT}:
            return Outcome.NOTHING_TO_GAIN, equivalent_reason(judgement, room)
    return Outcome.UNCONFIRMED, unconfirmed_reason(comparisons, judgement, room)


def _room(known: Known, found: SearchResult) -> Room:
    best = known.best_baseline
    return Room(known.job.objective, best, found.baselines[best], known.bounds)


def _notes(known: Known, comparisons: Mapping[str, Comparison]) -> Iterator[str]:
    if known.view is not None and (text := hero_note(known.view)):
        yield text
    if known.search is not None:
        yield from _notes_on_search(known, known.search)
    if known.job.space == VGPRIO:
        yield (
            "Learned as VGPrio does, without a guard: first and largest paints may come later, and so may all of it. "
            f"In a browser it would have taken {WHOLE_COST_LOADS} loads."
        )
    elif known.job.server is not None:
        if words := known.job.server.version_words:
            yield f"{words}."
    elif known.job.rung == BROWSER and known.candidates and not known.racing:
        yield "There was no time for a race: simulation chose the candidate and the best baseline."
    wanted = BASELINES if known.job.server is None else {}
    if known.search is not None and (failed := len(wanted) - len(known.search.baselines)) > 0:
        yield f"Loads of {failed} of the baselines never end in simulation."
    for text in known.header_plan.lost:
        yield f"Headers cannot say everything: {text}."
    if _missing(known):
        yield "Some blocks failed again and again and are missing."
    blocks = min((item.complete_blocks for item in comparisons.values()), default=0)
    if known.looked is not None and blocks > known.looked:
        yield (
            f"The proof was continued after its results had been shown at {known.looked} blocks: if that was because of "
            "them, its p values are too small."
        )
    if comparisons and blocks < deciding_blocks(len(comparisons)):
        few = "1 complete block is" if blocks == 1 else f"{blocks} complete blocks are"
        yield f"{few} too few to decide anything; the same command with a larger --budget continues."


def _notes_on_search(known: Known, found: SearchResult) -> Iterator[str]:
    if known.winner is not None and found.all_tried:
        yield f"All {found.all_tried} different orders of delivery were tried."
    if known.winner is None and known.job.server is None:
        if found.rungs and not found.all_tried and not _room(known, found).is_used_up:
            yield (
                f"{found.tried} of many orders were tried, {found.tried_on_stack} of them on rung stack: "
                "a larger --budget tries more."
            )
        yield "Changing what the page requests, and when, may still help: `mixedsched audit` looks for that."
    left_out = [label for label in found.baselines if label not in {item.label for item in known.racing}]
    if known.job.rung == BROWSER and known.racing and left_out:
        yield f"There was no time to race {' and '.join(left_out)}, which simulation ranks lower."


def _missing(known: Known) -> int:
    """Blocks that failed so often that they were given up."""
    count = 0
    for phase, plans in (("race", known.raced.plans), ("proof", known.proof_plans)):
        for name, plan in plans.items():
            runs = known.runs.get((phase, name), ())
            states = (block_state(block, runs) for block in plan.blocks)
            count += sum(bool(state.missing) and state.voided >= MAX_ATTEMPTS for state in states)
    return count
