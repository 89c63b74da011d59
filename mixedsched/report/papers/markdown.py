"""Tables and numbers of studies as Markdown."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from mixedsched.report.papers.verdicts import Finding, PaperClaim, Statement


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """left: how many columns are text; the others are numbers. Ends with an empty line."""
    rule = "|".join("---" if column < left else "---:" for column in range(len(heads)))
    return "\n".join([_row(heads), f"|{rule}|", *map(_row, rows), "", ""])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def number(value: float, unit: str = "%") -> str:
    """With its sign: "+4.2 %", "-31 %", "+0.34" (unit ""), "-" for none. What is rounded to nothing has no sign: "0.0 %"."""
    if math.isnan(value):
        return "-"
    digits = 2 if not unit else 1 if abs(value) < 10 else 0
    sign = "+" if round(value, digits) else "z"
    return f"{value:{sign}.{digits}f}{' ' if unit else ''}{unit}"


def finding(item: Finding, unit: str = "%") -> str:
    """ "+4.2 % (+1.0 % to +7.1 %)"."""
    return f"{number(item.value, unit)} ({number(item.low, unit)} to {number(item.high, unit)})"


def statement(item: Statement) -> str:
    """A statement with what each collection of pages says of it."""
    found = "; ".join(
        f"{pages}: {finding(value, item.unit)}, {value.units} {item.counted}, {item.verdict_of(value)}"
        for pages, value in item.findings.items()
    )
    claimed = f", published {number(item.published, item.unit)}" if item.published is not None else ""
    return f"{item.text}{claimed}: {found or 'no loads yet'}"


def claims_table(claims: Iterable[PaperClaim]) -> str:
    """A line a claim: key, claim, the paper's numbers, the words, and what decides."""
    return table(
        ("", "claim", "the paper", "here", "basis"),
        (
            (item.key, item.text, item.published, f"**{item.words}**", "<br>".join(map(statement, item.statements)))
            for item in claims
        ),
        left=5,
    )


def write_readme(folder: Path, **parts: str) -> None:
    """README.md of a folder, made anew of its README.md.in, in which @NAME@ stands for the part NAME."""
    text = (folder / "README.md.in").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    (folder / "README.md").write_text(text, encoding="utf-8")
