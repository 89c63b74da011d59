"""What the site did not have, in words."""

from __future__ import annotations

from collections.abc import Sequence

from mixedsched.lab.comparison import Comparison
from mixedsched.lab.diagnostics import Misses, misses_of
from mixedsched.lab.model import Run
from mixedsched.report._svg import shortened

_MOST_NAMED = 5
_LONGEST = 160  # characters of an address


def miss_lines(comparison: Comparison, runs: Sequence[Run]) -> list[str]:
    """A sentence for each arm that missed anything, with the requests that most of its runs missed."""
    return [_line(item) for item in misses_of(runs, [arm.label for arm in comparison.arms])]


def _line(item: Misses) -> str:
    named = "; ".join(
        f"{shortened(text, _LONGEST)} (in {runs})" if runs != item.missing_runs else shortened(text, _LONGEST)
        for text, runs in item.requests[:_MOST_NAMED]
    )
    more = len(item.requests) - _MOST_NAMED
    rest = f"; and {more} more" if more > 0 else ""
    return f"{item.arm}: {item.missing_runs} of {item.runs} runs asked for what the site does not have: {named}{rest}"
