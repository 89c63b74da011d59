"""Pictures of simulated loads, after figures 8, 11, 12 and 13 of Marx et al. 2019: what was sent when, and how that helped.

Imports neither statistics nor storage, so that `simulate` starts at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mixedsched.core.sim.load import PageLoad
from mixedsched.errors import UsageError
from mixedsched.report.simulation._order import strip_text
from mixedsched.report.simulation._picture import render_svg
from mixedsched.report.simulation._sections import sections_of

__all__ = ["render_plot", "strip_text", "write_plot"]

_SUFFIXES = (".svg", ".html")

# What XML cannot hold, in whatever way it is written; ids come from files and may hold anything.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_plot(loads: Sequence[PageLoad], path: Path) -> None:
    """Draw loads into a file: `.svg` is one picture that stands alone, `.html` a page with the same pictures and figures.

    loads: of one or many pages under one or many schemes, at least one; the order of pages and of rows is theirs. The same
    loads give the same bytes. Raises UsageError for another suffix or no loads, OSError if it cannot be written.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"no picture can be written to '{path}'", fix=f"its name must end in {' or '.join(_SUFFIXES)}")
    path.write_text(render_plot(loads, path.suffix.lower()), encoding="utf-8")


def render_plot(loads: Sequence[PageLoad], suffix: str) -> str:
    """The text of the file that write_plot writes. Raises UsageError if there are no loads."""
    if not loads:
        raise UsageError("there are no loads to draw")
    sections = sections_of(loads)
    if suffix == ".svg":
        return _NOT_XML.sub("\ufffd", render_svg(sections))
    from mixedsched.report.simulation._document import render_html  # templates take time to load

    return _NOT_XML.sub("\ufffd", render_html(sections))
