"""A table in Markdown, for a comment on a pull request."""

import re

from mixedsched.lab.gates import GateVerdict
from mixedsched.report.ci._questions import CheckedQuestions
from mixedsched.units import printable

_SPECIAL = re.compile(r"([\\|`*_<>\[\]~])")


def markdown_table(checked: CheckedQuestions) -> str:
    """Every question with its answer; ends with a line feed."""
    rows = ["| question | arms | change (95 % interval) | verdict | blocks |", "|---|---|---|---|---:|"]
    for item in checked.questions:
        verdict = f"**{item.verdict}**" if item.outcome is GateVerdict.FAILED else item.verdict
        cells = (_plain(item.name), _plain(item.subject), _plain(item.answer), verdict, str(item.blocks))
        rows.append(f"| {' | '.join(cells)} |")
    remarks = [_plain(checked.stopping), ""] if checked.stopping else []
    report = printable(checked.report).replace("`", "'")
    return "\n".join([f"### {_plain(checked.title)}", "", *rows, "", *remarks, f"Report: `{report}`"]) + "\n"


def _plain(text: str) -> str:
    """Text of which Markdown makes nothing special, and in which an arm such as @caddy notifies nobody of that name."""
    return _SPECIAL.sub(r"\\\1", printable(text)).replace("@", "@\N{WORD JOINER}")
