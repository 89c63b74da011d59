"""A page's structure: the tree of discovery with sizes and priorities; on the terminal, and as an HTML page."""

from pathlib import Path

from mixedsched.report.sites._structure import Node, Structure, Sum, is_above_fold, largest, priority_sums, sums
from mixedsched.report.sites._terminal import structure_table, sums_table
from mixedsched.sites.analysis import Described

__all__ = [
    "Node",
    "Structure",
    "Sum",
    "is_above_fold",
    "largest",
    "priority_sums",
    "render_site",
    "structure_table",
    "sums",
    "sums_table",
    "write_site",
]


def write_site(described: Described, path: Path) -> None:
    """Draw a page into an HTML file that needs no network and no script. Raises OSError if it cannot be written."""
    path.write_text(render_site(described), encoding="utf-8")


def render_site(described: Described) -> str:
    """The text of the file that write_site writes. The same page gives the same bytes."""
    from mixedsched.report.sites._document import render_html  # templates take time to load

    return render_html(described)
