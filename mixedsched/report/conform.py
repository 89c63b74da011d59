"""The table that `conform` writes."""

import datetime as dt
from collections.abc import Sequence

from mixedsched.lab.conform import ProbeFinding


def summary_of(findings: Sequence[ProbeFinding]) -> dict[str, dict[str, int]]:
    """By kind of probe: how many were made, and how many were answered as they should be."""
    kinds = dict.fromkeys(finding.kind for finding in findings)
    return {
        kind: {
            "asked": sum(finding.kind == kind for finding in findings),
            "right": sum(finding.kind == kind and finding.verdict.word == "right" for finding in findings),
        }
        for kind in kinds
    }


def conformance_markdown(address: str, server: str, findings: Sequence[ProbeFinding], died_after: str) -> str:
    """A dated page with all probes of one server."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    counts = ", ".join(
        f"{kind}: {count['right']} of {count['asked']} right" for kind, count in summary_of(findings).items()
    )
    said = f" (it calls itself {_cell(server)})" if server else ""
    lines = [
        f"# Conformance of {_cell(address)}",
        "",
        f"Asked on {today}{said}. {counts}.",
        *([f"The server stopped answering after: {_cell(died_after)}."] if died_after else []),
        "",
        "| rule | what the client does | wanted | what the server did | verdict |",
        "|---|---|---|---|---|",
    ]
    for finding in findings:
        cells = (finding.rule, finding.what, finding.wanted, finding.verdict.did, finding.verdict.word)
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    """Safe within a table: what servers say of themselves is their choice."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in text)
    for special in "\\|<>[]*":
        printable = printable.replace(special, f"\\{special}")
    return printable
