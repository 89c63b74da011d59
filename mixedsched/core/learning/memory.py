"""What visits say of a page: its roles, how often each is asked for, what it waits for, if it is seen. Bounded, aged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from mixedsched.core.learning._matching import Patterned, RequestTraits, best, patterned
from mixedsched.core.learning.visit import SeenRequest, Visit
from mixedsched.model.request import ChromiumPriority, Kind

MAX_ROLES = 300
MAX_PARENTS = 8
MAX_OFFSETS = 12
KEEPS = 0.93
"""What earlier visits count for with each new one: half as much after ten."""
FORGOTTEN = 0.05
"""A role that is seen less often than that is dropped."""
SLACK_MS = 3.0
STRANGE_SHARE = 0.5
"""A visit in which less of what is expected, by count, is asked for is of another page than the one that is remembered."""
STRANGE_MOST = 2
"""So many of these in a row, and the page is learned anew."""
LACKING_MOST = 50
"""So many complete visits in a row that lack much of what is usual, and the page is learned anew: what they lack is gone, and
not in a cache.
"""
FEWEST_KNOWN = 5


@dataclass(slots=True)
class PageRole:
    """One part of a page, under whatever names it comes. Shares are of visits, later ones counting more."""

    number: int
    path: str
    """The latest."""
    kind: Kind
    mime: str
    size_bytes: int
    priority: ChromiumPriority
    incremental: bool
    position: float
    """Mean place in the order of requests."""
    weight: float = 1.0
    """How often it was asked for, aged."""
    visits: int = 1
    raised: float = 0.0
    """How often a later signal said that it is in view, aged."""
    largest: float = 0.0
    """How often a beacon named it the largest element, aged."""
    late: float = 0.0
    """How often it came after the first paint that a beacon told, aged."""
    offsets: list[int] = field(default_factory=list)
    """Bytes of the main document that the client had when it asked, of the latest visits."""
    crowds: list[int] = field(default_factory=list)
    """How many other requests were under way when it asked, of the latest visits."""
    parents: dict[int, list[float]] = field(default_factory=dict)
    """By number of a role that was complete by then: [times, sum of ms since then, times it was said to be the referrer]."""

    def age(self, keeps: float) -> None:
        """Have earlier visits count for so much of what they did. Whether a beacon named it is for itself."""
        self.weight *= keeps
        self.raised *= keeps
        for parent in self.parents.values():
            parent[:] = [value * keeps for value in parent]

    def to_list(self) -> list[Any]:
        parents = [[number, *(round(value, 2) for value in values)] for number, values in self.parents.items()]
        shares = [round(value, 4) for value in (self.weight, self.raised, self.largest, self.late)]
        own = [
            self.number,
            self.path,
            self.kind.value,
            self.mime,
            self.size_bytes,
            self.priority.rank,
            self.incremental,
        ]
        return [*own, round(self.position, 2), self.visits, shares, self.offsets, self.crowds, parents]

    @classmethod
    def from_list(cls, facts: list[Any]) -> Self:
        number, path, kind, mime, size_bytes, rank, incremental, position, visits, shares, offsets, crowds, parents = (
            facts
        )
        weight, raised, largest, late = map(float, shares)
        return cls(
            *(int(number), str(path), Kind(kind), str(mime), int(size_bytes), tuple(ChromiumPriority)[rank]),
            bool(incremental),
            float(position),
            weight,
            int(visits),
            raised,
            largest,
            late,
            [int(value) for value in offsets][:MAX_OFFSETS],
            [int(value) for value in crowds][:MAX_OFFSETS],
            {int(item[0]): [float(value) for value in item[1:4]] for item in parents[:MAX_PARENTS]},
        )


@dataclass(slots=True)
class PageMemory:
    """All that is remembered of one page's visits."""

    path: str
    visits: int = 0
    weight: float = 0.0
    """Of whole visits, aged like the roles'."""
    partial: int = 0
    """Visits that were cut off, which teach sizes and signals alone, or that lacked much, as with a cache: of what they lacked
    they say nothing.
    """
    strange: int = 0
    """Visits in a row that fit the page badly."""
    lacking: int = 0
    """Complete visits in a row that lacked much."""
    learned_from: int = 0
    """How many visits came before the page was learned anew the last time."""
    relearned: int = 0
    """How often the page was learned anew."""
    textual: float = 0.0
    """How often a beacon named no image of the page as the largest element, aged."""
    roles: dict[int, PageRole] = field(default_factory=dict)
    next_number: int = 0

    def share(self, role: PageRole) -> float:
        """In what share of visits it is asked for."""
        return min(1.0, role.weight / self.weight) if self.weight else 0.0

    def learn(self, visit: Visit) -> bool:
        """Take a visit in. Returns whether the page had to be learned anew because it has changed."""
        assert visit.requests, "a visit has its navigation"
        matched = self._match(visit)
        anew = self._note_fit(matched, visit)
        if anew:
            self._forget()
            matched = {}
        self.visits += 1
        whole = self._is_whole(matched, visit)
        self.partial += not whole
        if _is_complete(visit):
            self._age(frozenset() if whole else {*self.roles} - {*matched.values()})
            numbers = [self._note(visit, place, matched.get(place)) for place in range(len(visit.requests))]
            for place, number in enumerate(numbers):
                if number is not None and _is_fresh(visit):
                    self._note_discovery(visit, place, self.roles[number], numbers)
        else:
            numbers = [matched.get(place) for place in range(len(visit.requests))]
            for item, number in zip(visit.requests, numbers, strict=True):
                if number is not None:
                    _note_signals(self.roles[number], item)
        self._note_beacon(visit, numbers)
        self._bound()
        return anew

    def _match(self, visit: Visit) -> dict[int, int]:
        """PageRole by place in the visit: by path first, then the most alike of those that are left."""
        by_path = {(role.path, role.kind): number for number, role in self.roles.items()}
        matched: dict[int, int] = {}
        taken: dict[int, None] = {}
        for place, item in enumerate(visit.requests):
            number = by_path.get((item.path, item.kind))
            if number is not None and number not in taken:
                matched[place] = number
                taken[number] = None
        left: dict[Kind, dict[int, Patterned[PageRole]]] = {}
        for number, role in self.roles.items():
            if number not in taken:
                left.setdefault(role.kind, {})[number] = patterned(role)
        for place, item in enumerate(visit.requests):
            among = left.get(item.kind)
            if place in matched or not among:
                continue
            found = best(_seen(item, place), among.values())
            if found is not None:
                matched[place] = found.number
                del among[found.number]
        return matched

    def _note_fit(self, matched: Mapping[int, int], visit: Visit) -> bool:
        """Count visits that fit badly. Returns whether there were too many of them in a row."""
        usual = [role for role in self.roles.values() if self.share(role) > 0.5]
        known = len({*matched.values()} & {role.number for role in usual})
        expected = min(len(usual), len(visit.requests))
        is_strange = (
            len(usual) >= FEWEST_KNOWN and len(visit.requests) >= FEWEST_KNOWN and known < STRANGE_SHARE * expected
        )
        self.strange = self.strange + 1 if is_strange else 0
        if _is_complete(visit):
            self.lacking = 0 if self._asks_for_the_usual(matched) else self.lacking + 1
        return self.strange >= STRANGE_MOST or self.lacking >= LACKING_MOST

    def _forget(self) -> None:
        """The page has changed."""
        self.roles.clear()
        self.weight, self.strange, self.lacking, self.textual = 0.0, 0, 0, 0.0
        self.relearned += 1
        self.learned_from = self.visits

    def _is_whole(self, matched: Mapping[int, int], visit: Visit) -> bool:
        """Whether a visit shows all that its page has: nothing cut off, and most of what is usual asked for, and sent."""
        return _is_complete(visit) and _is_fresh(visit) and self._asks_for_the_usual(matched)

    def _asks_for_the_usual(self, matched: Mapping[int, int]) -> bool:
        usual = [number for number, role in self.roles.items() if self.share(role) > 0.7]
        return len({*matched.values()} & {*usual}) >= 0.7 * len(usual)

    def _age(self, silent: Collection[int]) -> None:
        """A complete visit has come. silent: roles of which it says nothing, so that their shares of visits stay."""
        before = self.weight
        self.weight = before * KEEPS + 1
        for number, role in self.roles.items():
            role.age(self.weight / before if number in silent and before else KEEPS)
            if not silent:
                role.largest *= KEEPS
                role.late *= KEEPS
        if not silent:
            self.textual *= KEEPS

    def _note(self, visit: Visit, place: int, number: int | None) -> int | None:
        """The number of the request's role, which is made if it is new. None if there is no room for it, or no size of it."""
        item = visit.requests[place]
        role = None if number is None else self.roles.get(number)
        if role is None:
            if len(self.roles) >= 2 * MAX_ROLES or item.is_unsent:
                return None
            role = self.roles[self.next_number] = PageRole(
                *(self.next_number, item.path, item.kind, item.mime, item.size_bytes, item.priority),
                *(item.incremental, float(place), 1.0, 1, float(item.raised)),
            )
            self.next_number += 1
            return role.number
        role.weight += 1
        role.visits += 1
        role.raised += item.raised
        role.position += (place - role.position) / min(role.visits, 10)
        _note_signals(role, item)
        return role.number

    def _note_discovery(self, visit: Visit, place: int, role: PageRole, numbers: Iterable[int | None]) -> None:
        """What the client had when it asked: bytes of the document, and complete responses."""
        item = visit.requests[place]
        if not place:
            return
        rtt_ms = item.rtt_ms if item.rtt_ms is not None else visit.connection.rtt_ms or 0.0
        had_by_ms = item.requested_ms - rtt_ms + SLACK_MS
        role.offsets = [*role.offsets, visit.document_bytes_at(had_by_ms)][-MAX_OFFSETS:]
        crowd = sum(other.last_byte_ms is None or other.last_byte_ms > had_by_ms for other in visit.requests[1:place])
        role.crowds = [*role.crowds, crowd][-MAX_OFFSETS:]
        for other, number in zip(visit.requests, numbers, strict=True):
            if number is None or number == role.number or other.last_byte_ms is None or other.last_byte_ms > had_by_ms:
                continue
            if other.kind not in {Kind.DOCUMENT, Kind.STYLESHEET, Kind.SCRIPT, Kind.XHR}:
                continue
            known = role.parents.setdefault(number, [0.0, 0.0, 0.0])
            known[0] += 1
            known[1] += had_by_ms - other.last_byte_ms
            known[2] += item.referrer is not None and item.referrer == other.path
        if len(role.parents) > MAX_PARENTS:
            kept = sorted(role.parents.items(), key=lambda entry: _unlikely(entry[1]))[:MAX_PARENTS]
            role.parents = dict(kept)

    def _note_beacon(self, visit: Visit, numbers: list[int | None]) -> None:
        if visit.beacon is None:
            return
        # The browser's clock began before its request came here, by half a round trip at least, and data takes another half.
        painted_ms = visit.beacon.fcp_ms - (visit.connection.rtt_ms or 0.0)
        for item, number in zip(visit.requests, numbers, strict=True):
            if number is not None and item.last_byte_ms is not None and item.last_byte_ms > painted_ms:
                self.roles[number].late += 1
        if visit.beacon.largest is None:
            self.textual += 1
            return
        for item, number in zip(visit.requests, numbers, strict=True):
            if item.path == visit.beacon.largest and number is not None:
                self.roles[number].largest += 1
                return

    def _bound(self) -> None:
        for number in [
            number for number, role in self.roles.items() if self.share(role) < FORGOTTEN and self.weight > 1
        ]:
            del self.roles[number]
        self.keep(MAX_ROLES)

    def keep(self, most: int) -> None:
        """Keep the roles that are asked for most often, so many of them."""
        if len(self.roles) > most:
            kept = sorted(self.roles.values(), key=lambda role: (-role.weight, role.number))[:most]
            self.roles = {role.number: role for role in sorted(kept, key=lambda role: role.number)}

    def to_dict(self) -> dict[str, Any]:
        counts = [self.visits, round(self.weight, 4), self.partial, self.strange, self.relearned, self.next_number]
        counts += [self.lacking, self.learned_from, round(self.textual, 4)]
        return {"path": self.path, "counts": counts, "roles": [role.to_list() for role in self.roles.values()]}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Raises ValueError, KeyError, TypeError or IndexError for what is none."""
        # The last three are newer: a file without them counts from its beginning.
        counts = [*facts["counts"], 0, 0, 0][:9]
        visits, weight, partial, strange, relearned, next_number, lacking, learned_from, textual = counts
        roles = [PageRole.from_list(item) for item in facts["roles"][:MAX_ROLES]]
        return cls(
            *(str(facts["path"]), int(visits), float(weight), int(partial), int(strange), int(lacking)),
            *(
                int(learned_from),
                int(relearned),
                float(textual),
                {role.number: role for role in roles},
                int(next_number),
            ),
        )


def _is_complete(visit: Visit) -> bool:
    """Whether next to nothing of it was cut off."""
    return sum(item.last_byte_ms is not None for item in visit.requests) >= 0.9 * len(visit.requests)


def _is_fresh(visit: Visit) -> bool:
    """Whether the client had next to nothing of it before."""
    cached = sum(item.is_unsent for item in visit.requests)
    return not visit.requests[0].is_unsent and cached <= 0.1 * len(visit.requests)


def _note_signals(role: PageRole, item: SeenRequest) -> None:
    """What any request for a role tells of it."""
    role.path, role.incremental = item.path, item.incremental
    if not item.is_unsent:
        role.mime = item.mime
    if item.size_bytes and not item.is_unsent:
        role.size_bytes = item.size_bytes
    # The earliest signal that is seen now and then tells more than one that came after layout; the latest counts.
    role.priority = item.priority


def _seen(item: SeenRequest, place: int) -> RequestTraits:
    return RequestTraits(item.path, item.kind, item.size_bytes, item.priority, float(place))


def _unlikely(values: list[float]) -> tuple[float, float]:
    """The larger, the less likely a parent: referrers first, then those that were always there and only just."""
    times, passed_ms, named = values
    return (-named, passed_ms / times - 50 * times if times else 1e9)
