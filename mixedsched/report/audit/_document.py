"""An audit as one HTML file."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mixedsched.advice.audit.result import TODAY, Audit, AuditVerdict, NetworkResult
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.findings import late_arrivals
from mixedsched.advice.changes.html_change import TagEdit, edits_of
from mixedsched.advice.changes.look import Look, PaintRole, look_at
from mixedsched.advice.changes.page_change import PageModel
from mixedsched.lab.model import Run
from mixedsched.report._document import render, tables_of
from mixedsched.report._facts import network_rows
from mixedsched.report._player import FRAMES_BYTES_MOST, film_of, film_store
from mixedsched.report._waterfall import Waterfall, block_runs, draw_waterfalls, response_row, spans_of
from mixedsched.report._words import expected_text
from mixedsched.report.audit import _words
from mixedsched.report.audit._waste_words import header_note, no_waste_words, waste_notes, waste_view
from mixedsched.units import format_bytes

EDITS_SHOWN = 3


def render_html(audit: Audit, live: Sequence[str] = ()) -> str:
    """The report as text. The same audit gives the same text."""
    views = [_network_view(item, audit) for item in audit.networks]
    links = [(f"network: {item.name}", network_rows(item.profile.facts())) for item in audit.networks]
    return render(
        "audit.html.j2",
        audit=audit,
        live=live,
        words=_words,
        is_advice=audit.outcome is AuditVerdict.IMPROVABLE,
        changes=[_change_view(change, audit) for change in (audit.chosen.changes if audit.chosen else ())],
        views=views,
        wastes=[waste_view(item, audit.server) for item in audit.wastes.dear],
        no_wastes=no_waste_words(audit),
        waste_notes=waste_notes(audit),
        header_note=header_note(audit),
        store=film_store(view["film"] for view in views),
        tried=_tried_rows(audit),
        networks=list(audit.screening.today),
        fact_tables=[*links, *tables_of(audit.facts)],
    )


def _change_view(change: Change, audit: Audit) -> dict[str, Any]:
    """A change with what to paste: tags, or headers by address; the first few at once, the others behind a click."""
    edits = edits_of(audit.document, change)
    if not edits:
        hosts = audit.document.hosts
        edits = [TagEdit(f"{hosts[host]}{path}", f"priority: {change.value}") for host, path in change.targets]
    return {
        "change": change,
        "shown": edits[:EDITS_SHOWN],
        "more": edits[EDITS_SHOWN:],
        "expected": _expected(change, audit),
    }


def _expected(change: Change, audit: Audit) -> list[tuple[str, str, str]]:
    """(network, LCP, FCP): what the change does alone, in simulation; [] if it was not tried alone."""
    today = audit.screening.today
    alone = next((item for item in audit.screening.singles if item.changes == (change,)), None)
    if alone is None:
        return []
    return [
        (name, expected_text(alone.lcp_change_pct(today, name)), expected_text(alone.fcp_change_pct(today, name)))
        for name in today
    ]


def _tried_rows(audit: Audit) -> list[tuple[Change, bool, list[tuple[str, str, str]]]]:
    """(change, whether it is among those chosen, what it does alone) of all that were tried."""
    chosen = audit.chosen.changes if audit.chosen is not None else ()
    tried = [item.changes[0] for item in audit.screening.singles]
    return [(change, change in chosen, _expected(change, audit)) for change in tried]


def _network_view(network: NetworkResult, audit: Audit) -> dict[str, Any]:
    """A network's tables, pictures and sentences."""
    runs = _runs_to_show(network, audit)
    return {
        "network": network,
        "findings": [(item.reason.value, _words.finding_sentence(item, network)) for item in network.findings],
        "effects": _words.effects_on(network, audit),
        "waterfalls": draw_waterfalls(
            [_waterfall(label, _look(run, label, network, audit)) for label, run in runs.items()]
        ),
        "film": film_of(runs, FRAMES_BYTES_MOST / len(audit.networks)),
    }


def _runs_to_show(network: NetworkResult, audit: Audit) -> dict[str, Run]:
    """Today's page and the chosen one in the block nearest to the estimate; today's first load where nothing was compared."""
    comparison = network.comparison
    if comparison is None or comparison.median_block is None or audit.chosen is None:
        return {TODAY: network.look.run}
    return block_runs(comparison.median_block, network.runs, {label: label for label in (TODAY, audit.chosen.label)})


def _look(run: Run, label: str, network: NetworkResult, audit: Audit) -> Look:
    """A load read by the page that was loaded: a script that was deferred no longer blocks anything."""
    changes = audit.chosen.changes if audit.chosen is not None and label == audit.chosen.label else ()
    page = PageModel(audit.document.page, {}).with_changes(changes).page
    return look_at(run, page, audit.document.hosts, network.profile.rtt_ms)


def _waterfall(title: str, look: Look) -> Waterfall:
    """One load with the roles of its responses; late bytes are marked where they came."""
    late = late_arrivals(look)
    rows = []
    for seen in look.seen:
        mine = late.get(seen.key, ())
        on_time = [item for item in seen.response.arrivals if item not in mine]
        row = response_row(
            seen.response, _words.ROLES[seen.role], spans_of(on_time), is_hero=seen.role is PaintRole.HERO
        )
        size = format_bytes(sum(item.size_bytes for item in mine))
        hint = f"{row.hint}\n{size} came while something more important was waiting"
        rows.append(replace(row, late_ms=spans_of(mine), late_hint=hint))
    late_bytes = sum(item.size_bytes for arrivals in late.values() for item in arrivals)
    marks = {"FCP": look.fcp_ms, "LCP": look.lcp_ms}
    return Waterfall(title, "role", rows, marks, f"{format_bytes(late_bytes)} of them late bytes")
