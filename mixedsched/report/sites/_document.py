"""A page's structure as an HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from mixedsched.model.request import ChromiumPriority, Flag
from mixedsched.report._document import render
from mixedsched.report.sites.structure import (
    DRAWN_LEVELS,
    Node,
    Structure,
    Sum,
    found_text,
    is_above_fold,
    largest,
    priority_sums,
    sign_of,
    sums,
)
from mixedsched.report.svg import drawing, element, line, rectangle, shortened, text, tooltip
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.analysis.difference import Described
from mixedsched.units import counted, format_bytes

_MOST_HOSTS = 15
_INDENT_PX, _MOST_INDENT_PX = 16, 240


def render_html(described: Described) -> str:
    items = described.page.resources
    site = described.site
    return render(
        "site.html.j2",
        name=described.page.name,
        facts=described.facts,
        counted=f"{counted(len(items), 'resource')}, {format_bytes(sum(item.body_bytes for item in items))}",
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


DEEPEST = DRAWN_LEVELS
_HEIGHT = 640.0  # of the tallest column, tiny boxes aside
_LEAST_HEIGHT = 3.0
_WIDTH, _NARROWEST, _WIDEST = 1100.0, 110.0, 300.0
_GAP, _TOP = 10.0, 24.0
_LABEL_HEIGHT, _LETTER_WIDTH = 11.5, 6.4
_ROOM_FOR_KIND = 24  # characters


@dataclass(frozen=True, slots=True)
class _Box:
    """Where a resource is drawn."""

    y: float
    height: float
    extent: float  # of its box, or of all that it discovered, whichever is taller


def icicle(described: Described) -> Markup:
    """The whole picture, without resources that are deeper than DEEPEST steps."""
    nodes = [node for node in Structure(described.page).nodes() if node.depth < DEEPEST]
    boxes = _placed(nodes)
    columns = 1 + max(node.depth for node in nodes)
    width = min(_WIDEST, max(_NARROWEST, (_WIDTH + _GAP) / columns - _GAP))
    shapes: list[Markup] = []
    for depth in range(columns):
        name = "navigation" if depth == 0 else f"step {depth}"
        shapes.append(text(_x(depth, width), _TOP - 9, name, class_="faint"))
    for node in nodes:
        shapes += _link(node, boxes, width)
        shapes.append(_drawn(described, node, boxes[node.item.id], width))
    height = max(box.y + box.extent for box in boxes.values()) + 6
    spoken = f"{len(nodes)} resources of {described.page.name} in {columns} steps of discovery"
    return drawing(columns * (width + _GAP), height, spoken, *shapes, class_="wide site")


def left_out(described: Described) -> int:
    """How many resources are too deep to be drawn."""
    return sum(node.depth >= DEEPEST for node in Structure(described.page).nodes())


def _placed(nodes: Sequence[Node]) -> dict[str, _Box]:
    """Boxes by resource id. nodes: parents first."""
    per_column: dict[int, int] = {}
    for node in nodes:
        per_column[node.depth] = per_column.get(node.depth, 0) + node.item.body_bytes
    scale = _HEIGHT / max(1, *per_column.values())
    heights = {node.item.id: max(_LEAST_HEIGHT, node.item.body_bytes * scale) for node in nodes}
    extents: dict[str, float] = {}
    for node in reversed(nodes):
        found = sum(extents[id_] for id_ in node.children if id_ in extents)
        extents[node.item.id] = max(heights[node.item.id], found)
    tops: dict[str, float] = {}
    free = _TOP
    for node in nodes:
        if node.depth == 0:
            tops[node.item.id] = free
            free += extents[node.item.id]
        y = tops[node.item.id]
        for id_ in node.children:
            if id_ in extents:
                tops[id_] = y
                y += extents[id_]
    return {id_: _Box(tops[id_], heights[id_], extents[id_]) for id_ in extents}


def _x(depth: int, width: float) -> float:
    return depth * (width + _GAP)


def _link(node: Node, boxes: Mapping[str, _Box], width: float) -> list[Markup]:
    """A line along all that a resource discovered."""
    found = [boxes[id_] for id_ in node.children if id_ in boxes]
    if not found:
        return []
    x = _x(node.depth + 1, width) - _GAP / 2
    top, bottom = found[0].y + 1, found[-1].y + max(found[-1].height, _LEAST_HEIGHT) - 1
    middle = min(boxes[node.item.id].y + boxes[node.item.id].height, bottom) / 2 + top / 2
    return [line(x, top, x, bottom, "finds"), line(x - _GAP / 2, middle, x, middle, "finds")]


def _drawn(described: Described, node: Node, box: _Box, width: float) -> Markup:
    item, x = node.item, _x(node.depth, width)
    sign = sign_of(item)
    address = f"//{described.host_of(item)}{item.path}" if item.host else item.path
    flags = ", ".join(flag.value for flag in Flag if flag in item.flags)
    hint = (
        f"{address}\n{item.kind.value}, {format_bytes(item.body_bytes)}, {item.chromium_priority.value}"
        f"{', incremental' if item.incremental else ''}\nfound: {found_text(item)}{chr(10) + flags if flags else ''}"
    )
    shapes = [
        tooltip(hint),
        rectangle(x, box.y, width, max(box.height - 0.6, 2.0), f"resource p{item.chromium_priority.rank}"),
    ]
    if sign:
        shapes.append(rectangle(x, box.y, 4, max(box.height - 0.6, 2.0), "first-screen"))
    if box.height >= _LABEL_HEIGHT:
        size = format_bytes(item.body_bytes)
        room = int((width - 14) / _LETTER_WIDTH) - len(size) - 1
        words = f"{sign} {item.kind.value if room > _ROOM_FOR_KIND else ''} {item.path}".replace("  ", " ").strip()
        y = box.y + min(box.height / 2, 12) + 3.5
        shapes.append(text(x + 8, y, shortened(words, max(6, room)), class_=f"on-p{item.chromium_priority.rank}"))
        shapes.append(text(x + width - 5, y, size, "end", f"on-p{item.chromium_priority.rank}"))
    return element("g", *shapes)
