"""A page's structure as an HTML file that needs no network and no script."""

from __future__ import annotations

from dataclasses import dataclass

from mixedsched.model.page import Resource
from mixedsched.model.request import ChromiumPriority, Flag
from mixedsched.report.document import render
from mixedsched.report.sites._picture import DEEPEST, icicle, left_out, sign_of
from mixedsched.report.sites._structure import Structure, Sum, found_text, is_above_fold, largest, priority_sums, sums
from mixedsched.sites.analysis import Described, expected_connections
from mixedsched.units import format_bytes

_MOST_HOSTS = 15
_INDENT_PX, _MOST_INDENT_PX = 16, 240


@dataclass(frozen=True, slots=True)
class _Line:
    """A row of the table of resources."""

    item: Resource
    indent_px: int  # by its depth
    share: float  # of the largest resource, in per cent
    host: str
    sign: str
    size: str
    found: str
    flags: str


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


def _lines(described: Described) -> list[_Line]:
    most = max((item.body_bytes for item in described.page.resources), default=0) or 1
    return [
        _Line(
            item=node.item,
            indent_px=min(_MOST_INDENT_PX, _INDENT_PX * node.depth),
            share=round(100 * node.item.body_bytes / most, 2),
            host=described.host_of(node.item),
            sign=sign_of(node.item.flags, above=is_above_fold(node.item)),
            size=format_bytes(node.item.body_bytes),
            found=found_text(node.item),
            flags=", ".join(flag.value for flag in Flag if flag in node.item.flags),
        )
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
