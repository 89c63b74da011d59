"""Orders in few cells: how runs of packets are thinned out honestly, and as coloured letters for terminals."""

import string
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

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
    for shares in _cells(order, packets_per_cell):
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


def _cells(order: Iterable[tuple[str, int]], packets_per_cell: float) -> Iterator[dict[str, float]]:
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
