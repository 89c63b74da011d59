"""A page's structure as an HTML file."""

from typing import Any

from mixedsched.model.request import ChromiumPriority, Flag
from mixedsched.report._document import render
from mixedsched.report.sites._picture import DEEPEST, icicle, left_out
from mixedsched.report.sites._structure import (
    Structure,
    Sum,
    found_text,
    is_above_fold,
    largest,
    priority_sums,
    sign_of,
    sums,
)
from mixedsched.sites.analysis import Described, expected_connections
from mixedsched.units import format_bytes

_MOST_HOSTS = 15
_INDENT_PX, _MOST_INDENT_PX = 16, 240


def render_html(described: Described) -> str:
    items = described.page.resources
    site = described.site
    return render(
        "site.html.j2",
        name=described.page.name,
        facts=described.facts,
        counted=f"{len(items)} resources, {format_bytes(sum(item.body_bytes for item in items))}",
        connections=str(expected_connections(site)) if site is not None else "",
        picture=icicle(described),
        left_out=left_out(described),
        deepest=DEEPEST,
        priorities=list(ChromiumPriority),
        lines=_lines(described),
        tables=_tables(described),
    )


def _lines(described: Described) -> list[dict[str, Any]]:
    """Rows of the table of resources."""
    most = max((item.body_bytes for item in described.page.resources), default=0) or 1
    return [
        {
            "item": node.item,
            "indent_px": min(_MOST_INDENT_PX, _INDENT_PX * node.depth),
            "share": round(100 * node.item.body_bytes / most, 2),  # of the largest resource, in per cent
            "host": described.host_of(node.item),
            "sign": sign_of(node.item),
            "found": found_text(node.item),
            "flags": ", ".join(flag.value for flag in Flag if flag in node.item.flags),
        }
        for node in Structure(described.page).nodes()
    ]


def _tables(described: Described) -> list[tuple[str, list[Sum], int]]:
    """(caption, sums, all bytes) of each way to add up."""
    items = described.page.resources
    whole = sum(item.body_bytes for item in items)
    return [
        ("Kinds", sums((item.kind.value, item) for item in items), whole),
        ("Hosts", largest(sums((described.host_of(item), item) for item in items), _MOST_HOSTS), whole),
        ("Priorities", priority_sums(items), whole),
        ("Screen", sums(("above the fold" if is_above_fold(item) else "all others", item) for item in items), whole),
    ]
