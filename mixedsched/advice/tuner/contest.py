"""Race and proof in the browser, block by block on all networks, as far as the time goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mixedsched.advice.tuner.proof import decided_value
from mixedsched.advice.tuner.race import Lap, best_of, outrun, planned_looks
from mixedsched.advice.tuner.result import Dropped
from mixedsched.lab.bench import Bench
from mixedsched.lab.costs import BLOCKS_MOST
from mixedsched.lab.engine import block_state
from mixedsched.lab.model import Plan, Run, RunStatus
from mixedsched.lab.patience import TimeIsUp
from mixedsched.model.profile import Profile


@dataclass(slots=True)
class Raced:
    """plans: by network, as far as they were carried out. laps: complete on all networks. dropped: in the order in which they
    left. Filled while the race goes on, so that what is there can be told at any time."""

    plans: dict[str, Plan] = field(default_factory=dict)
    laps: list[Lap] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)

    def best(self, labels: Sequence[str]) -> str | None:
        """Of these arms the best; None if none of them ran a whole lap."""
        return best_of(self.laps, labels)

    def has_dropped(self, labels: Sequence[str]) -> bool:
        """Whether all of these have left; not if there are none."""
        gone = {item.label for item in self.dropped}
        return bool(labels) and all(label in gone for label in labels)


async def run_race(
    bench: Bench,
    networks: Sequence[Profile],
    labels: Sequence[str],
    laps: int,
    weights: Mapping[str, float],
    has_time: Callable[[], bool],
    raced: Raced,
) -> None:
    """Run the laps, or go on with them. has_time: asked before each load. raced: is filled."""
    left: dict[int, tuple[str, ...]] = {}
    alive = tuple(labels)
    for number in range(1, laps + 1):
        if len(alive) == 1:
            return
        left[number] = alive
        found: list[dict[str, Run] | None] = []
        for place, network in enumerate(networks):
            plan = bench.design.plan(network, number, still_in=left.__getitem__)
            raced.plans[network.name] = plan
            to_come = (laps - number) * len(alive) * len(networks) + (len(networks) - place - 1) * len(alive)
            try:
                await bench.carry_out(plan, network, has_time, to_come)
            except TimeIsUp:
                return
            found.append(_complete(plan, bench.runs(plan), number))
        lap = _lap(found, alive, weights)
        if lap is None:
            continue
        raced.laps.append(lap)
        if number < laps:
            lost = outrun(raced.laps, len(labels), planned_looks(laps))
            raced.dropped += lost
            alive = tuple(label for label in alive if label not in {item.label for item in lost})


async def run_proof(
    bench: Bench,
    networks: Sequence[Profile],
    has_time: Callable[[], bool],
    is_room_for: Callable[[int], bool],
    planned: int,
    plans: dict[str, Plan],
) -> None:
    """Run blocks until the time is up. is_room_for: whether so many loads can be made before it is. planned: blocks that
    are expected, for telling the time left. plans: by network, filled as far as they are carried out."""
    for number in range(1, BLOCKS_MOST + 1):
        blocks = {network.name: bench.design.plan(network, number) for network in networks}
        missing = sum(bench.missing(plan) for plan in blocks.values())
        if missing and number > 1 and not is_room_for(missing):
            return
        arms = len(next(iter(blocks.values())).arms)
        for place, network in enumerate(networks):
            plan = blocks[network.name]
            plans[network.name] = plan
            to_come = max(0, planned - number) * arms * len(networks) + (len(networks) - place - 1) * arms
            try:
                await bench.carry_out(plan, network, has_time, to_come)
            except TimeIsUp:
                return


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
    return Lap(values)
