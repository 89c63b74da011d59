"""What `compare` and `report` say of a comparison, to people and to machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from mixedsched.cli._console import out
from mixedsched.cli._output import printable
from mixedsched.lab.comparison import Comparison
from mixedsched.lab.held_up import held_up_of
from mixedsched.lab.misses import misses_of
from mixedsched.lab.model import Run
from mixedsched.report import miss_lines, render_table


def comparison_facts(comparison: Comparison, runs: Sequence[Run], report: Path) -> dict[str, Any]:
    """The JSON of both commands. misses: arms whose runs asked for what the site does not have. held_up: by this machine."""
    labels = [arm.label for arm in comparison.arms]
    return {
        **comparison.to_dict(str(report)),
        "misses": [item.to_dict() for item in misses_of(runs, labels)],
        "held_up": [item.to_dict() for item in held_up_of(runs, labels)],
    }


def say_comparison(comparison: Comparison, runs: Sequence[Run], report: Path) -> None:
    out.print(render_table(comparison))
    for line in miss_lines(comparison, runs):
        out.print(Text(printable(line), style="yellow"), soft_wrap=True)
    out.print(f"report: {report}", soft_wrap=True)
