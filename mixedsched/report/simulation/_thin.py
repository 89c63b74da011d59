"""Orders with more packets than a picture has cells, drawn honestly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
