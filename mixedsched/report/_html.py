"""The HTML report: one file that needs no network, no script and no other file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from mixedsched.core.metrics import Metric, metric_named
from mixedsched.lab.comparison import ArmSummary, BlockChoice, Comparison, Effect
from mixedsched.lab.model import Run
from mixedsched.report import _plots, _words
from mixedsched.report._facts import fact_rows, network_rows
from mixedsched.report._filmstrip import AFTER_LOAD_MS, Filmstrip, filmstrip, frame_store
from mixedsched.report._health import health_rows
from mixedsched.report._lcp import lcp_elements
from mixedsched.report._misses import miss_lines
from mixedsched.report._page_pair import PagePair, page_pair
from mixedsched.report._templates import template
from mixedsched.report._waterfall import KIND_LEGEND

# Frames are nearly all of a report's size. What the median pair leaves of this is there for the worst pair.
FRAMES_BYTES_MOST = 2_000_000


def write_report(comparison: Comparison, runs: Sequence[Run], facts: Mapping[str, Any], path: Path) -> None:
    """Write the report of a comparison to `path`; its folder is made where missing.

    runs: all stored runs of the plan. facts: shown as they are, generically; the keys command, history (numbers of blocks
    planned, in time), title, licence, network_notes (what the emulated network does otherwise) and notes have places of
    their own, mappings such as machine and versions become tables.
    None of them need be there. Raises OSError if it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_report(comparison, runs, facts), encoding="utf-8")


def render_report(comparison: Comparison, runs: Sequence[Run], facts: Mapping[str, Any]) -> str:
    """The report as text. The same input gives the same text."""
    median_film, worst_film, store = _films(comparison, runs)
    headline_effects = [effect for effect in comparison.effects if effect.metric is comparison.headline_metric]
    return template("report.html.j2").render(
        comparison=comparison,
        plan=comparison.plan,
        primary_names=", ".join(metric_named(name).short for name in comparison.plan.primary),
        same_network=_words.same_network(comparison.plan),
        history=_words.history_note(facts.get("history")),
        facts={key: facts.get(key) or "" for key in _FACTS_WITH_PLACES},
        arm_index={arm.label: index for index, arm in enumerate(comparison.arms)},
        headlines=[(effect, _words.verdict_text(effect), _words.headline(effect)) for effect in headline_effects],
        metric_rows=[_metric_row(metric, comparison) for metric in comparison.metrics],
        differences=_differences(comparison),
        film=median_film,
        worst_film=worst_film,
        store=store,
        after_load_s=AFTER_LOAD_MS / 1000,
        pair=_page_pair(comparison, comparison.median_block, runs),
        kinds=KIND_LEGEND,
        lcp_elements=lcp_elements(comparison, runs),
        failures=_failure_rows(comparison),
        health=health_rows(comparison, runs),
        misses=miss_lines(comparison, runs),
        link_rows=network_rows(comparison.plan.link_facts),
        method=_words.statistics_in_words(comparison),
        fact_tables=_fact_tables(facts),
        block_rows=_block_rows(comparison),
    )


@dataclass(frozen=True, slots=True)
class EffectView:
    """An effect with its drawing and its words."""

    effect: Effect
    values: str
    change: str
    forest: Markup
    verdict: str
    remarks: str


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric over all arms."""

    metric: Metric
    strip: Markup
    family: str
    effects: tuple[EffectView, ...]
    ratings: str


def _metric_row(metric: Metric, comparison: Comparison) -> MetricRow:
    effects = [effect for effect in comparison.effects if effect.metric is metric]
    comparable = (
        [item for item in comparison.effects if item.metric.scale == "ratio"] if metric.scale == "ratio" else effects
    )
    domain = _plots.forest_domain(comparable)
    by_label = {arm.label: arm for arm in comparison.arms}
    return MetricRow(
        metric=metric,
        strip=_plots.strip(metric, comparison.arms),
        family=effects[0].family.value,
        effects=tuple(
            EffectView(
                effect,
                f"{metric.format(by_label[effect.baseline].median[metric.key])} → "
                f"{metric.format(by_label[effect.arm].median[metric.key])}",
                _plots.told_change(effect),
                _plots.forest(effect, domain),
                _words.verdict_text(effect),
                _words.remarks(effect, with_note=not comparison.note),
            )
            for effect in effects
        ),
        ratings=_ratings(metric, comparison.arms, comparison.plan.form_factor),
    )


def _ratings(metric: Metric, arms: Sequence[ArmSummary], form_factor: str) -> str:
    """Lighthouse's bands in words; "" where the form factor has none or nothing was measured."""
    said = []
    for arm in arms:
        middle = arm.median[metric.key]
        rating = metric.rating(middle, form_factor) if middle is not None else None
        if rating is not None:
            said.append(f"{arm.label}: {rating.value}")
    limits = metric.thresholds.get(form_factor)
    if not said or limits is None:
        return ""
    bands = f"Good up to {metric.format(limits.good)}, poor above {metric.format(limits.poor)} ({form_factor})"
    return f"{bands}. {', '.join(said)}."


def _differences(comparison: Comparison) -> list[tuple[Metric, list[tuple[Effect, Markup]]]]:
    position = {arm.label: index for index, arm in enumerate(comparison.arms)}
    return [
        (
            metric,
            [
                (effect, _plots.paired_differences(effect, position[effect.arm]))
                for effect in comparison.effects
                if effect.metric is metric
            ],
        )
        for metric in comparison.metrics
    ]


def _runs_of(comparison: Comparison, choice: BlockChoice | None, runs: Sequence[Run]) -> dict[str, Run]:
    """The runs of a chosen block by arm label, baseline first."""
    if choice is None:
        return {}
    found = {run.arm: run for run in runs if (run.block, run.attempt) == (choice.block, choice.attempt)}
    return {arm.label: found[arm.label] for arm in comparison.arms if arm.label in found}


def _marks(runs: Mapping[str, Run]) -> dict[str, dict[str, float]]:
    """By arm: FCP and LCP in ms where known."""
    marks: dict[str, dict[str, float]] = {}
    for label, run in runs.items():
        metrics = run.page_load.get("metrics") or {}
        named = (("FCP", metrics.get("fcp_ms")), ("LCP", metrics.get("lcp_ms")))
        marks[label] = {name: value for name, value in named if isinstance(value, int | float) and math.isfinite(value)}
    return marks


def _films(comparison: Comparison, runs: Sequence[Run]) -> tuple[Filmstrip | None, Filmstrip | None, Markup]:
    """Filmstrips of the median and the worst pair with the pictures of both; the worst one only while there is room."""
    median = _runs_of(comparison, comparison.median_block, runs)
    median_film = filmstrip(median, _marks(median))
    worst_film = None
    if comparison.worst_block != comparison.median_block:
        worst = _runs_of(comparison, comparison.worst_block, runs)
        worst_film = filmstrip(worst, _marks(worst))
    if median_film and worst_film and median_film.size_bytes + worst_film.size_bytes > FRAMES_BYTES_MOST:
        worst_film = None
    return (
        median_film,
        worst_film,
        frame_store([frame for film in (median_film, worst_film) if film for frame in film.frames]),
    )


def _page_pair(comparison: Comparison, choice: BlockChoice | None, runs: Sequence[Run]) -> PagePair | None:
    chosen = _runs_of(comparison, choice, runs)
    return page_pair(chosen, _marks(chosen)) if chosen else None


def _failure_rows(comparison: Comparison) -> list[tuple[str, str, str, int, str]]:
    """(arm, status, reason, how often, blocks), most frequent first."""
    counts = Counter((item.arm, item.status, item.reason or "no reason given") for item in comparison.failures)
    rows = []
    for (arm, status, reason), count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])):
        blocks = [
            f"{item.block}{' (warm-up)' if item.warm_up else ''}"
            for item in comparison.failures
            if (item.arm, item.status, item.reason or "no reason given") == (arm, status, reason)
        ]
        rows.append((arm, status, reason, count, ", ".join(dict.fromkeys(blocks))))
    return rows


_FACTS_WITH_PLACES = ("command", "history", "title", "licence", "network_notes", "notes")


def _fact_tables(facts: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """(caption, rows): a table for every mapping among the facts, and one for what is left."""
    rest = {key: value for key, value in facts.items() if key not in _FACTS_WITH_PLACES}
    tables = [(key.replace("_", " "), fact_rows(value)) for key, value in rest.items() if isinstance(value, Mapping)]
    single = {key: value for key, value in rest.items() if not isinstance(value, Mapping)}
    return [*tables, ("other facts", fact_rows(single))] if single else tables


def _block_rows(comparison: Comparison) -> list[tuple[int, int, str, list[str], str]]:
    """(block, link seed, order, headline metric by arm, change by arm) of every analysed block."""
    metric = comparison.headline_metric
    effects = [effect for effect in comparison.effects if effect.metric is metric]
    changes = [dict(effect.differences) for effect in effects]
    planned = {block.index: block for block in comparison.plan.blocks}
    rows = []
    for row, index in enumerate(comparison.block_indices):
        block = planned[index]
        values = [metric.format(arm.values[metric.key][row]) for arm in comparison.arms]
        told = [metric.format_change(by_block[index]) if index in by_block else "–" for by_block in changes]
        rows.append((index, block.link_seed, " → ".join(block.order), values, ", ".join(told)))
    return rows
