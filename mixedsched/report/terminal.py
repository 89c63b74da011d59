"""Lines and tables for the terminal. They read as well without colour, and nothing that comes from a site does anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from mixedsched.lab.comparison import Verdict
from mixedsched.report.effects import EffectView
from mixedsched.units import printable

# By verdict, or by the tone of a whole answer.
STYLES: Mapping[str, str] = {
    Verdict.BETTER.value: "bold cyan",
    Verdict.WORSE.value: "bold magenta",
    Verdict.EQUIVALENT.value: "bold",
    Verdict.UNDECIDED.value: "bold yellow",
}
EXPLORATORY_NOTE = "* exploratory: not among the metrics declared beforehand"


def line(words: str, style: str = "") -> Text:
    """Text with its control characters made visible; markup means nothing in a Text."""
    return Text(printable(words), style=style)


def lines(words: Sequence[str], style: str = "") -> list[Text]:
    """A line for each that is not empty."""
    return [line(item, style) for item in words if item]


def plain_table(title: str, *columns: str, numbers: Sequence[str] = ()) -> Table:
    """An empty table. numbers: further columns, aligned to the right."""
    table = Table(title=line(title), title_justify="left", caption_justify="left", box=box.SIMPLE, pad_edge=False)
    for column in columns:
        table.add_column(line(column), overflow="fold")
    for column in numbers:
        table.add_column(line(column), justify="right")
    return table


def effects_table(
    title: str, views: Sequence[EffectView], *, others: Mapping[str, EffectView] | None = None, other: str = ""
) -> Table:
    """A row for each effect; exploratory metrics have an asterisk.

    others: by metric key, effects against another baseline, which `other` names; they get a column of their own.
    """
    several = len({view.effect.arm for view in views}) > 1
    columns = ["metric", "median", "change (95 % interval)", "verdict"]
    table = plain_table(title, *(["arm"] if several else []), *columns, *([f"against {other}"] if other else []))
    for view in views:
        effect = view.effect
        cells = [line(effect.arm)] if several else []
        cells += [
            line(effect.metric.short + (" *" if view.is_exploratory else "")),
            line(view.medians),
            line(view.change),
        ]
        more = f", +{effect.more_blocks} blocks" if effect.more_blocks else ""
        cells.append(line(view.verdict + more, STYLES[view.tone]))
        if other:
            second = (others or {}).get(effect.metric.key)
            cells.append(line(f"{second.verdict[0]} {second.change}" if second is not None else "–"))
        table.add_row(*cells)
    return table
