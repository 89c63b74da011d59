"""The measured side: which browser loads count, by site."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mixedsched.lab.model import Arm, Plan, Run, RunStatus
from mixedsched.lab.plan import attempt_seed
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile

METRICS = ("fcp_ms", "lcp_ms")


@dataclass(frozen=True, slots=True)
class SiteLoads:
    """What was measured of a site over a network.

    runs: those that count, in the order in which they were made. failed: loads without a result, or not to be trusted.
    facts: of the experiment (machine, versions ...). source: where the loads are from.
    """

    site: str
    page: Page
    hosts: tuple[str, ...]
    network: Profile
    plan: Plan
    runs: tuple[Run, ...]
    failed: int
    facts: Mapping[str, Any]
    source: str = ""

    @property
    def name(self) -> str:
        """As results call it."""
        return f"{self.site}, {self.network.name}"

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The schemes with a load that counts, as planned."""
        loaded = {run.arm for run in self.runs}
        return tuple(arm for arm in self.plan.arms if arm.label in loaded)

    def of(self, arm: str) -> list[Run]:
        return [run for run in self.runs if run.arm == arm]

    def medians(self, metric: str) -> dict[str, float]:
        """By scheme (label)."""
        return {arm.label: statistics.median(run.metric(metric) for run in self.of(arm.label)) for arm in self.arms}

    def repeats(self, metric: str) -> dict[str, list[tuple[str, float]]]:
        """By scheme, each value with its block; attempts at a block are blocks of their own, as they have other link seeds."""
        return {
            arm.label: [(f"{run.block}/{run.attempt}", run.metric(metric)) for run in self.of(arm.label)]
            for arm in self.arms
        }

    def seeds(self, arm: str) -> tuple[int, ...]:
        """Of the links that the loads of a scheme went over."""
        blocks = {block.index: block for block in self.plan.blocks}
        return tuple(dict.fromkeys(attempt_seed(blocks[run.block], run.attempt) for run in self.of(arm)))


def counted(plan: Plan, runs: Sequence[Run], *, warm_up: bool = False) -> tuple[tuple[Run, ...], int]:
    """The loads that count, and how many of those that should have do not.

    Every valid load counts, also of a block that another load has voided: what is compared are medians of schemes, not pairs.
    warm_up: whether those of warm-up blocks do.
    """
    of_interest = {block.index for block in plan.blocks if warm_up or not block.warm_up}
    looked_at = [run for run in runs if run.block in of_interest]
    valid = tuple(run for run in looked_at if run.status is RunStatus.OK and _has_paints(run))
    return valid, len(looked_at) - len(valid)


def _has_paints(run: Run) -> bool:
    metrics = run.page_load.get("metrics", {})
    return all((metrics.get(name) or 0) > 0 for name in METRICS)
