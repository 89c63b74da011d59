"""A tuning as one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.advice.tuner.result import NetworkProof, Role, Tuning
from mixedsched.core.metrics import Metric
from mixedsched.lab.comparison import Effect
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.plan import WARM_UP_INDEX
from mixedsched.report import _plots
from mixedsched.report._facts import fact_rows, network_rows
from mixedsched.report._filmstrip import Filmstrip, filmstrip, frame_store
from mixedsched.report._templates import template
from mixedsched.report._waterfall import KIND_LEGEND
from mixedsched.report._words import SYMBOLS
from mixedsched.report.tune import _words
from mixedsched.report.tune._evidence import (
    Evidence,
    metrics_to_tell,
    primary_metric,
    sequential_label,
    simulated_values,
    tuned_label,
    value_of,
)
from mixedsched.report.tune._pictures import bound_bars, curve_domain, race_lanes, search_curve
from mixedsched.report.tune._shipped import Shipped
from mixedsched.report.tune._waterfall import Fall, draw_falls, measured_fall, simulated_fall

SIMULATED_TUNED = "tuned"  # its label among the simulated values


@dataclass(frozen=True, slots=True)
class EffectCell:
    """One effect in words. word: its verdict, for the style; said: as people read it. more: what would decide; may be empty."""

    change: str
    word: str
    said: str
    more: str


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One metric of the tuned order. medians: best baseline → tuned. is_declared: it was declared before the proof."""

    metric: Metric
    medians: str
    forest: Markup
    against_best: EffectCell
    against_sequential: EffectCell | None
    is_declared: bool


@dataclass(frozen=True, slots=True)
class NetworkView:
    """A network's pictures and sentences. bars: (caption, picture) of the bound. others: what else was measured."""

    network: NetworkProof
    rows: Sequence[EffectRow]
    blocks: str
    others: Sequence[tuple[str, str, str, EffectCell]]
    waterfalls: Sequence[tuple[str, Markup]]
    is_measured: bool
    film: Filmstrip | None
    differences: Sequence[tuple[str, Markup]]
    bars: Sequence[tuple[str, Markup]]
    bound: str
    race: Markup | None
    link_rows: Sequence[tuple[str, str]]


def render_html(tuning: Tuning, shipped: Sequence[Shipped] = ()) -> str:
    """The report as text. The same tuning gives the same text."""
    views = [_network_view(Evidence(tuning, item)) for item in tuning.networks]
    films = [frame for view in views if view.film is not None for frame in view.film.frames]
    domain = curve_domain(tuning.rungs)
    return template("tune.html.j2").render(
        tuning=tuning,
        tone=_words.TONES[tuning.outcome],
        chip=_words.CHIPS[tuning.outcome],
        headline=_words.headline(tuning),
        objective=_words.objective_words(tuning),
        time_line=_words.time_line(tuning),
        search_line=_words.search_line(tuning),
        winner=_words.candidate_words(tuning.winner.candidate) if tuning.winner is not None else "",
        sequential=sequential_label(tuning),
        primary=primary_metric(tuning),
        views=views,
        store=frame_store(films),
        kinds=KIND_LEGEND,
        curves=[(rung, search_curve(rung, domain)) for rung in tuning.rungs],
        contenders=[
            (item, _words.ROLES[item.role], _words.contender_words(tuning, item)) for item in tuning.contenders
        ],
        runners_up=[(_words.candidate_words(item.candidate), item.candidate.code) for item in tuning.runners_up],
        kept=_words.kept_lines(tuning),
        headers=[(rule, _words.effect_by_network(list(rule.effect_pct.items()))) for rule in tuning.headers],
        html=[
            (
                item,
                _words.effect_by_network(list(item.effect_pct.items())),
                _words.measured_by_network(item.measured_pct),
            )
            for item in tuning.html
        ],
        withheld=_words.withheld_lines(tuning),
        shipped=shipped,
        command=str(tuning.facts.get("command") or ""),
        fact_tables=[(name, fact_rows(value)) for name, value in tuning.facts.items() if isinstance(value, Mapping)],
    )


def _network_view(evidence: Evidence) -> NetworkView:
    network, tuning = evidence.network, evidence.tuning
    runs = _runs_to_show(evidence)
    falls = [measured_fall(title, run) for title, run in runs.items()] or _simulated_falls(evidence)
    marks = {fall.title: fall.marks_ms for fall in falls}
    return NetworkView(
        network=network,
        rows=_effect_rows(evidence),
        blocks=_blocks_told(network),
        others=_other_rows(evidence),
        waterfalls=draw_falls(falls),
        is_measured=bool(runs),
        film=filmstrip(runs, marks) if runs else None,
        differences=_differences(evidence),
        bars=_bars(evidence),
        bound=_words.bound_line(evidence),
        race=_race(network, tuning),
        link_rows=network_rows(network.profile.facts()),
    )


def _runs_to_show(evidence: Evidence) -> dict[str, Run]:
    """The best baseline and the tuned order in the block nearest to the estimate; {} without a complete block."""
    tuning, tuned = evidence.tuning, tuned_label(evidence.tuning)
    proof = evidence.network.proof
    if proof is None or proof.median_block is None or tuned is None:
        return {}
    choice = proof.median_block
    found = {
        run.arm: run for run in evidence.network.runs if (run.block, run.attempt) == (choice.block, choice.attempt)
    }
    wanted = {f"Before: {tuning.best_baseline}": tuning.best_baseline, "After: tuned": tuned}
    return {title: found[label] for title, label in wanted.items() if label in found}


def _simulated_falls(evidence: Evidence) -> list[Fall]:
    """Before and after as they were played; none where nothing was kept."""
    tuning, name = evidence.tuning, evidence.network.name
    scored = [tuning.baselines.get(tuning.best_baseline), tuning.winner]
    titles = [f"Before: {tuning.best_baseline}, simulated", "After: tuned, simulated"]
    falls = []
    for title, load, item in zip(titles, evidence.network.simulated, scored, strict=False):
        estimates = item.by_network.get(name) if item is not None else None
        marks = {"FCP": estimates.fcp_ms, "LCP": estimates.lcp_ms} if estimates is not None else {}
        falls.append(simulated_fall(title, load, marks))
    return falls


def _blocks_told(network: NetworkProof) -> str:
    proof = network.proof
    if proof is None:
        return "no block was measured"
    failed = f", {len(proof.failures)} loads failed" if proof.failures else ""
    return f"{proof.complete_blocks} of {proof.planned_blocks} blocks of loads are complete{failed}"


def _effect_rows(evidence: Evidence) -> list[EffectRow]:
    """The tuned order in every metric of the page, the primary one first."""
    tuning = evidence.tuning
    best, sequential, tuned = tuning.best_baseline, sequential_label(tuning), tuned_label(tuning)
    metrics = metrics_to_tell(evidence)
    effects = {metric.key: evidence.effect(tuned, best, metric.key) for metric in metrics if metric.source == "page"}
    ratios = [item for item in effects.values() if item is not None and item.metric.scale == "ratio"]
    rows = []
    for metric in metrics:
        effect = effects.get(metric.key)
        if effect is None or tuned is None:
            continue
        medians = evidence.medians(metric.key)
        values = f"{metric.format(medians.get(best))} → {metric.format(medians.get(tuned))}" if medians else ""
        other = evidence.effect(tuned, sequential, metric.key) if sequential not in {None, best} else None
        rows.append(
            EffectRow(
                metric,
                values,
                _plots.forest(effect, _domain(ratios if metric.scale == "ratio" else [effect])),
                _cell(effect),
                _cell(other) if other is not None else None,
                evidence.is_declared(effect),
            )
        )
    return rows


def _domain(effects: Sequence[Effect]) -> tuple[float, float]:
    """For all intervals, and for changes that have none, too."""
    most = max(
        [_plots.forest_domain(effects)[1], *(abs(item.change) * 1.1 for item in effects if item.change is not None)]
    )
    return -most, most


def _cell(effect: Effect) -> EffectCell:
    said = f"{SYMBOLS[effect.verdict]} {effect.verdict.value}"
    more = f"about {effect.more_blocks} more blocks would decide" if effect.more_blocks else ""
    return EffectCell(_words.effect_words(effect), effect.verdict.value, said, more)


def _other_rows(evidence: Evidence) -> list[tuple[str, str, str, EffectCell]]:
    """(arm, what it stands for, median, effect on the primary metric) of whatever else the proof loaded."""
    tuning, metric = evidence.tuning, primary_metric(evidence.tuning)
    medians, rows = evidence.medians(metric.key), []
    for item in tuning.contenders:
        effect = evidence.effect(item.label, tuning.best_baseline, metric.key)
        if effect is not None and item.role is not Role.TUNED:
            rows.append((item.label, _words.ROLES[item.role], metric.format(medians.get(item.label)), _cell(effect)))
    return rows


def _differences(evidence: Evidence) -> list[tuple[str, Markup]]:
    """Block by block: the tuned order, and what is shipped to other servers, against the best baseline."""
    tuning, metric = evidence.tuning, primary_metric(evidence.tuning)
    drawn = []
    for index, item in enumerate(tuning.contenders):
        effect = evidence.effect(item.label, tuning.best_baseline, metric.key)
        if effect is not None and effect.differences and item.role is not Role.BASELINE:
            drawn.append((f"{item.label} against {tuning.best_baseline}", _plots.paired_differences(effect, index)))
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
