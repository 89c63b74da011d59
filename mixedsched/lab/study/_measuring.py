"""Loads leased blocks of a measured study in Chromium, one after the other, in a laboratory for each place in its turn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mixedsched.core.metrics import METRICS
from mixedsched.errors import UsageError
from mixedsched.lab.bench import Design, ServedArm
from mixedsched.lab.engine import MAX_ATTEMPTS, Laboratory, block_state, carry_out, read_run, run_record
from mixedsched.lab.model import Block, Plan, Run, RunStatus
from mixedsched.lab.plan import WARM_UP_INDEX, attempt_seed
from mixedsched.lab.study._keeper import Keeper
from mixedsched.lab.study._machine_check import MachineCheck
from mixedsched.lab.study._work import LABORATORY, Work
from mixedsched.lab.study.browsers import CHROMIUM, differences, together
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.places import MeasuredPlace
from mixedsched.world.browser.pageload import PageLoadFailed
from mixedsched.world.store import Lease, LeaseLostError, NewLoad
from mixedsched.world.system.browser_slot import browser_slot


class Measurement:
    """Loads whatever can be leased. given_up: ids of places where no load counts, which are left alone until the next start.

    is_checked: whether this machine is compared with itself, as others measure, too.
    """

    def __init__(self, work: Work, keeper: Keeper, say: Callable[[str], None], *, is_checked: bool = False) -> None:
        self.given_up: set[int] = set()
        self._work = work
        self._keeper = keeper
        self._say = say
        self._loadable: set[int] = set()  # ids of places where a block has succeeded
        self._is_warm = False
        self._machine = self._check_of_machine() if is_checked else None

    async def load_blocks(self) -> None:
        """Load blocks until none is free, alone on this machine."""
        async with browser_slot(self._say):
            lease, failures = self._lease(), 0
            while lease is not None:
                try:
                    await self._check_machine()
                    lease = await self._load_at_place(lease)
                    failures = 0
                except PageLoadFailed as error:  # no load: the browser's worker did not even tell its versions
                    failures += 1
                    if failures == MAX_ATTEMPTS:
                        raise
                    self._say(f"warning: {error}; trying again")

    def _lease(self) -> Lease | None:
        """One at a time: others are to have the rest."""
        places = [name for name in self._work.places if name not in self.given_up]
        return next(iter(self._keeper.lease(self._work.study_id, 1, places)), None) if places else None

    def _check_of_machine(self) -> MachineCheck:
        """Always at the same place, so that its loads can be compared."""
        place = self._work.places[min(self._work.places)]
        assert isinstance(place, MeasuredPlace), "a study is of one rung"
        design = design_of(self._work.study, place)
        return MachineCheck(design.look(place.network), lambda: design.laboratory(place.network, self._work.folder))

    async def _check_machine(self) -> None:
        """Raises QuarantinedError if this machine's loads are not to be trusted; it may not come back by itself then."""
        if self._machine is None or not self._machine.is_due:
            return
        self._say("checking how far this machine differs from itself")
        reason = await self._machine.check()
        self._keeper.note({"check": self._machine.to_dict()})
        if reason:
            self._keeper.quarantine(reason)

    async def _load_at_place(self, lease: Lease) -> Lease | None:
        """Load blocks of a place while its turn lasts; returns the first one of another."""
        here = lease.place_id
        place = self._work.places[here]
        assert isinstance(place, MeasuredPlace), "a study is of one rung"
        design = design_of(self._work.study, place)
        async with design.laboratory(place.network, self._work.folder) as lab:
            self._pin(await lab.versions())
            await self._warm_up(design.look(place.network), lab)
            following: Lease | None = lease
            while following is not None and following.place_id == here and not self._is_check_due():
                plan = design.plan(place.network, following.number)
                await self._load(following, place, replace(plan, blocks=plan.blocks[-1:]), lab)
                following = self._lease()
        return following

    def _is_check_due(self) -> bool:
        return self._machine is not None and self._machine.is_due

    def _pin(self, versions: Mapping[str, str]) -> None:
        """Raises UsageError if the study's loads were made by another browser."""
        store, study_id = self._work.store, self._work.study_id
        pinned = self._keeper.patiently(lambda: store.pin(study_id, {LABORATORY: dict(versions)}))[LABORATORY]
        if found := differences(pinned, versions):
            raise UsageError(
                "the stored loads were made with other versions",
                why=", ".join(found),
                fix="start again with another --out, or restore what was there",
            )
        if (both := together(pinned, versions)) != pinned:
            self._say(f"Chromium was updated meanwhile; the study's loads are of {both[CHROMIUM]}")
            self._keeper.patiently(lambda: store.change_facts(study_id, lambda facts: _with_browser(facts, versions)))

    async def _warm_up(self, plan: Plan, lab: Laboratory) -> None:
        """The first browser of all reads its files from the disk; its load is thrown away."""
        if not self._is_warm:
            seed = plan.blocks[0].link_seed
            await lab.run(arm=plan.baseline, block=WARM_UP_INDEX, attempt=1, position=0, link_seed=seed)
            self._is_warm = True

    async def _load(self, lease: Lease, place: MeasuredPlace, plan: Plan, lab: Laboratory) -> None:
        """Load the block of a plan, at most MAX_ATTEMPTS times."""
        (block,) = plan.blocks
        leased = _LeasedBlock(self._work, self._keeper, place, block, lease)
        try:
            await carry_out(plan, leased, lab, leased)
        except LeaseLostError:
            return
        is_done = not block_state(block, leased.made).missing
        attempt = max(run.attempt for run in leased.made)
        self._keeper.keep(replace(lease, attempt=attempt), None, "done" if is_done else "failed")
        if self._machine is not None:
            self._machine.block_ended(is_done=is_done)
        if is_done:
            self._loadable.add(lease.place_id)
        elif lease.place_id not in self._loadable:
            self.given_up.add(lease.place_id)


def _with_browser(facts: Mapping[str, Any], versions: Mapping[str, str]) -> dict[str, Any]:
    """Facts of a study that gets loads of another version of the same browser; other machines may have added theirs."""
    return {**facts, LABORATORY: together(facts[LABORATORY], versions)}


class _LeasedBlock:
    """A block as the engine sees it: its runs go to the keeper, and the study's observer is told of them."""

    def __init__(self, work: Work, keeper: Keeper, place: MeasuredPlace, block: Block, lease: Lease) -> None:
        self._work = work
        self._keeper = keeper
        self._place = place
        self._block = block
        self._lease = lease
        self.made = _made_before(block, lease)

    def runs(self, digest: str) -> Sequence[Mapping[str, Any]]:  # noqa: ARG002 - there is a single plan
        return [run_record(run) for run in self.made]

    def add_run(self, digest: str, block: int, attempt: int, arm: str, record: Mapping[str, Any]) -> None:  # noqa: ARG002
        if self._keeper.has_lost(self._lease):
            raise LeaseLostError(f"block {block} has gone to another worker")
        run = read_run(record)
        self.made.append(run)
        self._keeper.keep(replace(self._lease, attempt=attempt), _new_load(run, self._block, record))

    def before(self, arm: str, block: int, warm_up: bool, left: int) -> None:  # noqa: ARG002 - as engines tell it
        self._work.observer.loading(self._place, block, arm)

    def after(self, run: Run, left: int) -> None:  # noqa: ARG002
        self._work.observer.loaded(self._place, run.block, _new_load(run, self._block, {}))


def _made_before(block: Block, lease: Lease) -> list[Run]:
    """As much as the engine must know of runs that are stored: which of this attempt count, and that an earlier one failed."""
    if lease.attempt > 1 and not lease.done:
        return [Run(block.index, lease.attempt - 1, block.order[0], 0, RunStatus.FAILED)]
    return [Run(block.index, lease.attempt, arm, block.order.index(arm), RunStatus.OK) for arm in lease.done]


def _new_load(run: Run, block: Block, record: Mapping[str, Any]) -> NewLoad:
    finished_ms = run.page_load.get("observed", {}).get("load_ms")
    values = {**{metric.key: run.value(metric) for metric in METRICS}, "score": run.score, "finished_ms": finished_ms}
    return NewLoad(
        run.arm, run.position, attempt_seed(block, run.attempt), run.status.value, run.reason, values, record
    )


def design_of(study: Study, place: MeasuredPlace) -> Design:
    arms = tuple(ServedArm(arm, place.opened, place.facts["site"]) for arm in study.read_arms())
    return Design(
        arms,
        study.primary,
        study.form_factor,
        study.seed,
        study.baseline,
        study.backend,
        study.across_connections,
        study.metrics,
        study.conditions,
    )
