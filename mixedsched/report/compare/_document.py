"""The HTML report of a comparison."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from mixedsched.core import stats
from mixedsched.core.metrics import Metric, metric_named
from mixedsched.lab.comparison import ArmSummary, BlockChoice, Comparison, Effect
from mixedsched.lab.diagnostics import Misses, held_up_of, misses_of
from mixedsched.lab.live import live_view
from mixedsched.lab.model import Run, RunStatus
from mixedsched.report import _charts as charts
from mixedsched.report._document import render, tables_of
from mixedsched.report._effects import effect_views
from mixedsched.report._facts import fact_rows, network_rows
from mixedsched.report._filmstrip import AFTER_LOAD_MS
from mixedsched.report._player import FRAMES_BYTES_MOST, Film, film_of, film_store
from mixedsched.report._waterfall import block_runs
from mixedsched.report.compare import _words
from mixedsched.report.compare._live import live_lines
from mixedsched.report.compare._loads import block_loads, lcp_elements
from mixedsched.report.svg import shortened
from mixedsched.units import format_duration, format_ms, listed

_FACTS_WITH_PLACES = ("command", "history", "gates", "title", "licence", "network_notes", "server_notes", "notes")


def write_comparison(comparison: Comparison, runs: Sequence[Run], facts: Mapping[str, Any], path: Path) -> None:
    """Write the report of a comparison to `path`; its folder is made where missing.

    runs: all stored runs of the plan. facts: shown as they are; the keys command, history (numbers of blocks planned, in time),
    gates (a line each), title, licence, network_notes (what the emulated network does otherwise), server_notes (on arms that
    are other people's servers) and notes have places of their own, mappings such as machine and versions become tables; none
    need be there. Raises OSError if it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_html(comparison, runs, facts), encoding="utf-8")


def render_html(comparison: Comparison, runs: Sequence[Run], facts: Mapping[str, Any]) -> str:
    """The report as text. The same input gives the same text."""
    median = _runs_of(comparison, comparison.median_block, runs)
    film, worst_film = _films(comparison, runs, median)
    views = effect_views(comparison.effects, comparison.arms)
    rest = {key: value for key, value in facts.items() if key not in _FACTS_WITH_PLACES}
    others = fact_rows({key: value for key, value in rest.items() if not isinstance(value, Mapping)})
    return render(
        "compare.html.j2",
        comparison=comparison,
        plan=comparison.plan,
        primary_names=", ".join(metric_named(name).short for name in comparison.plan.primary),
        scores=_words.scores_in_words(comparison.arms),
        same_network=_words.same_network(comparison.plan),
        by_model=_words.by_model(comparison.plan),
        history=_words.history_note(facts.get("history")),
        stopping=_words.stopping_note(comparison),
        facts={key: facts.get(key) or "" for key in _FACTS_WITH_PLACES},
        arm_index={arm.label: index for index, arm in enumerate(comparison.arms)},
        headlines=[
            (view, _words.headline(view.effect)) for view in views if view.effect.metric is comparison.headline_metric
        ],
        metric_rows=[
            {
                "metric": metric,
                "strip": charts.strip(metric, comparison.arms),
                "effects": [view for view in views if view.effect.metric is metric],
                "ratings": _ratings(metric, comparison.arms, comparison.plan.form_factor),
            }
            for metric in comparison.metrics
        ],
        differences=_differences(comparison),
        median_film=film,
        worst_film=worst_film,
        store=film_store((film, worst_film)),
        after_load_s=AFTER_LOAD_MS / 1000,
        loads=block_loads(median),
        lcp_elements=lcp_elements(comparison, runs),
        failures=failure_rows(comparison),
        health=health_rows(comparison, runs),
        misses=miss_lines(comparison, runs),
        live=live_lines(live_view(runs, facts["live"]["url"])) if facts.get("live") else [],
        link_rows=network_rows(comparison.plan.link_facts),
        questions=sum(not view.is_exploratory for view in views),
        often_zero=listed([metric.short for metric in comparison.metrics if metric.scale == "difference"]),
        alpha=stats.ALPHA,
        fact_tables=[*tables_of(rest), *([("other facts", others)] if others else [])],
        block_rows=_block_rows(comparison),
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


def _differences(comparison: Comparison) -> list[tuple[Effect, Markup]]:
    """Charts by metric, then arm."""
    position = {arm.label: index for index, arm in enumerate(comparison.arms)}
    return [
        (effect, charts.paired_differences(effect, position[effect.arm]))
        for metric in comparison.metrics
        for effect in comparison.effects
        if effect.metric is metric
    ]


def _runs_of(comparison: Comparison, choice: BlockChoice | None, runs: Sequence[Run]) -> dict[str, Run]:
    """The runs of a chosen block by arm label, baseline first."""
    return block_runs(choice, runs, {arm.label: arm.label for arm in comparison.arms})


def median_film(comparison: Comparison, runs: Sequence[Run]) -> Film | None:
    """The loads of the block nearest to the estimate, to be watched; None without a complete block, or pictures."""
    return film_of(_runs_of(comparison, comparison.median_block, runs))


def _films(comparison: Comparison, runs: Sequence[Run], median: Mapping[str, Run]) -> tuple[Film | None, Film | None]:
    """Films of the median and the worst block; the worst one with what room the other leaves."""
    film, worst_film = film_of(median), None
    room_bytes = FRAMES_BYTES_MOST - (film.size_bytes if film else 0)
    if comparison.worst_block != comparison.median_block and room_bytes > FRAMES_BYTES_MOST / 4:
        worst_film = film_of(_runs_of(comparison, comparison.worst_block, runs), room_bytes)
    return film, worst_film


def _block_rows(comparison: Comparison) -> list[tuple[int, int, str, list[str], str]]:
    """(block, link seed, order, headline metric by arm, change by arm) of every analysed block."""
    metric = comparison.headline_metric
    changes = [dict(effect.differences) for effect in comparison.effects if effect.metric is metric]
    planned = {block.index: block for block in comparison.plan.blocks}
    rows = []
    for row, index in enumerate(comparison.block_indices):
        block = planned[index]
        values = [metric.format(arm.values[metric.key][row]) for arm in comparison.arms]
        by_arm = [metric.format_change(by_block[index]) if index in by_block else "–" for by_block in changes]
        rows.append((index, block.link_seed, " → ".join(block.order), values, ", ".join(by_arm)))
    return rows


# Failures, and signs of trouble that need not fail a run: connections, losses, the processor's speed, what the site lacks


_MISSES_NAMED = 5
_ADDRESS_CHARACTERS = 160


def health_rows(comparison: Comparison, runs: Sequence[Run]) -> list[tuple[str, dict[str, int | str]]]:
    """(arm, its cells by heading), baseline first, over all attempts and warm-up blocks.

    Counts of runs are numbers; texts are medians with ranges over the ok runs.
    """
    return [(arm.label, _cells([run for run in runs if run.arm == arm.label])) for arm in comparison.arms]


def _cells(runs: Sequence[Run]) -> dict[str, int | str]:
    good = [run for run in runs if run.status is RunStatus.OK]
    indices = [run.page_load.get("benchmark_index") for run in good]
    warned = sum(bool(run.page_load.get("warnings")) for run in good)
    costs = [run.cost_s for run in good]
    (held,) = held_up_of(good, [good[0].arm if good else ""])
    return {
        "attempted": len(runs),
        "ok": len(good),
        "failed": sum(run.status is RunStatus.FAILED for run in runs),
        "invalid": sum(run.status is RunStatus.INVALID for run in runs),
        "QUIC connections": _middle_and_range([run.connections for run in good]),
        "random losses": _middle_and_range(_down_counts(good, "lost")),
        "queue overflows": _middle_and_range(_down_counts(good, "overflowed")),
        "CPU benchmark": _middle_and_range([value for value in indices if isinstance(value, int | float)]),
        "time a run": format_duration(statistics.median(costs)) if costs else "–",
        "with warnings": f"{warned} of {len(good)} runs",
        "packets held up": f"{_ms(held.relay_ms)}, at most {_ms(held.relay_most_ms)}",
        "server, worker waited": f"{_ms(held.server_ms)}, {_ms(held.worker_ms)}",
    }


def _down_counts(runs: Sequence[Run], name: str) -> list[float]:
    """A counter of the link towards the browser, of the runs that have it."""
    counts = [run.relay.get("down", {}).get(name) for run in runs]
    return [count for count in counts if isinstance(count, int | float)]


def _ms(value: float | None) -> str:
    return "–" if value is None else format_ms(value)


def _middle_and_range(values: Sequence[float]) -> str:
    """For example "2 (1 to 3)", or only "2" where all are the same."""
    if not values:
        return "–"
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:g}" if low == high else f"{middle:g} ({low:g} to {high:g})"


def miss_lines(comparison: Comparison, runs: Sequence[Run]) -> list[str]:
    """A sentence for each arm whose runs asked for what the site does not have, with the requests that most runs missed."""
    return [_miss_line(item) for item in misses_of(runs, [arm.label for arm in comparison.arms])]


def _miss_line(item: Misses) -> str:
    named = "; ".join(
        shortened(text, _ADDRESS_CHARACTERS) + (f" (in {runs})" if runs != item.missing_runs else "")
        for text, runs in item.requests[:_MISSES_NAMED]
    )
    more = len(item.requests) - _MISSES_NAMED
    rest = f"; and {more} more" if more > 0 else ""
    return f"{item.arm}: {item.missing_runs} of {item.runs} runs asked for what the site does not have: {named}{rest}"


def failure_rows(comparison: Comparison) -> list[tuple[str, str, str, int, str]]:
    """(arm, status, reason, how often, blocks), most frequent first."""
    blocks: dict[tuple[str, str, str], list[str]] = {}
    for item in comparison.failures:
        name = f"{item.block}{' (warm-up)' if item.warm_up else ''}"
        blocks.setdefault((item.arm, item.status, item.reason or "no reason given"), []).append(name)
    ranked = sorted(blocks.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [(*key, len(names), ", ".join(dict.fromkeys(names))) for key, names in ranked]
