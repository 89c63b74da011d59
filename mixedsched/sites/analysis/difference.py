"""A page's resources in two descriptions of it: which were added, removed, moved or changed. Pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mixedsched.model.page import Page, Resource
from mixedsched.sites.site import Site
from mixedsched.sites.site.paths import shown


@dataclass(frozen=True, slots=True)
class Described:
    """A page with the names of its hosts, of a site or a page file: it can be looked at and compared."""

    page: Page
    hosts: tuple[str, ...]  # by index; those that are known
    facts: Mapping[str, str]  # title, source, licence and the like
    site: Site | None = None  # if there are files, too

    @classmethod
    def of_site(cls, site: Site) -> Described:
        told = {"title": site.title, "description": site.description, "source": site.source, "licence": site.licence}
        return cls(site.page, site.hosts, {key: text for key, text in told.items() if text}, site)

    @classmethod
    def of_page(cls, page: Page, data: Mapping[str, Any]) -> Described:
        """data: the page file as JSON gives it; of its keys beyond the page the valid ones are taken."""
        hosts = data.get("hosts")
        listed = hosts if isinstance(hosts, list) and all(isinstance(host, str) for host in hosts) else ()
        named = tuple(map(shown, listed))
        told = {key: data.get(key) for key in ("title", "description", "source", "licence")}
        facts = {key: shown(text) for key, text in told.items() if isinstance(text, str)}
        return cls(page, named, facts)

    def totals(self) -> dict[str, Any]:
        """Its name, and how many resources and bytes it has."""
        items = self.page.resources
        return {"name": self.page.name, "resources": len(items), "body_bytes": sum(item.body_bytes for item in items)}

    def host_of(self, item: Resource) -> str:
        """The name of a resource's host; "host 2" where it has none."""
        return self.hosts[item.host] if item.host < len(self.hosts) else f"host {item.host}"


_Place = tuple[str, str]  # host, path without query


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One property of a resource before and after."""

    what: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class ResourcePair:
    """The same resource in both."""

    before: Resource
    after: Resource
    positions: tuple[int, int]  # among those that are in both, from 1
    moved: bool  # it is one of the fewest that must move to turn one order into the other
    changes: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The resources that were added, removed and kept."""

    before: Described
    after: Described
    added: tuple[Resource, ...]
    removed: tuple[Resource, ...]
    pairs: tuple[ResourcePair, ...]
    order_correlation: float | None  # Spearman's rho of those in both, None for less than two of them

    @property
    def changed(self) -> tuple[ResourcePair, ...]:
        return tuple(pair for pair in self.pairs if pair.changes)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `sites diff`; a is before, b after."""
        return {
            "a": self.before.totals(),
            "b": self.after.totals(),
            "matched": len(self.pairs),
            "unchanged": len(self.pairs) - len(self.changed),
            "order_correlation": self.order_correlation,
            "added": [_item_facts(self.after, item) for item in self.added],
            "removed": [_item_facts(self.before, item) for item in self.removed],
            "changed": [self._pair_facts(pair) for pair in self.changed],
        }

    def _pair_facts(self, pair: ResourcePair) -> dict[str, Any]:
        return {
            "id": [pair.before.id, pair.after.id],
            "host": [self.before.host_of(pair.before), self.after.host_of(pair.after)],
            "path": [pair.before.path, pair.after.path],
            "changes": {change.what: [change.before, change.after] for change in pair.changes},
        }


def _item_facts(side: Described, item: Resource) -> dict[str, Any]:
    return {
        "id": item.id,
        "host": side.host_of(item),
        "path": item.path,
        "kind": item.kind.value,
        "body_bytes": item.body_bytes,
        "chromium_priority": item.chromium_priority.value,
    }


def difference(before: Described, after: Described) -> Difference:
    """Resources are the same if host and path are, and of several those whose queries have most in common.

    The pages' own hosts count as the same whatever their names.
    """
    matches = _matches(before, after)
    kept = sorted(matches)
    ranks = {place: rank for rank, place in enumerate(sorted(matches.values()))}
    order = [ranks[matches[place]] for place in kept]
    staying = _longest_rising(order)
    parents = _Parents(before, after, matches)
    pairs = []
    for rank, place in enumerate(kept):
        old, new = before.page.resources[place], after.page.resources[matches[place]]
        moved = order[rank] not in staying
        positions = rank + 1, order[rank] + 1
        changes = [FieldChange("position", *positions)] if moved else []
        changes += [*_changes(old, new), *parents.changes(old, new), *_served_changes(before, after, old, new)]
        pairs.append(ResourcePair(old, new, positions, moved, tuple(changes)))
    taken = set(matches.values())
    return Difference(
        before,
        after,
        tuple(item for place, item in enumerate(after.page.resources) if place not in taken),
        tuple(item for place, item in enumerate(before.page.resources) if place not in matches),
        tuple(pairs),
        rank_correlation(order),
    )


def _matches(before: Described, after: Described) -> dict[int, int]:
    """Place in `before` -> place in `after`. Equal queries are matched first, then by what queries have in common."""
    there: dict[_Place, list[tuple[str, int]]] = {}
    for place, item in enumerate(after.page.resources):
        insort(there.setdefault(_key(after, item), []), (item.path, place))
    matches: dict[int, int] = {}
    for find in (_same, _nearest):
        for place, item in enumerate(before.page.resources):
            free = there.get(_key(before, item), [])
            if place not in matches and (found := find(item.path, free)) is not None:
                matches[place] = free.pop(found)[1]
    return matches


def _same(path: str, free: Sequence[tuple[str, int]]) -> int | None:
    """The place of this very path in a sorted list."""
    place = bisect_left(free, (path, -1))
    return place if place < len(free) and free[place][0] == path else None


def _nearest(path: str, free: Sequence[tuple[str, int]]) -> int | None:
    """The place of the path that begins most alike: a neighbour, as they are sorted."""
    place = bisect_left(free, (path, -1))
    neighbours = [near for near in (place - 1, place) if 0 <= near < len(free)]
    return max(neighbours, key=lambda near: shared_characters(path, free[near][0]), default=None)


def shared_characters(one: str, other: str) -> int:
    """The length of the common beginning of two texts."""
    both = zip(one, other, strict=False)
    return next((at for at, (left, right) in enumerate(both) if left != right), min(len(one), len(other)))


def _key(side: Described, item: Resource) -> _Place:
    return "" if item.host == 0 else side.host_of(item), item.path.partition("?")[0]


def _changes(old: Resource, new: Resource) -> list[FieldChange]:
    found = [
        FieldChange(what, getattr(old, what), getattr(new, what))
        for what in ("body_bytes", "kind", "chromium_priority", "incremental")
        if getattr(old, what) != getattr(new, what)
    ]
    return found if old.flags == new.flags else [*found, FieldChange("flags", sorted(old.flags), sorted(new.flags))]


class _Parents:
    """The parents of resources, before and after."""

    def __init__(self, before: Described, after: Described, matches: Mapping[int, int]) -> None:
        self._before, self._after = before.page.by_id(), after.page.by_id()
        self._after_of = {
            before.page.resources[one].id: after.page.resources[other].id for one, other in matches.items()
        }

    def changes(self, old: Resource, new: Resource) -> list[FieldChange]:
        if (self._after_of.get(old.found_by) if old.found_by is not None else None) == new.found_by:
            return []
        was = self._before[old.found_by].path if old.found_by is not None else None
        return [FieldChange("parent", was, self._after[new.found_by].path if new.found_by is not None else None)]


def _served_changes(before: Described, after: Described, old: Resource, new: Resource) -> list[FieldChange]:
    """Changes of what only sites know."""
    if before.site is None or after.site is None:
        return []
    sides = ((before.site, old.key), (after.site, new.key))
    codings = [site.encodings.get(key) for site, key in sides]
    statuses = [site.status(key) for site, key in sides]
    both = (("encoding", codings), ("status", statuses))
    return [FieldChange(what, was, now) for what, (was, now) in both if was != now]


def _longest_rising(order: Sequence[int]) -> set[int]:
    """The values of a longest rising subsequence of distinct numbers: those that need not have moved."""
    tails: list[int] = []  # the smallest last value of a rising run of each length
    before: dict[int, int | None] = {}
    for value in order:
        place = bisect_left(tails, value)
        before[value] = tails[place - 1] if place else None
        tails[place : place + 1] = [value]
    kept, current = set(), tails[-1] if tails else None
    while current is not None:
        kept.add(current)
        current = before[current]
    return kept


def rank_correlation(order: Sequence[int]) -> float | None:
    """Spearman's rho of a permutation of 0..n-1 (so there are no ties) with the rising order; None for less than two."""
    n = len(order)
    if n < 2:
        return None
    squares = sum((place - value) ** 2 for place, value in enumerate(order))
    return 1 - 6 * squares / (n * (n * n - 1))
