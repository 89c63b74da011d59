"""What several loads say of one request, as one answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import TypeVar

from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.world.browser.observation import ObservedRequest

T = TypeVar("T")
_ONE_OF_BOTH = {  # what recorders call now this, now that
    frozenset({Kind.OTHER, Kind.XHR}): Kind.XHR,
    frozenset({Kind.SCRIPT, Kind.XHR}): Kind.SCRIPT,
}


def kind_of(requests: Sequence[ObservedRequest]) -> Kind:
    """What they agree on. Unknown and xhr is xhr, script and xhr is script, as in the study; else what most say."""
    kinds = frozenset(item.kind for item in requests)
    return _ONE_OF_BOTH.get(kinds) or most_frequent(item.kind for item in requests)


def priority_of(requests: Iterable[ObservedRequest]) -> ChromiumPriority:
    """The highest, as in the study: one load in which it was less urgent than it can be says little."""
    return min((item.priority for item in requests), key=lambda priority: priority.rank)


def incremental_of(requests: Iterable[ObservedRequest]) -> bool | None:
    """What most signalled; None if no load could tell."""
    told = [item.incremental for item in requests if item.incremental is not None]
    return most_frequent(told) if told else None


def flags_of(requests: Sequence[ObservedRequest]) -> frozenset[Flag]:
    """Those that most of the loads saw."""
    votes = Counter(flag for item in requests for flag in item.flags)
    return frozenset(flag for flag in Flag if 2 * votes[flag] > len(requests))


def median_of(times_ms: Iterable[float | None]) -> float | None:
    """Of those that are known."""
    known = [time_ms for time_ms in times_ms if time_ms is not None]
    return float(median(known)) if known else None


def most_frequent(values: Iterable[T]) -> T:
    """The first of those that occur most often. values: at least one."""
    return Counter(values).most_common(1)[0][0]
