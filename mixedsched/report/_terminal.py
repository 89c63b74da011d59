"""Lines and tables for the terminal. They read as well without colour, and control characters in them do nothing."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from mixedsched.report.wide_table import WideTable
from mixedsched.units import printable

# By verdict, or by the tone of a whole answer.
STYLES: Mapping[str, str] = {
    "better": "bold cyan",
    "worse": "bold magenta",
    "equivalent": "bold",
    "undecided": "bold yellow",
}


def line(words: str, style: str = "") -> Text:
    """Text with its control characters made visible; markup means nothing in a Text."""
    return Text(printable(words), style=style)


def lines(words: Sequence[str], style: str = "") -> list[Text]:
    """A line for each that is not empty."""
    return [line(item, style) for item in words if item]


def plain_table(title: str, *columns: str, numbers: Sequence[str] = (), keys: int = 1) -> WideTable:
    """An empty table. numbers: further columns, aligned to the right. keys: columns that name a row."""
    table = WideTable(line(title), keys)
    for column in columns:
        table.add_column(line(column), overflow="fold")
    for column in numbers:
        table.add_column(line(column), justify="right")
    return table
