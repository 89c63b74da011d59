"""An audit as one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from mixedsched.advice.audit.result import TODAY, Audit, NetworkResult
from mixedsched.advice.audit.verdict import PRIMARY, AuditVerdict
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.html_change import TagEdit, edits_of
from mixedsched.advice.changes.look import Look, look_at
from mixedsched.advice.changes.page_change import PageModel
from mixedsched.core.metrics import METRICS
from mixedsched.lab.model import Run
from mixedsched.report._facts import fact_rows, network_rows
from mixedsched.report._filmstrip import Filmstrip, filmstrip, frame_store
from mixedsched.report._templates import template
from mixedsched.report._waterfall import KIND_LEGEND
from mixedsched.report._words import SYMBOLS
from mixedsched.report.audit import _words
from mixedsched.report.audit._waterfall import end_of, late_waterfall

EDITS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A change with what to paste. shown, more: tags or headers at once, and behind a click. expected: (network, LCP, FCP)."""

    change: Change
    why: str
    shown: Sequence[TagEdit]
    more: Sequence[TagEdit]
    expected: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class NetworkView:
    """A network's pictures and sentences.

    rows: contender, metric, medians, change, verdict as a word, verdict as it is said, whether it is exploratory.
    """

    network: NetworkResult
    findings: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, str, str, str, str, str, bool]]
    waterfalls: Sequence[tuple[str, Markup]]
    film: Filmstrip | None
    link_rows: Sequence[tuple[str, str]]


def render_html(audit: Audit) -> str:
    """The report as text. The same audit gives the same text."""
    views = [_network_view(item, audit) for item in audit.networks]
    films = [frame for view in views if view.film is not None for frame in view.film.frames]
    return template("audit.html.j2").render(
        audit=audit,
        is_advice=audit.outcome is AuditVerdict.IMPROVABLE,
        tone=_words.TONES[audit.outcome],
        chip=_words.CHIPS[audit.outcome],
        headline=_words.headline(audit),
        notes=[
            note for note in (_words.server_note(audit), _words.guard_note(audit), _words.advice_on_time(audit)) if note
        ],
        baseline=_words.SCHEMES[audit.baseline],
        changes=[_change_view(change, audit) for change in (audit.chosen.changes if audit.chosen else ())],
        views=views,
        store=frame_store(films),
        kinds=KIND_LEGEND,
        tried=_tried_rows(audit),
        networks=list(audit.screening.today),
        contenders=[
            (item, _words.SCHEMES[item.scheme], _words.changes_in_words(item.changes)) for item in audit.contenders
        ],
        time_line=_words.time_line(audit),
        fact_tables=[(name, fact_rows(value)) for name, value in audit.facts.items() if isinstance(value, Mapping)],
    )


def _change_view(change: Change, audit: Audit) -> ChangeView:
    edits = edits_of(audit.document, change)
    if not edits:
        hosts = audit.document.hosts
        edits = [TagEdit(f"{hosts[host]}{path}", f"priority: {change.value}") for host, path in change.targets]
    alone = next((item for item in audit.screening.singles if item.changes == (change,)), None)
    today = audit.screening.today
    expected = [
        (
            name,
            _words.expected_pct(alone.lcp_change_pct(today, name)),
            _words.expected_pct(alone.fcp_change_pct(today, name)),
        )
        for name in today
        if alone is not None
    ]
    return ChangeView(change, _words.reason_sentence(change), edits[:EDITS_SHOWN], edits[EDITS_SHOWN:], expected)


def _network_view(network: NetworkResult, audit: Audit) -> NetworkView:
    runs = _runs_to_show(network, audit)
    looks = {label: _look(run, label, network, audit) for label, run in runs.items()}
    end_ms = end_of(list(looks.values()))
    return NetworkView(
        network,
        [(item.reason.value, _words.finding_sentence(item, network)) for item in network.findings],
        _effect_rows(network, audit),
        [(label, late_waterfall(label, look, end_ms)) for label, look in looks.items()],
        filmstrip(runs, {label: {"FCP": look.fcp_ms, "LCP": look.lcp_ms} for label, look in looks.items()}),
        network_rows(network.profile.facts()),
    )


def _runs_to_show(network: NetworkResult, audit: Audit) -> dict[str, Run]:
    """Today's page and the chosen one in the block nearest to the estimate; today's first load where nothing was compared."""
    comparison = network.comparison
    if comparison is None or comparison.median_block is None or audit.chosen is None:
        return {TODAY: network.look.run}
    choice = comparison.median_block
    found = {run.arm: run for run in network.runs if (run.block, run.attempt) == (choice.block, choice.attempt)}
    return {label: found[label] for label in (TODAY, audit.chosen.label) if label in found}


def _look(run: Run, label: str, network: NetworkResult, audit: Audit) -> Look:
    """A load read by the page that was loaded: a script that was deferred blocks nothing any more."""
    changes = audit.chosen.changes if audit.chosen is not None and label == audit.chosen.label else ()
    page = PageModel(audit.document.page, {}).with_changes(changes).page
    return look_at(run, page, audit.document.hosts, network.profile.rtt_ms)


def _effect_rows(network: NetworkResult, audit: Audit) -> list[tuple[str, str, str, str, str, str, bool]]:
    rows = []
    for contender in audit.contenders:
        for metric in sorted(METRICS, key=lambda item: item.key != PRIMARY):
            effect = network.effect(contender.label, metric.key)
            if effect is None or metric.source != "page":
                continue
            said = f"{SYMBOLS[effect.verdict]} {effect.verdict.value}"
            if effect.more_blocks:
                said += f", about {effect.more_blocks} more blocks"
            medians = _words.medians(network, contender.label, metric.key, audit.baseline)
            change = _words.effect_in_words(effect)
            primary = effect in network.effects
            rows.append((contender.label, metric.short, medians, change, effect.verdict.value, said, not primary))
    return rows


def _tried_rows(audit: Audit) -> list[dict[str, Any]]:
    today = audit.screening.today
    chosen = audit.chosen.changes if audit.chosen is not None else ()
    return [
        {
            "title": item.changes[0].title,
            "why": item.changes[0].why,
            "is_chosen": item.changes[0] in chosen,
            "effects": [
                (
                    _words.expected_pct(item.lcp_change_pct(today, name)),
                    _words.expected_pct(item.fcp_change_pct(today, name)),
                )
                for name in today
            ],
        }
        for item in audit.screening.singles
    ]
