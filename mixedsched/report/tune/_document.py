"""A tuning as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from mixedsched.advice.tuner.result import NetworkProof, Role, Tuning
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.page_view import hero_of, responses_of
from mixedsched.lab.plan import WARM_UP_INDEX
from mixedsched.model.request import Flag
from mixedsched.report import _charts as charts
from mixedsched.report._document import render, tables_of
from mixedsched.report._facts import network_rows
from mixedsched.report._player import FRAMES_BYTES_MOST, film_of, film_store
from mixedsched.report._waterfall import (
    Waterfall,
    WaterfallRow,
    block_runs,
    draw_waterfalls,
    marks_of,
    response_row,
    spans_of,
)
from mixedsched.report._words import objective_text, server_lines
from mixedsched.report.tune import _words
from mixedsched.report.tune._evidence import Evidence, primary_metric, simulated_values, tuned_label, value_of
from mixedsched.report.tune._pictures import bound_bars, curve_domain, race_lanes, search_curve
from mixedsched.units import counted, format_bytes, format_ms

SIMULATED_TUNED = "tuned"  # its label among the simulated values
SHOWN_BYTES_MOST = 24_000  # a longer file is named, and cut


def render_html(tuning: Tuning, shipped: Sequence[Shipped] = (), live: Sequence[str] = ()) -> str:
    """The report as text. The same tuning gives the same text."""
    views = [_network_view(Evidence(tuning, item)) for item in tuning.networks]
    domain = curve_domain(tuning.rungs)
    links = [(f"network: {item.name}", network_rows(item.profile.facts())) for item in tuning.networks]
    return render(
        "tune.html.j2",
        tuning=tuning,
        words=_words,
        server_lines=server_lines(tuning.server, is_loaded=tuning.rung == "browser"),
        objective=objective_text(tuning.objective),
        primary=primary_metric(tuning),
        views=views,
        store=film_store(view["film"] for view in views),
        curves=[(rung, search_curve(rung, domain)) for rung in tuning.rungs],
        shipped=shipped,
        live=live,
        command=str(tuning.facts.get("command") or ""),
        fact_tables=[*links, *tables_of(tuning.facts)],
    )


def _network_view(evidence: Evidence) -> dict[str, Any]:
    """A network's tables, pictures and sentences."""
    network, tuning = evidence.network, evidence.tuning
    runs = _runs_to_show(evidence)
    falls = [_measured_fall(title, run) for title, run in runs.items()] or _simulated_falls(evidence)
    arms = [(item.role, evidence.view(item.label)) for item in tuning.contenders if item.role is not Role.TUNED]
    return {
        "network": network,
        "effects": evidence.views(tuning.best_baseline),
        "others": {view.effect.metric.key: view for view in evidence.views(evidence.other_baseline)},
        "other": evidence.other_baseline or "",
        "blocks": _blocks_told(network),
        "arms": [(role, view) for role, view in arms if view is not None],  # whatever else the proof loaded
        "waterfalls": draw_waterfalls(falls),
        "is_measured": bool(runs),
        "film": film_of(runs, FRAMES_BYTES_MOST / len(evidence.tuning.networks)),
        "differences": _differences(evidence),
        "bars": _bars(evidence),
        "bound": _words.bound_line(evidence),
        "race": _race(network, tuning),
    }


def _runs_to_show(evidence: Evidence) -> dict[str, Run]:
    """The best baseline and the tuned order in the block nearest to the estimate; {} without a complete block."""
    tuning, tuned = evidence.tuning, tuned_label(evidence.tuning)
    proof = evidence.network.proof
    if proof is None or tuned is None:
        return {}
    wanted = {f"Before: {tuning.best_baseline}": tuning.best_baseline, "After: tuned": tuned}
    return block_runs(proof.median_block, evidence.network.runs, wanted)


def _measured_fall(title: str, run: Run) -> Waterfall:
    """A load that Chromium made, with when its bytes came."""
    responses = [item for item in responses_of(run) if not item.path.partition("?")[0].endswith(".ico")]
    hero = hero_of(run, responses)
    rows = []
    for item in responses:
        spans = spans_of(item.arrivals) or [(item.request_ms, item.end_ms)]
        note = item.placement or item.signal or item.chromium_priority
        rows.append(response_row(item, note, spans, is_hero=item is hero))
    placed = any(item.placement for item in responses)
    return Waterfall(title, "placed" if placed else "signalled", rows, marks_of(run))


def _simulated_falls(evidence: Evidence) -> list[Waterfall]:
    """Before and after as they were played; none where nothing was kept."""
    tuning, name = evidence.tuning, evidence.network.name
    scored = [tuning.baselines.get(tuning.best_baseline), tuning.winner]
    titles = [f"Before: {tuning.best_baseline}, simulated", "After: tuned, simulated"]
    falls = []
    for title, load, item in zip(titles, evidence.network.simulated, scored, strict=False):
        estimates = item.by_network.get(name) if item is not None else None
        marks = {"FCP": estimates.fcp_ms, "LCP": estimates.lcp_ms} if estimates is not None else {}
        falls.append(Waterfall(title, "signalled", _simulated_rows(load), marks))
    return falls


def _simulated_rows(load: PlayedLoad) -> list[WaterfallRow]:
    by_id = load.page.by_id()
    rows = []
    for times in load.resources:
        item = by_id[times.id]
        signal = f"u={item.chromium_priority.rank}{', i' if item.incremental else ''}"
        hint = (
            f"{item.path}\n{item.kind.value}, {format_bytes(item.body_bytes)}\nsignalled: {signal}\n"
            f"requested at {format_ms(times.requested_ms)}, first byte at {format_ms(times.first_byte_ms)}, "
            f"complete at {format_ms(times.complete_ms)}"
        )
        rows.append(
            WaterfallRow(
                key=item.id,
                name=item.path,
                kind=item.kind,
                note=signal,
                size_bytes=item.body_bytes,
                start_ms=times.requested_ms,
                request_ms=times.requested_ms,
                end_ms=times.complete_ms,
                bytes_ms=((times.first_byte_ms, times.complete_ms),),
                hint=hint,
                is_hero=Flag.HERO in item.flags,
            )
        )
    return rows


def _blocks_told(network: NetworkProof) -> str:
    proof = network.proof
    if proof is None:
        return "no block was measured"
    failed = f", {counted(len(proof.failures), 'load')} failed" if proof.failures else ""
    return f"{proof.complete_blocks} of {proof.planned_blocks} blocks of loads are complete{failed}"


def _differences(evidence: Evidence) -> list[tuple[str, Markup]]:
    """Block by block: the tuned order, and what is shipped to other servers, against the best baseline."""
    drawn = []
    for index, item in enumerate(evidence.tuning.contenders):
        view = evidence.view(item.label)
        if view is not None and view.effect.differences and item.role is not Role.BASELINE:
            caption = f"{item.label} against {evidence.tuning.best_baseline}"
            drawn.append((caption, charts.paired_differences(view.effect, index)))
    return drawn


def _bars(evidence: Evidence) -> list[tuple[str, Markup]]:
    """How near to the bound: measured medians, and all that was simulated."""
    tuning, metric, name = evidence.tuning, primary_metric(evidence.tuning), evidence.network.name
    bound_ms = value_of(evidence.network.bound, metric.key)
    measured, simulated = evidence.medians(metric.key), simulated_values(tuning, name, metric.key)
    bars = []
    if measured:
        caption = f"{metric.short} in the browser, medians of the proof; the bound is simulated"
        tuned = tuned_label(tuning) or ""
        bars.append((caption, bound_bars(f"measured over {name}", metric, bound_ms, measured, tuned)))
    if simulated:
        caption = f"{metric.short} in simulation, over seeds that the search did not use"
        picture = bound_bars(f"simulated over {name}", metric, bound_ms, simulated, SIMULATED_TUNED)
        bars.append((caption, picture))
    return bars


def _race(network: NetworkProof, tuning: Tuning) -> Markup | None:
    raced = {run.block for run in network.race_runs if run.block != WARM_UP_INDEX and run.status is RunStatus.OK}
    blocks = max([len(raced), *(item.after for item in network.dropped)])
    # The runs know every arm that ever took part; a comparison only those of its plan.
    labels = list(dict.fromkeys([run.arm for run in network.race_runs] + [item.label for item in network.dropped]))
    if not labels or not blocks:
        return None
    return race_lanes(labels, network.dropped, blocks, tuned_label(tuning) or "")


@dataclass(frozen=True, slots=True)
class Shipped:
    """A file below the folder of results."""

    name: str
    text: str | None  # None if it is not text, or could not be read
    is_cut: bool = False  # there is more of it


def read_shipped(folder: Path, names: Sequence[str]) -> tuple[Shipped, ...]:
    """Read them, in this order. A name that leads out of the folder is left unread."""
    return tuple(_read(folder, name) for name in names)


def _read(folder: Path, name: str) -> Shipped:
    file = folder / name
    try:
        if not file.resolve().is_relative_to(folder.resolve()):
            return Shipped(name, None)
        with file.open("rb") as opened:
            content = opened.read(SHOWN_BYTES_MOST + 1)
        text = content[:SHOWN_BYTES_MOST].decode("utf-8", "strict" if len(content) <= SHOWN_BYTES_MOST else "ignore")
    except (OSError, ValueError):
        return Shipped(name, None)
    return Shipped(name, text if "\0" not in text else None, len(content) > SHOWN_BYTES_MOST)
