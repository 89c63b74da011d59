"""A tuning on the terminal: the verdict first, then what changed, the evidence, what to ship. Plain text without a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mixedsched.advice.tuner.result import NetworkProof, Tuning
from mixedsched.core.metrics import metric_named
from mixedsched.lab.comparison import Effect
from mixedsched.report._words import SYMBOLS
from mixedsched.report.tune import _words
from mixedsched.report.tune._evidence import (
    SIMULATED_METRICS,
    Evidence,
    metrics_to_tell,
    sequential_label,
    simulated_values,
    tuned_label,
)

_STYLES = {"better": "bold cyan", "worse": "bold magenta", "equivalent": "bold", "undecided": "bold yellow"}
_INDENT = (0, 0, 0, 2)
_LINES_MOST = 6


def render_tuning(tuning: Tuning) -> RenderableType:
    """For rich's Console.print. What comes from the site's files cannot do anything to the terminal."""
    parts: list[RenderableType] = [_line(_words.headline(tuning), _STYLES[_words.TONES[tuning.outcome]])]
    parts += [_line(tuning.reason)] if tuning.reason else []
    parts += [_line(note, "yellow") for note in tuning.notes]
    parts += [Text(), *_deviations(tuning)]
    for network in tuning.networks:
        parts += _network(network, tuning)
    parts += _shipping(tuning)
    parts.append(_line(f"search: {_words.search_line(tuning)}", "dim"))
    for network in tuning.networks:
        parts += [_line(f"race over {network.name}: {_words.dropped_line(item)}", "dim") for item in network.dropped]
    parts.append(_line(f"{_words.time_line(tuning)}, objective {_words.objective_words(tuning)}", "dim"))
    return Group(*parts)


def _line(words: str, style: str = "") -> Text:
    """Text with its control characters made visible; markup means nothing in a Text."""
    return Text("".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in words), style=style)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=_line(title), title_justify="left", box=box.SIMPLE, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _deviations(tuning: Tuning) -> list[RenderableType]:
    if tuning.winner is None:
        return []
    delivered = _line(f"tuned: {_words.candidate_words(tuning.winner.candidate)}")
    if not tuning.deviations:
        return [delivered, Text()]
    table = _table("What it does otherwise than the browser asks", "what", "browser", "tuned", "why")
    for item in tuning.deviations:
        table.add_row(_line(item.what), _line(item.browser), _line(item.tuned), _line(item.why))
    return [delivered, table]


def _network(network: NetworkProof, tuning: Tuning) -> list[RenderableType]:
    evidence = Evidence(tuning, network)
    parts: list[RenderableType] = []
    if evidence.arms:
        parts.append(_measured(evidence))
    else:
        parts += _simulated(evidence)
    bound = _words.bound_line(evidence)
    return [*parts, *([_line(bound)] if bound else []), Text()]


def _measured(evidence: Evidence) -> RenderableType:
    """Medians and effects of the tuned order, against the best baseline and against sequential delivery."""
    tuning = evidence.tuning
    best, sequential, tuned = tuning.best_baseline, sequential_label(tuning), tuned_label(tuning)
    columns = ["metric", f"{best} → tuned", f"against {best}"]
    columns += [f"against {sequential}"] if sequential not in {None, best} else []
    table = _table(f"Over {evidence.network.name}, in the browser", *columns)
    for metric in metrics_to_tell(evidence):
        effect = evidence.effect(tuned, best, metric.key)
        if effect is None or metric.source != "page" or tuned is None:
            continue
        medians = evidence.medians(metric.key)
        mark = "" if evidence.is_declared(effect) else " *"
        cells = [metric.short + mark]
        cells.append(f"{metric.format(medians.get(best))} → {metric.format(medians.get(tuned))}" if medians else "")
        cells.append(_told(effect))
        if len(columns) > len(cells):
            cells.append(_told(evidence.effect(tuned, sequential, metric.key)))
        table.add_row(*(_line(cell) for cell in cells))
    table.caption = Text("* exploratory")
    table.caption_justify = "left"
    return table


def _told(effect: Effect | None) -> str:
    return "–" if effect is None else f"{SYMBOLS[effect.verdict]} {_words.effect_words(effect)}"


def _simulated(evidence: Evidence) -> list[RenderableType]:
    tuning, name = evidence.tuning, evidence.network.name
    columns = [metric_named(key) for key in SIMULATED_METRICS]
    values = {metric.key: simulated_values(tuning, name, metric.key) for metric in columns}
    labels = list(values[SIMULATED_METRICS[0]])
    if not labels:
        return []
    table = _table(f"Over {name}, in simulation", "order", *(metric.short for metric in columns))
    for label in labels:
        cells = [_line(metric.format(values[metric.key].get(label))) for metric in columns]
        table.add_row(_line(label, "bold" if label == "tuned" else ""), *cells)
    return [table]


def _shipping(tuning: Tuning) -> list[RenderableType]:
    """Headers, tags and files, only where something is recommended."""
    if not tuning.shipped:
        return []
    parts: list[RenderableType] = [_line("What to ship", "bold")]
    parts += [
        Padding(_line(f"{rule.match}   priority: {rule.value}", "cyan"), _INDENT)
        for rule in tuning.headers[:_LINES_MOST]
    ]
    if len(tuning.headers) > _LINES_MOST:
        parts.append(Padding(_line(f"and {len(tuning.headers) - _LINES_MOST} more", "dim"), _INDENT))
    for item in tuning.html[:_LINES_MOST]:
        effects = _words.effect_by_network(list(item.effect_pct.items()))
        parts.append(Padding(_line(f"{item.change.title}{f' ({effects})' if effects else ''}"), _INDENT))
    parts += [Padding(_line(text), _INDENT) for text in (*_words.kept_lines(tuning), *_words.withheld_lines(tuning))]
    parts += [Padding(_line(f"files: {', '.join(tuning.files)}", "dim"), _INDENT)] if tuning.files else []
    return [*parts, Text()]
