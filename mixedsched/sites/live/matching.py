"""Which requests of several loads of a page are the same one, although queries differ from load to load."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from mixedsched.world.browser.observation import Observation, ObservedRequest


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as one load had it. load: index of the load. place: its share of that load's requests that came before."""

    load: int
    place: float
    request: ObservedRequest


@dataclass(slots=True)
class Group:
    """The same request in several loads, in the order of the loads, at most once in each."""

    seen: list[Seen] = field(default_factory=list)

    @property
    def first(self) -> ObservedRequest:
        """As the first load had it that had it at all."""
        return self.seen[0].request

    def in_load(self, load: int) -> ObservedRequest | None:
        return next((item.request for item in self.seen if item.load == load), None)


Key = tuple[str, str, int]  # method, URL, and how often that was asked before in the same load
Stem = tuple[str, str]  # method, URL without its query


def grouped(observations: Sequence[Observation]) -> list[Group]:
    """All requests of the loads, each in one group; groups in the order in which they were first seen.

    Addresses that are equal belong together. What is left over belongs to what the loads before had at the same host and path
    and this one has not: of several to that whose query has the longest common beginning. So it is with the study's hints
    (cache busters, session ids), but one with one.
    """
    groups: dict[Key, Group] = {}
    for load, observation in enumerate(observations):
        keyed = _keyed(observation.requests)
        absent = defaultdict(list)
        for key in groups:
            if key not in keyed:
                absent[_stem(key)].append(key)
        for position, (key, request) in enumerate(keyed.items()):
            seen = Seen(load, position / len(keyed), request)
            home = key if key in groups else _nearest(key, absent[_stem(key)])
            groups.setdefault(home or key, Group()).seen.append(seen)
    return list(groups.values())


def _keyed(requests: Sequence[ObservedRequest]) -> dict[Key, ObservedRequest]:
    times: Counter[tuple[str, str]] = Counter()
    keyed = {}
    for request in requests:
        keyed[request.method, request.url, times[request.method, request.url]] = request
        times[request.method, request.url] += 1
    return keyed


def _nearest(key: Key, candidates: list[Key]) -> Key | None:
    """The candidate with the most of the query in common, which then is one no more; None if there is none."""
    fitting = [item for item in candidates if item[2] == key[2] and "?" in item[1] + key[1]]
    if not fitting:
        return None
    best = max(fitting, key=lambda item: _shared_characters(item[1], key[1]))
    candidates.remove(best)
    return best


def _stem(key: Key) -> Stem:
    return key[0], key[1].partition("?")[0]


def _shared_characters(one: str, other: str) -> int:
    """How long their common beginning is."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))
