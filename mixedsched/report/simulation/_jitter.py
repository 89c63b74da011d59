"""The jitter view (figure 13 of Marx et al. 2019): packets that are handed to HTTP/3 together when some overtake others."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from mixedsched.core.sim.load import Delivery
from mixedsched.report.simulation._loads import WIDTH, LoadRow, PageGroup, Panel
from mixedsched.report.simulation._progress import time_text
from mixedsched.report.simulation._strip import LABELS, row_label
from mixedsched.report.svg import Scale, element, line, text, tooltip, x_grid
from mixedsched.units import format_ms

SLOTS = 90
_FIGURES = 132.0  # right of the slots
_SLOT_WIDTH = (WIDTH - LABELS - _FIGURES) / SLOTS
_CELL, _GAP, _TOP = 9.0, 14.0, 24.0
_BUSY_STREAMS = 4  # so many at once show what overtaking does to neighbours

Slots = dict[int, list[str]]  # number of the slot -> ids handed over in it, in order


def jitter_view(group: PageGroup) -> Panel | None:
    """The same excerpt of every row that has deliveries; None if none has."""
    rows = [row for row in group.rows if row.load.deliveries]
    if not rows:
        return None
    slot_ms = slot_length_ms([row.load.deliveries for row in rows])
    slots = [slots_of(row.load.deliveries, slot_ms) for row in rows]
    first = max(busy_from(item) for item in slots)
    ends_in = max(max(item) for item in slots)
    first = max(0, min(first, ends_in - SLOTS + 1))
    y = _TOP
    shapes: list[Markup] = []
    for row, own in zip(rows, slots, strict=True):
        tallest = max((len(own.get(slot, ())) for slot in range(first, first + SLOTS)), default=1)
        height = _CELL * max(2, tallest)
        shapes += _row(group, row, own, first, y + height)
        y += height + _GAP
    shapes = [*_axis(first, slot_ms, y - _GAP), *shapes]
    last = first + SLOTS
    return Panel(
        "Jitter: what arrives together",
        f"An excerpt, {format_ms(first * slot_ms)} to {format_ms(last * slot_ms)}; a column is {slot_ms:g} ms. Blank: nothing "
        "could be handed to HTTP/3, because packets were late or waited behind a late one. A stack: packets that were handed "
        "over at the same moment. High stacks of many colours: responses wait for each other's packets.",
        f"Arrivals under jitter on {group.page.name}: {len(rows)} rows of {SLOTS} time slots",
        y,
        tuple(shapes),
    )


def slot_length_ms(rows: Sequence[Sequence[Delivery]]) -> float:
    """The pace of the packets: the shortest time between two moments of delivery. 1 if there are no two."""
    gaps = [
        round(after - before, 3)  # simulated time is whole microseconds
        for deliveries in rows
        for before, after in pairwise(sorted({item.at_ms for item in deliveries}))
    ]
    return min((gap for gap in gaps if gap > 0), default=1.0)


def slots_of(deliveries: Sequence[Delivery], slot_ms: float) -> Slots:
    """Ids handed over in each slot. Slot k ends at (k + 1) times its length: the first packet leaves at the end of one."""
    slots: Slots = {}
    for item in deliveries:
        slots.setdefault(max(0, round(item.at_ms / slot_ms) - 1), []).append(item.id)
    return slots


def busy_from(slots: Slots) -> int:
    """The first slot in which several responses are between their first and last packet; 0 if that is never so."""
    firsts: dict[str, int] = {}
    lasts: dict[str, int] = {}
    for slot in sorted(slots):
        for name in slots[slot]:
            firsts.setdefault(name, slot)
            lasts[name] = slot
    changes = Counter(firsts.values())
    changes.subtract(Counter(last + 1 for last in lasts.values()))
    active = 0
    for slot in sorted(changes):
        active += changes[slot]
        if active >= min(_BUSY_STREAMS, len(firsts)):
            return slot
    return 0


def _x(slot: int) -> float:
    return LABELS + _SLOT_WIDTH * slot


def _axis(first: int, slot_ms: float, bottom: float) -> list[Markup]:
    scale = Scale(first * slot_ms, (first + SLOTS) * slot_ms, _x(0), _x(SLOTS))
    return x_grid(scale, _TOP - 6, bottom, _TOP - 10, time_text, about=8)


def _row(group: PageGroup, row: LoadRow, slots: Slots, first: int, bottom: float) -> list[Markup]:
    shapes = [row_label(row, bottom - 2), line(LABELS, bottom + 0.5, _x(SLOTS), bottom + 0.5, "axis")]
    cells: dict[str, list[str]] = {}
    for slot in range(first, first + SLOTS):
        for level, name in enumerate(slots.get(slot, ())):
            x, y = _x(slot - first) + 0.5, bottom - _CELL * level - _CELL / 2
            cells.setdefault(name, []).append(f"M{x:.2f} {y:g}h{_SLOT_WIDTH - 1:.2f}")
    drawn = [
        element("path", tooltip(f"{name} ({row.label})"), d="".join(parts), class_=group.classes.get(name, "unknown"))
        for name, parts in cells.items()
    ]
    shapes.append(element("g", *drawn, class_="stacks"))
    sizes = Counter(len(names) for names in slots.values())
    alone = sizes[1] / sum(len(names) for names in slots.values())
    shapes.append(text(WIDTH - 4, bottom - 12, f"at most {max(sizes)} together", "end", "figure"))
    shapes.append(text(WIDTH - 4, bottom, f"{alone:.0%} came alone".replace("%", " %"), "end", "faint"))
    return shapes
