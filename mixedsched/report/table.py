"""The comparison as a table for the terminal. Plain text where there is no terminal: nothing hangs on colour."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mixedsched.lab.comparison import Comparison, Effect, Family, Verdict
from mixedsched.report import _words
from mixedsched.report._plots import told_change

_STYLES = {
    Verdict.BETTER: "bold cyan",
    Verdict.WORSE: "bold magenta",
    Verdict.EQUIVALENT: "bold",
    Verdict.UNDECIDED: "dim",
}


def render_table(comparison: Comparison) -> RenderableType:
    """Headline, a table of effects per arm, what to know about them, and the failures; for rich's Console.print."""
    parts: list[RenderableType] = []
    for effect in comparison.effects:
        if effect.metric is comparison.headline_metric:
            parts += [Text(_words.headline(effect), style=_STYLES[effect.verdict]), Text()]
    if comparison.note:
        parts += [Text(f"{comparison.note}.", style="yellow"), Text()]
    for arm in comparison.arms[1:]:
        parts.append(_arm_table(comparison, arm.label))
    parts += [Text(line, style="dim") for line in _footnotes(comparison)]
    return Group(*parts)


def _arm_table(comparison: Comparison, label: str) -> Table:
    baseline = comparison.arms[0]
    arm = comparison.arm(label)
    table = Table(
        title=Text(f"{arm.label} against {baseline.label}, {comparison.complete_blocks} blocks"),
        title_justify="left",
        box=box.SIMPLE,
        pad_edge=False,
    )
    for name in ("metric", "median", "change (95 % interval)", "verdict"):
        table.add_column(name, overflow="fold")
    for effect in comparison.effects:
        if effect.arm == label:
            before, after = (item.median[effect.metric.key] for item in (baseline, arm))
            table.add_row(
                Text(effect.metric.short if effect.family is Family.PRIMARY else f"{effect.metric.short} *"),
                Text(f"{effect.metric.format(before)} → {effect.metric.format(after)}"),
                Text(told_change(effect)),
                Text(_short_verdict(effect), style=_STYLES[effect.verdict]),
            )
    return table


def _short_verdict(effect: Effect) -> str:
    """The verdict with "about +40 blocks" where more would decide."""
    said = f"{_words.SYMBOLS[effect.verdict]} {effect.verdict.value}"
    return f"{said}, +{effect.more_blocks} blocks" if effect.more_blocks else said


def _footnotes(comparison: Comparison) -> list[str]:
    lines = []
    if any(effect.family is Family.EXPLORATORY for effect in comparison.effects):
        lines.append("* exploratory: not among the metrics declared beforehand")
    lines += [
        f"{arm.label}: {arm.failed} of {arm.attempted} runs failed or were invalid"
        for arm in comparison.arms
        if arm.failed
    ]
    if comparison.complete_blocks < comparison.planned_blocks:
        lines.append(f"{comparison.complete_blocks} of {comparison.planned_blocks} planned blocks are complete")
    return lines
