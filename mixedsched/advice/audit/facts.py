"""An audit as JSON, for machines: the same facts that the report tells people."""

from typing import Any

from mixedsched.advice.audit._screening import ByNetwork, Tried
from mixedsched.advice.audit.result import Alternative, Audit, NetworkResult
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.findings import LateResource
from mixedsched.advice.changes.html_change import Document, edits_of
from mixedsched.lab.comparison import Effect

AUDIT_FORMAT = "mixedsched.audit/1"


def audit_facts(audit: Audit) -> dict[str, Any]:
    """Times in ms, changes in per cent (negative is better). Holds no NaN and no infinity."""
    return {
        "format": AUDIT_FORMAT,
        "site": audit.site,
        "form_factor": audit.form_factor,
        "baseline": audit.baseline,
        "budget_s": round(audit.budget_s, 1),
        "spent_s": round(audit.spent_s, 1),
        "verdict": audit.outcome.value,
        "chosen": audit.chosen.label if audit.chosen is not None else None,
        "blocks": {"complete": audit.complete_blocks, "planned": audit.planned_blocks},
        "networks": [_network(item, audit.document) for item in audit.networks],
        "contenders": [_contender(item, audit) for item in audit.contenders],
        "tried": [_tried(item, audit) for item in audit.screening.singles],
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
        "effects": [effect.to_dict() for effect in _effects(result)],
        "blocks": result.comparison.complete_blocks if result.comparison is not None else 0,
    }


def _effects(result: NetworkResult) -> list[Effect]:
    """The primary ones as the whole family allows, then the rest."""
    if result.comparison is None:
        return []
    adjusted = {(item.arm, item.metric.key) for item in result.effects}
    rest = [item for item in result.comparison.effects if (item.arm, item.metric.key) not in adjusted]
    return [*result.effects, *rest]


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
