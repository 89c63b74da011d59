"""Carries out a plan: runs what is missing, stores every run at once, can go on after any interruption, and may give up."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from pydantic import TypeAdapter

from mixedsched.errors import BusyMachineError, InputError, MixedschedError
from mixedsched.lab._validity import is_of_the_machine
from mixedsched.lab.model import Block, Plan, Run, RunStatus
from mixedsched.lab.plan import WARM_UP_INDEX, attempt_seed

RUN_SCHEMA = 4
_RUN = TypeAdapter(Run)

# At one block, each time the experiment is started; a block that fails so often is left out, and reported as missing.
MAX_ATTEMPTS = 3
MAX_WARM_UP_FAILURES = 2

_MACHINE_FIX = (
    "end what else keeps it busy, then run the same command again: it continues. The host of a VM may be busy too; "
    "`mixedsched doctor` measures how punctual this machine is, and says what would make it more so"
)


class TimeIsUp(Exception):  # noqa: N818 - no error: what is stored counts, and the same command goes on
    """The time is up before the next run."""


class RunStore(Protocol):
    """Stores the runs of plans: a database, or only the part of one that belongs to a block."""

    def runs(self, digest: str) -> Sequence[Mapping[str, Any]]:
        """The records of all runs of a plan, in the order in which they were made."""

    def add_run(self, digest: str, block: int, attempt: int, arm: str, record: Mapping[str, Any]) -> None:
        """Store one more."""


class Laboratory(Protocol):
    """Makes runs."""

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run: ...


class RunObserver(Protocol):
    """Follows the progress of an experiment."""

    def before(self, arm: str, block: int, warm_up: bool, left: int) -> None:
        """A run begins. left: runs still to be made, this one included."""

    def after(self, run: Run, left: int) -> None:
        """It is over, and stored."""


IsWanted = Callable[[Block, Sequence[Run]], bool]  # whether to make an analysed block, given the runs so far


def always(_block: Block, _runs: Sequence[Run]) -> bool:
    return True


async def carry_out(
    plan: Plan,
    store: RunStore,
    laboratory: Laboratory,
    observer: RunObserver,
    has_time: Callable[[], bool] = lambda: True,
    later: int = 0,
    is_wanted: IsWanted = always,
) -> None:
    """Make all runs of the plan that the store does not have.

    A failed or invalid run voids its block, which is begun again, at most MAX_ATTEMPTS times a call.
    has_time: asked before each run; raises TimeIsUp as soon as it says no. later: runs of other plans that are to come.
    is_wanted: asked before each analysed block that is not complete.
    """
    runs = stored_runs(store, plan.digest)
    for block in sorted(plan.blocks, key=lambda block: (not block.warm_up, block.index)):
        if not is_due(block, runs, is_wanted):
            continue
        voided_before = block_state(block, runs).voided
        while (state := block_state(block, runs)).missing and state.voided - voided_before < MAX_ATTEMPTS:
            if not has_time():
                raise TimeIsUp
            arm = state.missing[0]
            observer.before(arm, block.index, block.warm_up, runs_left(plan, runs) + later)
            run = await laboratory.run(
                arm=arm,
                block=block.index,
                attempt=state.attempt,
                position=block.order.index(arm),
                link_seed=attempt_seed(block, state.attempt),
            )
            store.add_run(plan.digest, run.block, run.attempt, run.arm, run_record(run))
            runs.append(run)
            observer.after(run, runs_left(plan, runs) + later)


def stored_runs(store: RunStore, digest: str) -> list[Run]:
    return [read_run(record) for record in store.runs(digest)]


def run_record(run: Run) -> dict[str, Any]:
    """A run as it is stored."""
    return {"schema": RUN_SCHEMA, **asdict(run)}


def read_run(record: Mapping[str, Any]) -> Run:
    """The reverse of run_record. Raises InputError for a record of a newer version."""
    if record.get("schema", RUN_SCHEMA) > RUN_SCHEMA:
        raise InputError(
            "the runs were stored by a newer version of mixedsched",
            why=f"their schema is {record['schema']}, this version knows {RUN_SCHEMA}",
            fix="upgrade mixedsched",
        )
    return _RUN.validate_python(record)


@dataclass(frozen=True, slots=True)
class BlockState:
    """How much of a block is stored."""

    attempt: int  # the one to go on with
    missing: tuple[str, ...]  # arms that it still needs, in order
    voided: int  # attempts that a failed run has spoiled


def block_state(block: Block, runs: Iterable[Run]) -> BlockState:
    """How much of a block is stored. A failed run voids its attempt: as arms are paired, all are run again."""
    mine = [run for run in runs if run.block == block.index]
    attempt = max((run.attempt for run in mine), default=1)
    current = [run for run in mine if run.attempt == attempt]
    if any(run.status is not RunStatus.OK for run in current):
        return BlockState(attempt + 1, block.order, attempt)
    done = {run.arm for run in current}
    return BlockState(attempt, tuple(arm for arm in block.order if arm not in done), attempt - 1)


def is_due(block: Block, runs: Sequence[Run], is_wanted: IsWanted = always) -> bool:
    """Whether a block is to be made."""
    return bool(block_state(block, runs).missing) and (block.warm_up or is_wanted(block, runs))


def runs_left(plan: Plan, runs: Sequence[Run]) -> int:
    """How many runs are still to be made, if none fails."""
    return sum(len(block_state(block, runs).missing) for block in plan.blocks)


def missing_blocks(plan: Plan, runs: Sequence[Run]) -> tuple[int, ...]:
    """The analysed blocks that are not complete."""
    return tuple(block.index for block in plan.blocks if not block.warm_up and block_state(block, runs).missing)


class Impatient:
    """A laboratory that gives up early: a page that fails twice in the warm-up does not get three tries of every block.

    Loads that this machine has spoiled say nothing about the page; where it spoils all attempts at the warm-up, it would spoil
    the others too. first_block: of the warm-up.
    """

    def __init__(self, laboratory: Laboratory, first_block: int = WARM_UP_INDEX) -> None:
        self._laboratory = laboratory
        self._first_block = first_block
        self._warm_up: list[Run] = []

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        """Make a run.

        Raises MixedschedError once the warm-up has failed twice, or this machine has spoiled every attempt at it.
        """
        bad = [run.reason for run in self._warm_up if run.status is not RunStatus.OK]
        failures = [reason for reason in bad if not is_of_the_machine(reason)]
        if len(failures) >= MAX_WARM_UP_FAILURES:
            raise MixedschedError(
                "the page cannot be loaded", why=failures[-1], fix="`mixedsched doctor` finds what is missing here"
            )
        if not failures and len(bad) >= MAX_ATTEMPTS:
            raise _too_busy(self._warm_up, "this network")
        run = await self._laboratory.run(arm=arm, block=block, attempt=attempt, position=position, link_seed=link_seed)
        if block == self._first_block:
            self._warm_up.append(run)
        return run


def no_good_run(runs: Sequence[Run], network: str) -> MixedschedError:
    """The error to raise where no load counts. runs: the tries, in order."""
    reasons = [run.reason for run in runs if run.status is not RunStatus.OK]
    if reasons and is_of_the_machine(reasons[-1]):
        return _too_busy(runs, network)
    return MixedschedError(
        f"the page cannot be measured over {network}",
        why=reasons[-1] if reasons else "",
        fix="`mixedsched sites` describes the site, `mixedsched doctor` finds what is missing here",
    )


def _too_busy(runs: Sequence[Run], network: str) -> BusyMachineError:
    spoiled = [run.reason for run in runs if run.status is not RunStatus.OK]
    return BusyMachineError(
        f"this machine is too busy to measure over {network}",
        why=f"of {len(runs)} loads {len(spoiled)} do not count, the last because of {spoiled[-1]}",
        fix=_MACHINE_FIX,
    )
