"""Checks a machine that measures for others: how late its links are, and how far a scheme differs from itself there."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from mixedsched.core.metrics import METRICS, Metric
from mixedsched.lab.engine import MAX_ATTEMPTS, Laboratory
from mixedsched.lab.model import Plan, RunStatus
from mixedsched.lab.plan import WARM_UP_INDEX
from mixedsched.lab.study.machines import PAIRS_AT_ENTRY, SelfPair, why_quarantine
from mixedsched.lab.timers import relay_lateness

BLOCKS_BETWEEN_CHECKS = 10

OpenLaboratory = Callable[[], AbstractAsyncContextManager[Laboratory]]


class MachineCheck:
    """Decides whether a machine may measure: when it joins, by PAIRS_AT_ENTRY pairs, and by one more every few blocks.

    All pairs are of one place and the baseline, each over one link, and are not stored with the study's loads: they compare
    the machine with itself, not schemes. What is found becomes a fact of the worker.
    """

    def __init__(self, plan: Plan, open_laboratory: OpenLaboratory) -> None:
        """plan: of the place where it is checked."""
        self._plan = plan
        self._open = open_laboratory
        self._metric = _time_of(plan.primary)
        self._entry: list[SelfPair] = []
        self._latest: list[SelfPair] = []
        self._blocks_ok: list[bool] = []
        self._blocks_since = 0
        self._has_joined = False
        self._late_us: Mapping[str, int] = {}

    @property
    def is_due(self) -> bool:
        return not self._has_joined or self._blocks_since >= BLOCKS_BETWEEN_CHECKS

    def block_ended(self, *, is_done: bool) -> None:
        self._blocks_ok.append(is_done)
        self._blocks_since += 1

    async def check(self) -> str:
        """Load the pairs that are due; returns why the machine must not go on, or nothing."""
        if not self._has_joined:
            self._late_us = await relay_lateness()
        pairs = self._latest if self._has_joined else self._entry
        wanted = 1 if self._has_joined else PAIRS_AT_ENTRY
        async with self._open() as laboratory:
            if not self._has_joined:  # the first browser of all reads its files from the disk
                await self._value(laboratory, 0, self._plan.blocks[0].link_seed)
            pairs.extend([pair async for pair in self._loaded(laboratory, wanted)])
        self._has_joined, self._blocks_since = True, 0
        return self.verdict()

    def verdict(self) -> str:
        return why_quarantine(self._entry, self._latest, self._blocks_ok)

    def to_dict(self) -> dict[str, Any]:
        """For the facts of the worker."""
        return {
            "relay_late_p99_us": self._late_us.get("p99_us"),
            "place": f"{self._plan.site}@{self._plan.link}",
            "arm": self._plan.baseline,
            "metric": self._metric.key,
            "at_entry": [[pair.first, pair.second] for pair in self._entry],
            "since": [[pair.first, pair.second] for pair in self._latest],
        }

    async def _loaded(self, laboratory: Laboratory, wanted: int) -> AsyncIterator[SelfPair]:
        """Fewer where loads fail again and again: the blocks will tell, too."""
        made = 0
        for attempt in range(wanted * MAX_ATTEMPTS):
            if made == wanted:
                return
            seed = self._plan.blocks[0].link_seed + attempt
            values = [await self._value(laboratory, position, seed) for position in (0, 1)]
            if None not in values:
                made += 1
                yield SelfPair(*(value for value in values if value is not None))

    async def _value(self, laboratory: Laboratory, position: int, link_seed: int) -> float | None:
        run = await laboratory.run(
            arm=self._plan.baseline, block=WARM_UP_INDEX, attempt=1, position=position, link_seed=link_seed
        )
        return run.value(self._metric) if run.status is RunStatus.OK else None


def _time_of(primary: Sequence[str]) -> Metric:
    """The first metric of the study that is a time and never zero; FCP where there is none."""
    by_key = {metric.key: metric for metric in METRICS}
    times = [by_key[key] for key in primary if key in by_key and key in {"fcp_ms", "lcp_ms", "si_ms", "tti_ms"}]
    return times[0] if times else by_key["fcp_ms"]
