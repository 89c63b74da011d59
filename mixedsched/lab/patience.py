"""When loads of a page are given up, and what is said then: whether the page is to blame, or this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mixedsched.errors import BusyMachineError, MixedschedError
from mixedsched.lab.engine import MAX_ATTEMPTS, Laboratory
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.plan import WARM_UP_INDEX
from mixedsched.lab.validity import is_of_the_machine

MAX_WARM_UP_FAILURES = 2

_MACHINE_FIX = (
    "end what else keeps it busy, then give the same command again: it goes on. The host of a VM may be busy too; "
    "`mixedsched doctor` measures how punctual this machine is, and says what would make it more so"
)


class Impatient:
    """A laboratory that gives up early: a page that fails in the warm-up, and again, needs no three tries of every block.

    Loads that this machine has spoiled say nothing of the page; where it spoils all attempts at the warm-up, it would spoil the
    others too. first_block: the warm-up's.
    """

    def __init__(self, laboratory: Laboratory, first_block: int = WARM_UP_INDEX) -> None:
        self._laboratory = laboratory
        self._first_block = first_block
        self._failures: list[str] = []  # reasons
        self._warm_up: list[Run] = []

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        """As the laboratory's; raises MixedschedError once the warm-up has failed twice, or this machine has spoiled it all."""
        if len(self._failures) >= MAX_WARM_UP_FAILURES:
            raise MixedschedError(
                "the page cannot be loaded",
                why=self._failures[-1],
                fix="`mixedsched doctor` finds what is missing here",
            )
        if len(self._warm_up) >= MAX_ATTEMPTS and all(is_of_the_machine(run.reason) for run in self._warm_up):
            raise _too_busy(self._warm_up, "this network")
        run = await self._laboratory.run(arm=arm, block=block, attempt=attempt, position=position, link_seed=link_seed)
        if block == self._first_block:
            self._warm_up.append(run)
            if run.status is not RunStatus.OK and not is_of_the_machine(run.reason):
                self._failures.append(run.reason)
        return run


class TimeIsUp(Exception):  # noqa: N818 - no error: what is stored counts, and the same command goes on
    """The time is up before the next run."""


class InTime:
    """A laboratory that begins no run when the time is up."""

    def __init__(self, laboratory: Laboratory, has_time: Callable[[], bool]) -> None:
        self._laboratory = laboratory
        self._has_time = has_time

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        """As the laboratory's. Raises TimeIsUp."""
        if not self._has_time():
            raise TimeIsUp
        return await self._laboratory.run(arm=arm, block=block, attempt=attempt, position=position, link_seed=link_seed)


def no_good_run(runs: Sequence[Run], network: str) -> MixedschedError:
    """What to raise where no load counts. runs: the tries, in order."""
    reasons = [run.reason for run in runs if run.status is not RunStatus.OK]
    if reasons and is_of_the_machine(reasons[-1]):
        return _too_busy(runs, network)
    return MixedschedError(
        f"the page cannot be measured over {network}",
        why=reasons[-1] if reasons else "",
        fix="`mixedsched sites` tells of the site, `mixedsched doctor` finds what is missing here",
    )


def _too_busy(runs: Sequence[Run], network: str) -> BusyMachineError:
    spoiled = [run.reason for run in runs if run.status is not RunStatus.OK]
    return BusyMachineError(
        f"this machine is too busy to measure over {network}",
        why=f"of {len(runs)} loads {len(spoiled)} do not count, the last because of {spoiled[-1]}",
        fix=_MACHINE_FIX,
    )
