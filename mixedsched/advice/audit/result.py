"""What an audit comes to: plain values for the report, the terminal and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mixedsched.advice.audit.screening import ByNetwork, Screening
from mixedsched.advice.audit.verdict import AuditVerdict
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.findings import LateResource
from mixedsched.advice.changes.html_change import Document
from mixedsched.advice.changes.look import Look
from mixedsched.lab.comparison import Comparison, Effect
from mixedsched.lab.model import Run
from mixedsched.model.profile import Profile

TODAY = "today"


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something else than today's delivery that was worth measuring. label: of its arm. scheme: of the server.

    expected: estimated paints by network.
    """

    label: str
    scheme: str
    changes: tuple[Change, ...]
    expected: ByNetwork

    @property
    def is_new_server(self) -> bool:
        """Whether it is nothing but another order of delivery by the server."""
        return not self.changes


@dataclass(frozen=True, slots=True)
class NetworkResult:
    """One network. looks: the first loads of today's page, by scheme. look: the one under today's scheme, read.

    comparison, effects: of the contenders, primary effects as the whole family allows; None and () if none was measured.
    runs: of the comparison.
    """

    profile: Profile
    looks: Mapping[str, Run]
    look: Look
    findings: tuple[LateResource, ...]
    comparison: Comparison | None = None
    effects: tuple[Effect, ...] = ()
    runs: tuple[Run, ...] = ()

    @property
    def name(self) -> str:
        return self.profile.name

    def effect(self, contender: str, metric: str) -> Effect | None:
        """The effect of a contender on a metric (key); the primary one as the whole family allows."""
        for item in (*self.effects, *(self.comparison.effects if self.comparison is not None else ())):
            if (item.arm, item.metric.key) == (contender, metric):
                return item
        return None


@dataclass(frozen=True, slots=True)
class Audit:
    """All of it. baseline: scheme of today's server. expected_today: estimated paints under it.

    chosen: the contender to recommend, or to judge today's delivery by; None if nothing was worth measuring.
    facts: machine, versions.
    """

    site: str
    title: str
    form_factor: str
    baseline: str
    budget_s: float
    spent_s: float
    document: Document
    networks: tuple[NetworkResult, ...]
    screening: Screening
    expected_today: ByNetwork
    contenders: tuple[Alternative, ...]
    chosen: Alternative | None
    outcome: AuditVerdict
    facts: Mapping[str, Any]

    @property
    def complete_blocks(self) -> int:
        """Of the network that has fewest."""
        counts = [item.comparison.complete_blocks for item in self.networks if item.comparison is not None]
        return min(counts, default=0)

    @property
    def planned_blocks(self) -> int:
        """Of the network for which fewest are planned; 0 where nothing is measured."""
        counts = [item.comparison.planned_blocks for item in self.networks if item.comparison is not None]
        return min(counts, default=0)
