"""The report of the scheme finder: who wins where, and what one scheme everywhere costs. For the terminal, and as HTML."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mixedsched.advice.finder.result import FinderResult
from mixedsched.report.finder._terminal import render_finding

__all__ = ["render_finding", "write_finding"]


def write_finding(finding: FinderResult, notes: Sequence[str], facts: Mapping[str, Any], path: Path) -> None:
    """Write the HTML report to `path`. notes: what a reader must know, a sentence each. facts: `command` has a place of its
    own, mappings become tables. Raises OSError if it cannot be written."""
    from mixedsched.report.finder._document import render_html  # here, because templates take time to load

    path.write_text(render_html(finding, notes, facts), encoding="utf-8")
