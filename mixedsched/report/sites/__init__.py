"""A page's structure: the tree of discovery with sizes and priorities; on the terminal, and as an HTML page."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from mixedsched.model.page import Resource
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.report._terminal import plain_table
from mixedsched.report.sites.structure import Folded, Node, Sum, TreeRow, found_text, sign_of, sums
from mixedsched.report.svg import shortened
from mixedsched.sites.analysis.difference import Described
from mixedsched.units import format_bytes, printable


def write_site(described: Described, path: Path) -> None:
    """Draw a page into an HTML file that needs no network and no script. Raises OSError if it cannot be written."""
    path.write_text(render_site(described), encoding="utf-8")


def render_site(described: Described) -> str:
    """The text of the file that write_site writes. The same page gives the same bytes."""
    from mixedsched.report.sites._document import render_html  # templates take time to load

    return render_html(described)


# As lines of text: guides from parent to child, bars for sizes. Colour alone says nothing


KIND_STYLES: Mapping[Kind, str] = {
    Kind.DOCUMENT: "bold blue",
    Kind.STYLESHEET: "magenta",
    Kind.FONT: "red",
    Kind.SCRIPT: "yellow",
    Kind.IMAGE: "green",
    Kind.MEDIA: "cyan",
    Kind.XHR: "bright_black",
    Kind.OTHER: "white",
}
_PRIORITY_STYLES: Mapping[ChromiumPriority, str] = {
    ChromiumPriority.VERY_HIGH: "bold",
    ChromiumPriority.HIGH: "bold",
    ChromiumPriority.LOW: "dim",
    ChromiumPriority.VERY_LOW: "dim",
}
_BARS = " ▏▎▍▌▋▊▉█"
_BAR_WIDTH = 10
_LEAST_PATH, _MARKS = 24, 24  # characters of these columns at least, and at most
_OTHER_COLUMNS = 10 + _BAR_WIDTH + 11 + 12 + 2  # of size, bar, kind and priority, with all gaps
_FOUND = 26
_COLUMNS = 6  # without the one for when it is found
_ROOM_FOR_FOUND = 120  # terminals that are narrower do without
_OWN_SIGNS = {Flag.HERO, Flag.ABOVE_FOLD}


def structure_table(described: Described, rows: Sequence[TreeRow], width: int) -> Table:
    """One line for each resource, or for those that are folded; with when each is discovered, where there is room.

    width: of the terminal, in characters.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", width=width)
    tells_found = width >= _ROOM_FOR_FOUND
    path_width = max(_LEAST_PATH, width - _OTHER_COLUMNS - _MARKS - (_FOUND if tells_found else 0))
    table.add_column("resource", no_wrap=True, width=path_width)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, width=_BAR_WIDTH)
    table.add_column("kind", no_wrap=True)
    table.add_column("priority", no_wrap=True)
    if tells_found:
        table.add_column("found", no_wrap=True, width=_FOUND - 1, overflow="ellipsis")
    table.add_column("marks", no_wrap=True, overflow="ellipsis")
    most_bytes = max((item.body_bytes for item in described.page.resources), default=0)
    for row in rows:
        if isinstance(row.content, Node):
            _add_resource(table, described, row, row.content.item, path_width, most_bytes)
        else:
            _add_folded(table, row, row.content)
    return table


def _add_resource(
    table: Table, described: Described, row: TreeRow, item: Resource, path_width: int, most_bytes: int
) -> None:
    guides = _guides(row)
    host = f"//{described.host_of(item)}" if item.host else ""
    name = shortened(printable(f"{host}{item.path}"), max(8, path_width - len(guides)))
    incremental = ", i" if item.incremental else ""
    found = (Text(found_text(item)),) if len(table.columns) > _COLUMNS else ()
    table.add_row(
        Text.assemble((guides, "dim"), (name, KIND_STYLES[item.kind])),
        format_bytes(item.body_bytes),
        Text(size_bar(item.body_bytes, most_bytes), style=KIND_STYLES[item.kind]),
        Text(item.kind.value, style=KIND_STYLES[item.kind]),
        Text(f"{item.chromium_priority.value}{incremental}", style=_PRIORITY_STYLES.get(item.chromium_priority, "")),
        *found,
        Text(_marks(item)),
    )


def _add_folded(table: Table, row: TreeRow, folded: Folded) -> None:
    kinds = sums((item.kind.value, item) for item in folded.items)
    counts = ", ".join(f"{kind.resources} {kind.name}" for kind in kinds)
    size_bytes = sum(item.body_bytes for item in folded.items)
    words = f"… {len(folded.items)} more: {counts}"
    table.add_row(Text.assemble((_guides(row), "dim"), (words, "italic")), format_bytes(size_bytes))


def _guides(row: TreeRow) -> str:
    """The lines that lead to a resource; levels that are too deep to be drawn are counted."""
    if not row.last:
        return ""
    beyond = row.content.depth - len(row.last)
    count = f"+{beyond} " if beyond else ""
    return count + "".join("  " if ended else "│ " for ended in row.last[:-1]) + ("└ " if row.last[-1] else "├ ")


def size_bar(size_bytes: int, most_bytes: int) -> str:
    """A bar in eighths of a character; only nothing has none."""
    eighths = round(8 * _BAR_WIDTH * size_bytes / most_bytes) if most_bytes else 0
    whole, rest = divmod(max(eighths, 1 if size_bytes else 0), 8)
    return "█" * whole + (_BARS[rest] if rest else "")


def _marks(item: Resource) -> str:
    """A sign for the first screen, then the flags."""
    sign = sign_of(item) + (" hero" if Flag.HERO in item.flags else "")
    flags = " ".join(flag.value for flag in Flag if flag in item.flags and flag not in _OWN_SIGNS)
    return f"{sign} {flags}".strip()


def sums_table(title: str, found: Sequence[Sum]) -> Table:
    """Counts and bytes by name, with their shares."""
    table = plain_table(title, "", numbers=["resources", "bytes", "share"])
    table.title_style = "bold"
    table.add_column("")
    whole = sum(item.body_bytes for item in found)
    most = max((item.body_bytes for item in found), default=0)
    for item in found:
        share = f"{100 * item.body_bytes / whole:.0f} %" if whole else "–"
        style = KIND_STYLES.get(Kind(item.name), "") if item.name in tuple(Kind) else ""
        table.add_row(
            Text(printable(item.name), style=style),
            str(item.resources),
            format_bytes(item.body_bytes),
            share,
            Text(size_bar(item.body_bytes, most), style=style),
        )
    return table
