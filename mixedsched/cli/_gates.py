"""Gates on the command line: options that stop when it is decided, lines on stderr, files for continuous integration."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._console import err, shown
from mixedsched.lab.gates import UNTIL_DECIDED, GateResult, GateVerdict
from mixedsched.lab.results import writing_to
from mixedsched.report.ci import CheckedQuestions, gate_text, junit_xml, markdown_table

_STYLES = {GateVerdict.MET: "bold cyan", GateVerdict.FAILED: "bold magenta", GateVerdict.UNDECIDED: "bold yellow"}


class Until(StrEnum):
    """When an experiment may stop before all of its blocks are made."""

    DECIDED = UNTIL_DECIDED


UntilOption = Annotated[
    Until | None,
    typer.Option(
        help="Make more blocks until every primary effect, or every gate, is decided, at an error rate of 5 %; --blocks is "
        "then the minimum."
    ),
]
MaxBlocksOption = Annotated[
    int | None,
    typer.Option(help="With --until: the most blocks to make; three times --blocks by default.", min=1, metavar="N"),
]
FailIfOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A gate, such as 'lcp > +2%' or 'cls > +0.05': exit code 6 if that is shown, 0 if its opposite is, 5 if "
        "undecided. May be given several times.",
        metavar="GATE",
    ),
]
JunitOption = Annotated[
    Path | None, typer.Option("--junit", help="Write gates, or primary effects, as JUnit's XML.", metavar="FILE")
]
MarkdownOption = Annotated[
    Path | None,
    typer.Option("--markdown", help="Write gates, or primary effects, as a table for a comment.", metavar="FILE"),
]


def write_for_ci(questions: CheckedQuestions, junit: Path | None, markdown: Path | None) -> None:
    """Write the files that were asked for. Raises MixedschedError if one cannot be written."""
    for file, text in ((junit, junit_xml), (markdown, markdown_table)):
        if file is not None:
            with writing_to(file):
                file.write_text(text(questions), encoding="utf-8")


def say_gates(results: Sequence[GateResult]) -> None:
    """A line on stderr for each."""
    for result in results:
        err.print(shown(gate_text(result)), style=_STYLES[result.verdict], soft_wrap=True)
