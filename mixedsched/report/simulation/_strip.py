"""Schedule strips (figure 8 of Marx et al. 2019): a row per scheme, a coloured cell per packet, in the order of the wire."""

import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup
from rich.text import Text

from mixedsched.core.sim.record import weight_of
from mixedsched.report.simulation._loads import WIDTH, LoadRow, PageGroup, Panel, factor_text
from mixedsched.report.svg import Scale, element, shortened, text, tooltip, x_grid
from mixedsched.units import counted, format_bytes, format_ms

# Orders in few cells: how runs of packets are thinned out honestly, and as coloured letters for terminals


# Okabe and Ito's palette: eight backgrounds that black letters stand on, apart for all eyes.
_BACKGROUNDS = ("#56b4e9", "#e69f00", "#2fb894", "#f0e442", "#cc79a7", "#9aa9ff", "#d97a3a", "#b0b0b0")
_LETTERS = string.ascii_uppercase + string.ascii_lowercase

Runs = list[tuple[str, int]]


def thinned(order: Iterable[tuple[str, int]], packets_per_cell: float) -> Runs:
    """Run-length coded cells of an order, one cell for so many packets (at least 1).

    A cell shows one of the resources that have packets in it: the one that has been shown too little so far, so that over a
    row every resource has its share of cells. Simply taking the first or the most frequent would let a round robin of many
    streams look as if it served a few of them.
    """
    if packets_per_cell <= 1:
        return joined(order)
    owed: dict[str, float] = {}  # packets not yet shown; less than none if shown too much
    cells: Runs = []
    for shares in _shares(order, packets_per_cell):
        for name, packets in shares.items():
            owed[name] = owed.get(name, 0.0) + packets
        chosen = max(shares, key=owed.__getitem__)  # of equals, the first on the wire
        owed[chosen] -= packets_per_cell
        cells.append((chosen, 1))
    return joined(cells)


def joined(order: Iterable[tuple[str, int]]) -> Runs:
    """Neighbouring runs of the same resource as one; empty runs left out."""
    runs: Runs = []
    for name, count in order:
        if count <= 0:
            continue
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + count)
        else:
            runs.append((name, count))
    return runs


def _shares(order: Iterable[tuple[str, int]], packets_per_cell: float) -> Iterator[dict[str, float]]:
    """Packets by resource in each cell; a last cell that is less than half full is left out, unless it is the only one."""
    shares: dict[str, float] = {}
    room, any_cell = packets_per_cell, False
    for name, count in order:
        left = float(count)
        while left > 1e-9:
            taken = min(left, room)
            shares[name] = shares.get(name, 0.0) + taken
            left -= taken
            room -= taken
            if room <= 1e-9:
                yield shares
                shares, room, any_cell = {}, packets_per_cell, True
    if shares and (room <= packets_per_cell / 2 or not any_cell):
        yield shares


def strip_text(order: Sequence[tuple[str, int]], width: int, ids: Sequence[str] | None = None) -> Text:
    """An order, run-length coded, in at most `width` letters (at least 1); one letter is one packet where there is room.

    ids: all resources, for instance in order of request, so that one has the same letter and colour in every picture; by
    default those of the order as they appear. Ids of one character are their own letters. Past 52 resources letters repeat.
    """
    names = list(dict.fromkeys([*(ids or ()), *(name for name, _ in order)]))
    places = {name: place for place, name in enumerate(names)}
    own_letters = all(len(name) == 1 and name.isprintable() for name in names)
    packets = sum(count for _, count in order)
    picture = Text(no_wrap=True, end="")
    for name, cells in thinned(order, packets / max(1, width)):
        place = places[name]
        letter = name if own_letters else _LETTERS[place % len(_LETTERS)]
        picture.append(letter * cells, style=f"black on {_BACKGROUNDS[place % len(_BACKGROUNDS)]}")
    return picture


# Strips


LABELS = 196.0
LABEL_LENGTH = 26
_FIGURES = 150.0  # right of the strips
_STRIP_WIDTH = WIDTH - LABELS - _FIGURES
_CELLS_MOST = int(_STRIP_WIDTH)  # a cell below one pixel would be a blur that no reader can undo
_TOP = 34.0
_ROW, _STRIP = 30.0, 18.0
_GAPS_FROM = 5.0  # pixels per cell from which single packets are marked off from each other


def schedule_strip(group: PageGroup) -> Panel:
    """The strips of one page, and its legend in order of request."""
    packets_most = max(1, *(row.load.packets for row in group.rows))
    packets_per_cell = max(1.0, packets_most / _CELLS_MOST)
    scale = Scale(0, packets_most, LABELS, LABELS + _STRIP_WIDTH)
    bottom = _TOP + _ROW * len(group.rows)
    shapes = [*_axis(scale, bottom), *_column_heads(group)]
    for index, row in enumerate(group.rows):
        shapes += _row(group, row, scale, packets_per_cell, _TOP + _ROW * index)
    legend_shapes, legend_height = legend(group, bottom + 14)
    spoken = (
        f"Schedules of {group.page.name}: {counted(len(group.rows), 'row')} of up to {counted(packets_most, 'packet')}"
    )
    return Panel(
        "Schedule: which packets left when",
        _reading(packets_per_cell),
        spoken,
        bottom + 14 + legend_height,
        (*shapes, *legend_shapes),
    )


def _reading(packets_per_cell: float) -> str:
    cell = (
        "Each cell is one packet of one response"
        if packets_per_cell <= 1
        else f"Each cell stands for {packets_per_cell:.3g} packets and shows one response that has some of them; over a row, "
        "every response has its share of cells"
    )
    return (
        f"{cell}; left to right is the order on the wire. Strong colours: above the fold; pale: the rest. Ticks below a strip "
        "mark the last packets of responses above the fold, the triangle the last of all these: the further left it is, the "
        "sooner the first screen is complete."
    )


def _axis(scale: Scale, bottom: float) -> list[Markup]:
    grid = x_grid(scale, _TOP - 6, bottom - 4, _TOP - 10, lambda tick: f"{tick:g}", about=8)
    return [text(LABELS - 10, _TOP - 10, "packets sent:", "end", "faint"), *grid]


def _column_heads(group: PageGroup) -> list[Markup]:
    right = [
        text(WIDTH - 62, _TOP - 22, "ByteIndex above", "end", "faint"),
        text(WIDTH - 62, _TOP - 10, "the fold", "end", "faint"),
    ]
    if len(group.rows) > 1:
        right += [text(WIDTH - 4, _TOP - 22, "against", "end", "faint")]
        right += [text(WIDTH - 4, _TOP - 10, shortened(group.baseline_scheme, 9), "end", "faint")]
    return right


def _row(group: PageGroup, row: LoadRow, scale: Scale, packets_per_cell: float, y: float) -> list[Markup]:
    cell_width = (scale.end - scale.start) / (scale.high - scale.low) * packets_per_cell
    runs = thinned(row.load.order, packets_per_cell)
    shapes = [
        row_label(row, y + 13),
        element(
            "g",
            *_cells(group, row, runs),
            class_="cells",
            transform=f"translate({scale.start:g} {y:g}) scale({cell_width:.6g} 1)",
        ),
    ]
    if cell_width >= _GAPS_FROM:
        shapes.append(_gaps(row.load.packets, cell_width, scale.start, y))
    shapes += _completion_marks(group, row, scale, y + _STRIP + 1)
    shapes.append(text(WIDTH - 62, y + 13, format_ms(row.byte_index_ms["atf"]), "end", "figure"))
    if len(group.rows) > 1:
        said = "baseline" if group.baseline_of(row) is row else factor_text(group.speed_up(row, "atf"))
        shapes.append(text(WIDTH - 4, y + 13, said, "end", "figure" if said != "baseline" else "faint"))
    return shapes


def row_label(row: LoadRow, y: float) -> Markup:
    """The label left of a row, and all of it as a tooltip where it had to be shortened."""
    said = shortened(row.label, LABEL_LENGTH)
    hint = [tooltip(row.label)] if said != row.label else []
    return element("text", *hint, said, x=LABELS - 10, y=y, text_anchor="end", class_="arm")


def _cells(group: PageGroup, row: LoadRow, runs: Sequence[tuple[str, int]]) -> list[Markup]:
    """A path per resource, of one dash per run; a unit of length is one cell. Much shorter than a rectangle per run."""
    dashes: dict[str, list[str]] = {}
    ends: dict[str, int] = {}
    start = 0
    for name, cells in runs:
        if name not in dashes:
            dashes[name] = [f"M{start} {_STRIP / 2:g}h{cells}"]
        else:
            dashes[name].append(f"m{start - ends[name]} 0h{cells}")
        start += cells
        ends[name] = start
    sent = sent_by_resource(row.load.order)
    return [
        element(
            "path", tooltip(_hint(row, name, sent[name])), d="".join(drawn), class_=group.classes.get(name, "unknown")
        )
        for name, drawn in dashes.items()
    ]


@dataclass(frozen=True, slots=True)
class Sent:
    """The packets of one resource in an order."""

    packets: int
    runs: int
    first: int  # place of the first one, from 1
    last: int


def sent_by_resource(order: Sequence[tuple[str, int]]) -> dict[str, Sent]:
    """By id, in order of first appearance."""
    found: dict[str, Sent] = {}
    runs = joined(order)
    for (name, count), end in zip(runs, accumulate(count for _, count in runs), strict=True):
        before = found.get(name, Sent(0, 0, end - count + 1, 0))
        found[name] = Sent(before.packets + count, before.runs + 1, before.first, end)
    return found


def _hint(row: LoadRow, name: str, sent: Sent) -> str:
    times = row.times.get(name)
    turns = "in one go" if sent.runs == 1 else f"in {sent.runs} turns"
    lines = [f"{name} ({row.label})", f"{counted(sent.packets, 'packet')} {turns}, number {sent.first} to {sent.last}"]
    if times is not None:
        lines.append(f"requested at {format_ms(times.requested_ms)}, complete at {format_ms(times.complete_ms)}")
    return "\n".join(lines)


def _gaps(packets: int, cell_width: float, x: float, y: float) -> Markup:
    """Hairlines between single packets, where these are wide enough to be counted."""
    steps = "".join(f"m{cell_width:.3f} -{_STRIP:g}v{_STRIP:g}" for _ in range(packets - 1))
    return element("path", d=f"M{x:g} {y + _STRIP:g}{steps}", class_="gaps")


def _completion_marks(group: PageGroup, row: LoadRow, scale: Scale, y: float) -> list[Markup]:
    """A tick where the last packet of each response above the fold left, a triangle at the last of all."""
    lasts = sorted(
        (sent.last, name) for name, sent in sent_by_resource(row.load.order).items() if name in group.above_fold
    )
    shapes = []
    for place, (last, name) in enumerate(lasts):
        x = scale(last)
        said = f"{name}: last packet is number {last}"
        said += f", complete at {format_ms(row.times[name].complete_ms)}" if name in row.times else ""
        if place < len(lasts) - 1:
            shapes.append(element("path", tooltip(said), d=f"M{x:.1f} {y:g}v5", class_="tick"))
            continue
        hint = tooltip(f"The last above the fold\n{said}")
        shapes.append(element("path", hint, d=f"M{x:.1f} {y - 1:g}l-4.5 8h9z", class_="whole"))
    return shapes


_LEGEND_ROW = 17.0
_LEGEND_MOST = 400


def legend(group: PageGroup, top: float) -> tuple[list[Markup], float]:
    """Every resource in order of request, down the columns, with its size; and the height that this takes."""
    listed = group.resources[:_LEGEND_MOST]
    longest = min(20, max(len(item.id) for item in listed))
    columns = 5 if longest > 10 else 7
    width, rows = WIDTH / columns, -(-len(listed) // columns)
    said = "In order of request; bold: above the fold"
    said += f"; the first {len(listed)} of {len(group.resources)}" if len(listed) < len(group.resources) else ""
    shapes = [text(0, top + 10, said, class_="faint")]
    for place, item in enumerate(listed):
        x, y = width * (place // rows), top + 18 + _LEGEND_ROW * (place % rows)
        strong = item.id in group.above_fold
        size = format_bytes(weight_of(item))
        hint = tooltip(f"{item.id}\n{item.kind}, {size}{', above the fold' if strong else ''}\n{item.path}")
        name = shortened(item.id, 20)
        entry = element("text", name, x=18, y=11, class_="name strong" if strong else "name")
        swatch = element("path", d="M0 7h13", stroke_width=11, class_=group.classes[item.id])
        of_size = text(width - 22, 11, size, "end", "faint")
        shapes.append(element("g", hint, swatch, entry, of_size, class_="entry", transform=f"translate({x:g} {y:g})"))
    return shapes, 18 + _LEGEND_ROW * rows + 6
