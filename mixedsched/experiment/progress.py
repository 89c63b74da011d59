"""Where an experiment stands: which runs are stored and what is to be done next. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mixedsched.experiment.model import Block, Plan, Run, RunStatus

MAX_ATTEMPTS = 3  # at one block; a block that fails so often is given up, and said so


@dataclass(frozen=True, slots=True)
class BlockState:
    """What is stored of a block. attempt: the one to go on with; missing: arms that it still needs, in order."""

    attempt: int
    missing: tuple[str, ...]
    given_up: bool = False

    @property
    def is_over(self) -> bool:
        return self.given_up or not self.missing


def block_state(block: Block, runs: Iterable[Run]) -> BlockState:
    """Where a block stands. A run that failed voids its attempt: all arms are to be run again, as they are paired."""
    mine = [run for run in runs if run.block == block.index]
    attempt = max((run.attempt for run in mine), default=1)
    current = [run for run in mine if run.attempt == attempt]
    if any(run.status is not RunStatus.OK for run in current):
        if attempt >= MAX_ATTEMPTS:
            return BlockState(attempt, (), given_up=True)
        return BlockState(attempt + 1, block.order)
    done = {run.arm for run in current}
    return BlockState(attempt, tuple(arm for arm in block.order if arm not in done))


def order_of_blocks(plan: Plan) -> Sequence[Block]:
    """Warm-up first."""
    return sorted(plan.blocks, key=lambda block: (not block.warm_up, block.index))


def runs_left(plan: Plan, runs: Sequence[Run]) -> int:
    """How many runs are still to be made, if none fails."""
    return sum(len(block_state(block, runs).missing) for block in plan.blocks)
