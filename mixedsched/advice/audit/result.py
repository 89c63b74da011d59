"""The results of an audit as plain values and as JSON, and its verdict: Holm over all networks together, then one word."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mixedsched.advice.audit._screening import ByNetwork, Screening, Tried
from mixedsched.advice.audit.spared import NO_WASTES, Wastes
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.findings import LateResource
from mixedsched.advice.changes.html_change import Document, edits_of
from mixedsched.advice.changes.look import Look
from mixedsched.advice.changes.own_server import KeptServer
from mixedsched.advice.changes.servers import WebServer
from mixedsched.core import stats
from mixedsched.core.metrics import metric_named
from mixedsched.lab.analysis import in_family
from mixedsched.lab.comparison import Comparison, Effect, Verdict
from mixedsched.lab.model import Run
from mixedsched.model.profile import Profile
from mixedsched.world.browser.kinds import Browser

PRIMARY = "lcp_ms"
TODAY = "today"  # label of the arm with today's delivery


class AuditVerdict(StrEnum):
    """One word for a page."""

    GOOD = "good"  # nothing that was tried is better
    IMPROVABLE = "improvable"  # changes are confirmed to be better on a network, and worse on none
    MIXED = "mixed"  # they are better on one network, worse on another
    OPEN = "open"  # they promise to help, but the time was too short to decide
    UNMEASURED = "unmeasured"  # they promise to, and not one block is complete


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another delivery than today's that was worth measuring."""

    label: str  # of its arm
    scheme: str  # of the server
    changes: tuple[Change, ...]  # none where only the order in which the server delivers is another
    expected: ByNetwork  # estimated paints


@dataclass(frozen=True, slots=True)
class NetworkResult:
    """The results on one network."""

    profile: Profile
    looks: Mapping[str, Run]  # the first loads of today's page, by scheme
    look: Look  # the one under today's scheme, interpreted
    findings: tuple[LateResource, ...]
    comparison: Comparison | None = None  # of the contenders, if any was measured
    effects: tuple[Effect, ...] = ()  # in the primary metric, judged over the whole family
    runs: tuple[Run, ...] = ()  # of the comparison

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def all_effects(self) -> tuple[Effect, ...]:
        """On all metrics of all contenders: those on the primary one first, as the whole family allows."""
        judged = {(item.arm, item.metric.key) for item in self.effects}
        every = self.comparison.effects if self.comparison is not None else ()
        return (*self.effects, *(item for item in every if (item.arm, item.metric.key) not in judged))

    def effect(self, contender: str, metric: str) -> Effect | None:
        """The effect of a contender on a metric (key)."""
        return next((item for item in self.all_effects if (item.arm, item.metric.key) == (contender, metric)), None)


@dataclass(frozen=True, slots=True)
class Audit:
    """All results of an audit."""

    site: str
    title: str
    form_factor: str
    baseline: str  # scheme of today's server
    budget_s: float
    spent_s: float
    document: Document
    networks: tuple[NetworkResult, ...]
    screening: Screening
    expected_today: ByNetwork  # estimated paints under today's scheme
    contenders: tuple[Alternative, ...]
    chosen: Alternative | None
    """The contender to recommend, or to judge today's delivery by; None if nothing was worth measuring."""
    outcome: AuditVerdict
    facts: Mapping[str, Any]  # machine, versions, browser model
    wastes: Wastes = NO_WASTES  # beside the order of delivery
    server: WebServer | None = None  # the owner's own, as far as it is known
    own: KeptServer | None = None  # that advice is for alone, if one was named
    browser: Browser = Browser.CHROMIUM  # that loaded the page
    looked: int = 0  # complete blocks at which an earlier start showed results that could decide; 0 where none did

    @property
    def complete_blocks(self) -> int:
        """Complete blocks of the network that has fewest."""
        counts = [item.comparison.complete_blocks for item in self.networks if item.comparison is not None]
        return min(counts, default=0)

    @property
    def planned_blocks(self) -> int:
        """Planned blocks of the network that has fewest; 0 where nothing is measured."""
        counts = [item.comparison.planned_blocks for item in self.networks if item.comparison is not None]
        return min(counts, default=0)


def family_effects(comparisons: Mapping[str, Comparison]) -> dict[str, tuple[Effect, ...]]:
    """The primary effects of every network, their p adjusted over all networks and contenders at once, by network."""
    effects = [
        (network, effect)
        for network, comparison in comparisons.items()
        for effect in comparison.effects
        if effect.metric is metric_named(PRIMARY)
    ]
    adjusted = stats.holm([effect.p for _, effect in effects])
    found: dict[str, list[Effect]] = {network: [] for network in comparisons}
    for (network, effect), p in zip(effects, adjusted, strict=True):
        found[network].append(in_family(effect, p, len(effects), is_shown=p < stats.ALPHA))
    return {network: tuple(items) for network, items in found.items()}


def outcome_of(effects: Mapping[str, Sequence[Effect]], contender: str, *, promises: bool) -> AuditVerdict:
    """One word for the page, by its best contender. promises: whether simulation expects a gain beyond the margin."""
    mine = [effect for items in effects.values() for effect in items if effect.arm == contender]
    verdicts = {effect.verdict for effect in mine}
    if not any(effect.blocks for effect in mine):
        return AuditVerdict.UNMEASURED
    if Verdict.BETTER in verdicts:
        return AuditVerdict.MIXED if Verdict.WORSE in verdicts else AuditVerdict.IMPROVABLE
    decided = verdicts <= {Verdict.EQUIVALENT, Verdict.WORSE}
    return AuditVerdict.GOOD if decided or not promises else AuditVerdict.OPEN


def best_contender(
    effects: Mapping[str, Sequence[Effect]], contenders: Sequence[str], promising: Collection[str] = ()
) -> str | None:
    """The one with the largest gain of those confirmed to be better somewhere and worse nowhere.

    Else the first planned whose outcome is not GOOD, so that a page is called good only if it is against every contender; else
    the first planned. promising: those of which simulation expects a gain beyond the margin.
    """

    def gain(label: str) -> float:
        changes = [item.change or 0.0 for items in effects.values() for item in items if item.arm == label]
        return sum(changes) / len(changes) if changes else 0.0

    outcomes = {label: outcome_of(effects, label, promises=label in promising) for label in contenders}
    confirmed = [label for label in contenders if outcomes[label] is AuditVerdict.IMPROVABLE]
    if confirmed:
        return min(confirmed, key=gain)
    in_question = [label for label in contenders if outcomes[label] is not AuditVerdict.GOOD]
    return next(iter([*in_question, *contenders]), None)


# As JSON


AUDIT_FORMAT = "mixedsched.audit/1"


def audit_facts(audit: Audit) -> dict[str, Any]:
    """Times in ms, changes in per cent (negative is better). Holds no NaN and no infinity."""
    return {
        "format": AUDIT_FORMAT,
        "site": audit.site,
        "form_factor": audit.form_factor,
        "browser": audit.browser.value,
        "baseline": audit.baseline,
        "budget_s": round(audit.budget_s, 1),
        "spent_s": round(audit.spent_s, 1),
        "verdict": audit.outcome.value,
        "chosen": audit.chosen.label if audit.chosen is not None else None,
        "blocks": {"complete": audit.complete_blocks, "planned": audit.planned_blocks, "looked": audit.looked or None},
        "networks": [_network(item, audit.document) for item in audit.networks],
        "contenders": [_contender(item, audit) for item in audit.contenders],
        "tried": [_tried(item, audit) for item in audit.screening.singles],
        "wastes": audit.wastes.to_dict(audit.document.url),
        "server": audit.server.name if audit.server is not None else None,
        "own_server": audit.own.to_dict(is_loaded=True) if audit.own is not None else None,
        **audit.facts,
    }


def change_facts(change: Change, document: Document) -> dict[str, Any]:
    return {
        "action": change.action.value,
        "title": change.title,
        "why": change.why,
        "risk": change.risk or None,
        "where": "document" if change.is_html else "server",
        "urls": [document.url(key) for key in change.targets],
        "priority": change.value or None,
        "edits": [{"before": edit.before or None, "after": edit.after} for edit in edits_of(document, change)],
    }


def _network(result: NetworkResult, document: Document) -> dict[str, Any]:
    look = result.look
    return {
        "name": result.name,
        "hero": document.url(look.hero) if look.hero is not None else None,
        "looks": {scheme: dict(run.page_load["metrics"]) for scheme, run in result.looks.items()},
        "findings": [_finding(item, document) for item in result.findings],
        "arms": result.comparison.to_dict()["arms"] if result.comparison is not None else [],
        "effects": [effect.to_dict() for effect in result.all_effects],
        "blocks": result.comparison.complete_blocks if result.comparison is not None else 0,
    }


def _finding(finding: LateResource, document: Document) -> dict[str, Any]:
    return {
        "url": document.url(finding.key),
        "kind": finding.kind.value,
        "role": finding.role.name.lower(),
        "reason": finding.reason.value,
        "body_bytes": finding.size_bytes,
        "asked_ms": round(finding.asked_ms, 1),
        "requested_ms": round(finding.requested_ms, 1),
        "first_byte_ms": round(finding.first_byte_ms, 1),
        "complete_ms": round(finding.complete_ms, 1),
        "late_bytes": finding.late_bytes,
        "late_bytes_of": [{"url": document.url(item.key), "bytes": item.size_bytes} for item in finding.intruders],
        "chain": [document.url(key) for key in finding.chain],
        "cost_ms": round(finding.cost_ms, 1),
    }


def _contender(contender: Alternative, audit: Audit) -> dict[str, Any]:
    return {
        "label": contender.label,
        "scheme": contender.scheme,
        "changes": [change_facts(change, audit.document) for change in contender.changes],
        "expected": _expected(contender.expected, audit.expected_today),
    }


def _tried(tried: Tried, audit: Audit) -> dict[str, Any]:
    return {
        "changes": [change.title for change in tried.changes],
        "codes": [change.code for change in tried.changes],
        "expected": _expected(tried.paints, audit.screening.today),
    }


def _expected(paints: ByNetwork, today: ByNetwork) -> dict[str, Any]:
    """Results of a simulation: only changes, as its times are not a browser's."""
    return {
        name: {
            "lcp_change_pct": round((item.lcp_ms / today[name].lcp_ms - 1) * 100, 2),
            "fcp_change_pct": round((item.fcp_ms / today[name].fcp_ms - 1) * 100, 2),
        }
        for name, item in paints.items()
    }
