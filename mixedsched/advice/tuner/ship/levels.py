"""Ranks as urgencies: an order in at most eight levels, with as few headers as possible. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mixedsched.advice.tuner.ship.places import Place
from mixedsched.model.priority import URGENCY_MAX, Priority

LEVELS = URGENCY_MAX + 1


def urgencies_of(places: Mapping[str, Place], signals: Mapping[str, Priority]) -> tuple[dict[str, Priority], bool]:
    """A priority for each resource that keeps the order of ranks, and whether all ranks have a level of their own.

    Among all such choices, one by which most resources are placed as they signal anyway; of equals the most urgent one. If
    there are more ranks than levels, the last ones share a level.
    """
    ranks = sorted({place.rank for place in places.values()})
    level_of = {rank: min(index, URGENCY_MAX) for index, rank in enumerate(ranks)}
    groups: list[list[str]] = [[] for _ in range(min(len(ranks), LEVELS))]
    for name, place in places.items():
        groups[level_of[place.rank]].append(name)
    kept = [[_kept(group, urgency, places, signals) for urgency in range(LEVELS)] for group in groups]
    chosen = _increasing(kept)
    return (
        {name: Priority(chosen[level_of[place.rank]], place.incremental) for name, place in places.items()},
        len(ranks) <= LEVELS,
    )


def _kept(group: Sequence[str], urgency: int, places: Mapping[str, Place], signals: Mapping[str, Priority]) -> int:
    return sum(signals[name] == Priority(urgency, places[name].incremental) for name in group)


def _increasing(kept: Sequence[Sequence[int]]) -> list[int]:
    """Urgencies, each higher than the one before, whose sum of kept[group][urgency] is largest; the smallest of equals."""
    # best[u]: (sum, urgencies with their signs turned) of the groups so far, the last one at u
    best: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for index, gains in enumerate(kept):
        fresh: list[tuple[int, tuple[int, ...]]] = []
        for urgency in range(index, LEVELS - (len(kept) - 1 - index)):
            before = [item for item in best if not item[1] or -item[1][-1] < urgency]
            total, path = max(before)
            fresh.append((total + gains[urgency], (*path, -urgency)))
        best = fresh
    return [-value for value in max(best)[1]]
