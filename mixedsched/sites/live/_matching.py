"""Which requests of several loads of a page are the same one, although queries differ, and what they agree on."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.analysis.difference import shared_characters
from mixedsched.world.browser.observation import Observation, ObservedRequest


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as one load had it. load: index of the load. place: its share of that load's requests that came before."""

    load: int
    place: float
    request: ObservedRequest


@dataclass(slots=True)
class SameRequest:
    """The same request in several loads, in the order of the loads, at most once in each."""

    seen: list[Seen] = field(default_factory=list)

    @property
    def first(self) -> ObservedRequest:
        """The request in the first load that made it."""
        return self.seen[0].request

    def in_load(self, load: int) -> ObservedRequest | None:
        return next((item.request for item in self.seen if item.load == load), None)


Key = tuple[str, str, int]  # method, URL, and how often that was asked before in the same load
Stem = tuple[str, str, int]  # the same with the URL without its query
_COMPARED_MAX = 100  # a page that asks for thousands of addresses at one path does not keep anybody waiting


def grouped(observations: Sequence[Observation]) -> list[SameRequest]:
    """All requests of the loads, each in one group; groups in the order in which they were first seen.

    Equal addresses belong together. A request that is left over is matched with one of earlier loads, at the same host and
    path, that this load lacks: of several with that whose query has the longest common beginning. So the study does with
    its hints (cache busters, session ids), except that here each is matched with one only.
    """
    groups: dict[Key, SameRequest] = {}
    for load, observation in enumerate(observations):
        keyed = _keyed(observation.requests)
        absent = defaultdict(list)
        for key in groups:
            if key not in keyed:
                absent[_stem(key)].append(key)
        for position, (key, request) in enumerate(keyed.items()):
            seen = Seen(load, position / len(keyed), request)
            home = key if key in groups else _nearest(key, absent[_stem(key)])
            groups.setdefault(home or key, SameRequest()).seen.append(seen)
    return list(groups.values())


def _keyed(requests: Sequence[ObservedRequest]) -> dict[Key, ObservedRequest]:
    times: Counter[tuple[str, str]] = Counter()
    keyed = {}
    for request in requests:
        keyed[request.method, request.url, times[request.method, request.url]] = request
        times[request.method, request.url] += 1
    return keyed


def _nearest(key: Key, candidates: list[Key]) -> Key | None:
    """The candidate with the most of the query in common, which then is taken; None if there is none.

    candidates: of the same stem, in order; the first ones are compared.
    """
    if not candidates:
        return None
    best = max(candidates[:_COMPARED_MAX], key=lambda item: shared_characters(item[1], key[1]))
    candidates.remove(best)
    return best


def _stem(key: Key) -> Stem:
    return key[0], key[1].partition("?")[0], key[2]


T = TypeVar("T")
_ONE_OF_BOTH = {  # what recorders call now this, now that
    frozenset({Kind.OTHER, Kind.XHR}): Kind.XHR,
    frozenset({Kind.SCRIPT, Kind.XHR}): Kind.SCRIPT,
}


def kind_of(requests: Sequence[ObservedRequest]) -> Kind:
    """The kind they agree on: xhr for unknown and xhr, script for script and xhr, as in the study; else the most frequent."""
    kinds = frozenset(item.kind for item in requests)
    return _ONE_OF_BOTH.get(kinds) or most_frequent(item.kind for item in requests)


def priority_of(requests: Iterable[ObservedRequest]) -> ChromiumPriority:
    """The highest, as in the study: one load in which it was less urgent than it can be says little."""
    return min((item.priority for item in requests), key=lambda priority: priority.rank)


def incremental_of(requests: Iterable[ObservedRequest]) -> bool | None:
    """The signal of most loads; None if no load could tell."""
    told = [item.incremental for item in requests if item.incremental is not None]
    return most_frequent(told) if told else None


def flags_of(requests: Sequence[ObservedRequest]) -> frozenset[Flag]:
    """The flags that most of the loads saw."""
    votes = Counter(flag for item in requests for flag in item.flags)
    return frozenset(flag for flag in Flag if 2 * votes[flag] > len(requests))


def median_of(times_ms: Iterable[float | None]) -> float | None:
    """The median of the times that are known."""
    known = [time_ms for time_ms in times_ms if time_ms is not None]
    return float(median(known)) if known else None


def most_frequent(values: Iterable[T]) -> T:
    """The first of those that occur most often. values: at least one."""
    return Counter(values).most_common(1)[0][0]
