"""Race and proof in the browser: who takes part, and their loads, block by block on all networks while there is time."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy

from mixedsched.advice.changes.page_change import make_edition
from mixedsched.advice.tuner._proof import decided_value
from mixedsched.advice.tuner._search import SearchResult
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.job import FINALISTS, MEASURED, TuneJob
from mixedsched.advice.tuner.objective import SEQUENTIAL
from mixedsched.advice.tuner.result import Contender, Dropped, Role, Scored
from mixedsched.core.schedulers import SCHEMES
from mixedsched.lab.bench import Bench, Design, ServedArm, Surroundings
from mixedsched.lab.costs import BLOCKS_MOST
from mixedsched.lab.engine import IsWanted, TimeIsUp, block_state
from mixedsched.lab.model import Arm, Plan, Run, RunStatus
from mixedsched.lab.plan import arm_of
from mixedsched.lab.play.scenario import LEAST_GAIN
from mixedsched.lab.results import ExperimentFacts, continued
from mixedsched.model.mapping_file import dump_mapping
from mixedsched.model.profile import Profile
from mixedsched.world.store import Store

# Who leaves a race: arms that are clearly slower than the leader, so that time goes to those that may win. For selection alone:
# who wins is measured again, over other seeds, before anything is claimed. Pure.
#
# After each lap from the second on, every arm that is left is compared with the leader: paired differences of what was
# measured, a one-sided t test, and the scatter pooled over all arms and laps (the residuals of arms x laps, both taken as
# additive). p is multiplied by all comparisons that the race may make: every other arm, at every look that was planned. So
# the truly best arm is dropped in fewer than 5 % of races, whatever the leader is at the time: to lose it, one of these tests
# must err.


ALPHA = 0.05  # chance that the best arm is ever dropped
FIRST_LOOK = 2  # laps; one lap says nothing of the scatter


Lap = Mapping[str, float]
"""One block on every network: for each arm still in the race, the logarithm of its times; lower is better."""


def planned_looks(laps: int) -> int:
    """How often a race of so many laps may drop an arm. None is dropped after the last: that saves nothing."""
    return max(0, laps - FIRST_LOOK)


def outrun(laps: Sequence[Lap], arms: int, looks: int) -> tuple[Dropped, ...]:
    """The arms that are to leave after these laps, slowest first. arms: at the start. looks: planned for the whole race.

    The leader (of equals the first by name) never leaves, so at least one arm stays.
    """
    scatter, degrees = _scatter(laps)
    if len(laps) < FIRST_LOOK or degrees < 1 or not looks:
        return ()
    means = {label: sum(lap[label] for lap in laps) / len(laps) for label in laps[-1]}
    leader = min(means, key=lambda label: (means[label], label))
    comparisons = (arms - 1) * looks
    dropped = []
    for label, mean in means.items():
        behind = mean - means[leader]
        p = min(1.0, comparisons * _p(behind, scatter, degrees, len(laps)))
        if label != leader and p < ALPHA:
            dropped.append(Dropped(label, len(laps), leader, math.expm1(behind) * 100, p))
    return tuple(sorted(dropped, key=lambda item: (-item.change_pct, item.label)))


def best_of(laps: Sequence[Lap], labels: Sequence[str]) -> str | None:
    """The one of these arms that stayed longest, the fastest among several; None if none ran a lap."""
    runs = {label: [lap[label] for lap in laps if label in lap] for label in labels}
    ran = [label for label in labels if runs[label]]
    return min(ran, key=lambda label: (-len(runs[label]), sum(runs[label]) / len(runs[label]), label), default=None)


def _p(behind: float, scatter: float, degrees: int, laps: int) -> float:
    """One-sided p of a difference of two means over so many laps."""
    if behind <= 0:
        return 1.0
    error = scatter * math.sqrt(2 / laps)
    return float(scipy.special.stdtr(degrees, -behind / error)) if error > 0 else 0.0


def _scatter(laps: Sequence[Lap]) -> tuple[float, int]:
    """Standard deviation of one value beside arm and lap, and its degrees of freedom. Arms that left count with the laps that
    they ran."""
    labels = list(dict.fromkeys(label for lap in laps for label in lap))
    cells = [(labels.index(label), place, value) for place, lap in enumerate(laps) for label, value in lap.items()]
    degrees = len(cells) - (len(labels) + len(laps) - 1)
    if degrees < 1:
        return 0.0, 0
    design = np.zeros((len(cells), len(labels) + len(laps)))
    for row, (arm, lap, _) in enumerate(cells):
        design[row, arm] = design[row, len(labels) + lap] = 1.0
    values = np.array([value for *_, value in cells])
    fitted = design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return math.sqrt(float(np.square(values - fitted).sum()) / degrees), degrees


TUNED = "tuned"
EDITIONS_FOLDER, MAPPINGS_FOLDER = "editions", "mappings"

# Who takes part: pure choices from the results of simulation and race


def promising(found: SearchResult) -> tuple[Scored, ...]:
    """Candidates that are better in simulation than every baseline, best first."""
    if not found.baselines:
        return found.best
    known = {item.candidate.code for item in found.baselines.values()}
    limit = min(item.value for item in found.baselines.values()) - LEAST_GAIN
    return tuple(item for item in found.best if item.score < limit and item.candidate.code not in known)


def entrants(found: SearchResult, candidates: Sequence[Scored]) -> tuple[Contender, ...]:
    """All that would take part in the race, in order of interest, so that a short race takes the first few.

    The best candidate and the best baseline, sequential delivery (which nothing may be worse than), the next candidate, the
    other baselines by their simulated value, the rest.
    """
    tuned = [Contender(label_of(place), Role.TUNED, item.candidate) for place, item in enumerate(candidates)]
    by_value = _by_value(found.baselines)
    first = dict.fromkeys(label for label in [*by_value[:1], SEQUENTIAL] if label in found.baselines)
    order = dict.fromkeys([*first, *by_value])
    baselines = [Contender(label, Role.BASELINE, found.baselines[label].candidate) for label in order]
    return (*tuned[:1], *baselines[: len(first)], *tuned[1:2], *baselines[len(first) :], *tuned[2:])


def label_of(place: int) -> str:
    """The arm's label of the n-th best candidate of the search, from 0."""
    return TUNED if place == 0 else f"{TUNED} {place + 1}"


def finalists(
    entrants: Sequence[Contender], winner: str, best: str, shipped: Sequence[Contender], baselines: Mapping[str, Scored]
) -> tuple[Contender, ...]:
    """The arms of the proof, in order of interest: the winner, the best baseline, sequential delivery, then what is shipped.

    Where sequential delivery is the best baseline, the next one by simulation takes the free place: it must be beaten, too.
    """
    by_label = {item.label: item for item in entrants}
    for label, item in baselines.items():
        by_label.setdefault(label, Contender(label, Role.BASELINE, item.candidate))
    order = (winner, best, SEQUENTIAL, *_by_value(baselines))
    wanted = dict.fromkeys(label for label in order if label in by_label)
    return (*(by_label[label] for label in list(wanted)[:FINALISTS]), *shipped)


def by_headers(finalists: Sequence[Contender]) -> tuple[Contender, ...]:
    """The same, where headers say all that the winner does: it is loaded as plain `eps` with these, and one arm proves both."""
    headers = next(item for item in finalists if item.role is Role.HEADERS)
    return tuple(
        replace(headers, label=item.label, role=Role.TUNED) if item.role is Role.TUNED else item
        for item in finalists
        if item is not headers
    )


def all_contenders(
    finalists: Sequence[Contender], racing: Sequence[Contender], winner_label: str
) -> tuple[Contender, ...]:
    """Those of proof and race, each once; one of both as the proof loaded it. The winner first, then those of the proof."""
    everyone: dict[str, Contender] = {}
    for item in (*finalists, *racing):
        everyone.setdefault(item.label, item)
    return tuple(sorted(everyone.values(), key=lambda item: item.label != winner_label))  # stable


def _by_value(baselines: Mapping[str, Scored]) -> list[str]:
    return sorted(baselines, key=lambda label: baselines[label].value)


# As arms of a bench


def bench_of(job: TuneJob, world: Surroundings, store: Store, phase: str, contenders: Sequence[Contender]) -> Bench:
    """A bench for contenders. phase: names it, and seeds its links and orders."""
    arms = tuple(_served_arm(job, item) for item in contenders)
    design = Design(arms, tuple(job.objective.weights), job.form_factor, job.seed_of(phase), metrics=MEASURED)
    facts = ExperimentFacts(versions=job.versions, work={**job.work, "phase": phase})
    return Bench(design, store, job.folder, facts, world.observe)


def _served_arm(job: TuneJob, contender: Contender) -> ServedArm:
    subject = job.subject
    assert subject.site is not None, "only sites are loaded"
    folder = (job.folder / EDITIONS_FOLDER).resolve()
    edition = make_edition(subject.site, subject.digest, contender.changes, folder)
    file, own = None, contender.candidate.mapping()
    if own is not None and not contender.on:  # servers take tables as files
        file = (job.folder / MAPPINGS_FOLDER / f"{own.digest}.toml").resolve()
        file.parent.mkdir(exist_ok=True)
        file.write_text(dump_mapping(own, {}), encoding="utf-8")
    return ServedArm(contender_arm(contender), edition.site, edition.digest, file)


def contender_arm(contender: Contender) -> Arm:
    """The arm as plans have it: a mapping table of its own goes by its fingerprint, wherever its file is."""
    candidate, own = contender.candidate, contender.candidate.mapping()
    if contender.on:
        return replace(arm_of(contender.on), label=contender.label)
    if own is not None:
        return Arm(contender.label, candidate.scheme, f"{own.name}-{own.digest}", own.digest)
    usual = SCHEMES[candidate.scheme.partition(":")[0]].default_mapping
    arm = arm_of(candidate.scheme, candidate.published if candidate.published != usual else None)
    return replace(arm, label=contender.label)


def plain_eps(label: str, role: Role, changes: Sequence[Any] = ()) -> Contender:
    """A server that follows the browser's signals, and response headers over them."""
    return Contender(label, role, Candidate("eps", published=SCHEMES["eps"].default_mapping), tuple(changes))


# Their loads


@dataclass(slots=True)
class Raced:
    """A race. It is filled while it is under way, so that its state can be reported at any time."""

    plans: dict[str, Plan] = field(default_factory=dict)  # by network, as far as they were carried out
    laps: list[Lap] = field(default_factory=list)  # complete on all networks
    dropped: list[Dropped] = field(default_factory=list)  # in the order in which they left

    def best(self, labels: Sequence[str]) -> str | None:
        """The best of these arms; None if none of them ran a whole lap."""
        return best_of(self.laps, labels)

    def has_dropped(self, labels: Sequence[str]) -> bool:
        """Whether all of these have left; False if there are none."""
        gone = {item.label for item in self.dropped}
        return bool(labels) and all(label in gone for label in labels)


@dataclass(frozen=True, slots=True)
class Contest:
    """Loads block by block, on all networks. has_time: asked before each load."""

    bench: Bench
    networks: Sequence[Profile]
    has_time: Callable[[], bool]

    async def race(self, labels: Sequence[str], laps: int, weights: Mapping[str, float], raced: Raced) -> None:
        """Run the laps, or continue them. raced: is filled."""
        left: dict[int, tuple[str, ...]] = {}
        alive = tuple(labels)
        for number in range(1, laps + 1):
            if len(alive) == 1:
                return
            left[number] = alive
            plans = {
                item.name: self.bench.design.plan(item, number, still_in=left.__getitem__) for item in self.networks
            }
            if not await self._carry_out(plans, number, len(alive), laps - number, raced.plans):
                return
            lap = _lap([_complete(plan, self.bench.runs(plan), number) for plan in plans.values()], alive, weights)
            if lap is None:
                continue
            raced.laps.append(lap)
            if number < laps:
                lost = outrun(raced.laps, len(labels), planned_looks(laps))
                raced.dropped += lost
                alive = tuple(label for label in alive if label not in {item.label for item in lost})

    async def prove(self, is_room_for: Callable[[int], bool], planned: int, plans: dict[str, Plan]) -> None:
        """Run blocks until the time is up.

        is_room_for: whether so many loads can be made before the time is up. planned: blocks that are expected, for showing
        the time left. plans: by network, filled as far as they are carried out, now or by an earlier start.
        """
        for plan, name in ((self.bench.design.plan(item, 1), item.name) for item in self.networks):
            if (stored := self.bench.stored(plan)) is not None:
                plans[name] = continued(plan, stored)  # blocks behind one that failed for good count, too
        begun = min(len(plans[item.name].blocks) if item.name in plans else 1 for item in self.networks)
        for number in range(begun, BLOCKS_MOST + 1):
            blocks = {network.name: self.bench.design.plan(network, number) for network in self.networks}
            first = number if number > begun else 1
            missing = sum(
                self.bench.missing(replace(plan, blocks=plan.blocks[first - 1 :])) for plan in blocks.values()
            )
            if missing and number > 1 and not is_room_for(missing):
                return
            arms = len(next(iter(blocks.values())).arms)
            if not await self._carry_out(blocks, first, arms, max(0, planned - number), plans):
                return

    async def _carry_out(
        self, wanted: Mapping[str, Plan], first: int, arms: int, rounds: int, plans: dict[str, Plan]
    ) -> bool:
        """The last block on every network; False if the time was up before its end.

        first: of the blocks to make; those before it that are missing have failed for good. rounds: of such blocks, to come
        after it.
        """
        to_come = (rounds + 1) * arms * len(self.networks)
        for network in self.networks:
            to_come -= arms
            before = plans.get(network.name)
            if before is None or len(before.blocks) < len(wanted[network.name].blocks):
                plans[network.name] = wanted[network.name]
            try:
                await self.bench.carry_out(plans[network.name], network, self.has_time, to_come, _from(first))
            except TimeIsUp:
                return False
        return True


def _from(first: int) -> IsWanted:
    return lambda block, _runs: block.index >= first


def _complete(plan: Plan, runs: Sequence[Run], number: int) -> dict[str, Run] | None:
    """The runs of a block by arm; None if it is not complete."""
    block = next(item for item in plan.blocks if item.index == number)
    state = block_state(block, runs)
    if state.missing:
        return None
    ok = [run for run in runs if run.block == number and run.attempt == state.attempt and run.status is RunStatus.OK]
    return {run.arm: run for run in ok}


def _lap(found: Sequence[Mapping[str, Run] | None], labels: Sequence[str], weights: Mapping[str, float]) -> Lap | None:
    """Means over networks of the weighted logarithms; None where a network lacks its block, or a load a metric."""
    values: dict[str, float] = {}
    for label in labels:
        metrics = [runs[label].page_load["metrics"] for runs in found if runs is not None]
        if len(metrics) < len(found) or any(item.get(key) is None for item in metrics for key in weights):
            return None
        values[label] = sum(decided_value(item, weights) for item in metrics) / len(metrics)
    return values
