"""Where an experiment stands: which runs are stored and what is to be done next. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mixedsched.lab.model import Block, Plan, Run, RunStatus

MAX_ATTEMPTS = (
    3  # at one block, each time the experiment is started; a block that fails so often is left out, and said so
)


@dataclass(frozen=True, slots=True)
class BlockState:
    """What is stored of a block. attempt: the one to go on with; missing: arms that it still needs, in order.

    voided: attempts that a failed run has spoiled.
    """

    attempt: int
    missing: tuple[str, ...]
    voided: int


def block_state(block: Block, runs: Iterable[Run]) -> BlockState:
    """Where a block stands. A run that failed voids its attempt: all arms are to be run again, as they are paired."""
    mine = [run for run in runs if run.block == block.index]
    attempt = max((run.attempt for run in mine), default=1)
    current = [run for run in mine if run.attempt == attempt]
    if any(run.status is not RunStatus.OK for run in current):
        return BlockState(attempt + 1, block.order, attempt)
    done = {run.arm for run in current}
    return BlockState(attempt, tuple(arm for arm in block.order if arm not in done), attempt - 1)


def order_of_blocks(plan: Plan) -> Sequence[Block]:
    """Warm-up first."""
    return sorted(plan.blocks, key=lambda block: (not block.warm_up, block.index))


def voided_attempts(plan: Plan, runs: Sequence[Run]) -> Mapping[int, int]:
    """How many attempts at each block have failed so far, by block index."""
    return {block.index: block_state(block, runs).voided for block in plan.blocks}


def is_over(block: Block, runs: Sequence[Run], voided_before: Mapping[int, int]) -> bool:
    """Whether there is nothing more to do for a block: complete, or failed too often since `voided_before` was taken."""
    state = block_state(block, runs)
    return not state.missing or state.voided - voided_before[block.index] >= MAX_ATTEMPTS


def runs_left(plan: Plan, runs: Sequence[Run]) -> int:
    """How many runs are still to be made, if none fails."""
    return sum(len(block_state(block, runs).missing) for block in plan.blocks)


def missing_blocks(plan: Plan, runs: Sequence[Run]) -> tuple[int, ...]:
    """The analysed blocks that are not complete."""
    return tuple(block.index for block in plan.blocks if not block.warm_up and block_state(block, runs).missing)
