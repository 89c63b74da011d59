"""Several watched loads of a page as one, and its site: what each load saw, in the order and at the times that are typical.

The loads of the first form factor decide where they can: order, times, priorities and what is on the first screen are theirs.
What only the other form factor asked for is there to be served, but is not part of the page. Bodies are of the first load
that has them.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from mixedsched.model.request import Flag, Kind
from mixedsched.sites.live._exchanges import asked_when_scrolled, exchange_of, with_places, without_scrolling
from mixedsched.sites.live._loads import Loads, require_page
from mixedsched.sites.live._matching import (
    SameRequest,
    flags_of,
    grouped,
    incremental_of,
    kind_of,
    median_of,
    most_frequent,
    priority_of,
)
from mixedsched.sites.live._noticed import noticed
from mixedsched.sites.recorded.records import LeftOut, RecordedExchange, RecordingFacts, RecordingSummary
from mixedsched.sites.recorded.writing import write_recording
from mixedsched.units import counted, few
from mixedsched.world.browser.observation import Observation, ObservedRequest

_NAMED_MAX = 5  # addresses in a note


@dataclass(frozen=True, slots=True)
class Fused:
    """One page made of several loads."""

    exchanges: tuple[RecordedExchange, ...]  # in the order in which requests left
    besides: tuple[RecordedExchange, ...]  # what the first form factor asked for only when scrolled, or not at all
    left_out: tuple[LeftOut, ...]  # what no load could keep
    notes: tuple[str, ...]  # sentences for people
    facts: Mapping[str, Any]  # what differed, for the manifest


def fuse(observations: Sequence[Observation]) -> Fused:
    """One page from at least one load of it, the loads of the first form factor first."""
    loads = _Loads([without_scrolling(item) for item in observations])
    exchanges: list[RecordedExchange] = []
    besides: list[RecordedExchange] = []
    left_out: list[LeftOut] = []
    times: dict[int, _Times] = {}
    for group in _parents_first(loads):
        times[id(group)] = loads.times(group, times)
        kept = _first_kept(group)
        if isinstance(kept, LeftOut):
            left_out.append(kept)
        else:
            home = exchanges if loads.is_primary(group) else besides
            home.append(_typical(kept, loads.voters(group), times[id(group)]))
    known = {(seen.request.method, seen.request.url) for group in loads.groups for seen in group.seen}
    scrolled = asked_when_scrolled(observations, known, sum(len(item.body) for item in (*exchanges, *besides)))
    differences = _differences(loads)
    if scrolled.exchanges:
        differences["on_scroll"] = [item.url for item in scrolled.exchanges]
    notes = (*_load_notes(loads.observations), *_difference_notes(differences, len(observations)))
    initiators = {group.first.url: group.first.initiator for group in reversed(loads.groups)}
    placed = with_places(_with_hero(exchanges, loads), initiators)
    return Fused(tuple(placed), (*besides, *scrolled.exchanges), (*left_out, *scrolled.left_out), notes, differences)


@dataclass(frozen=True, slots=True)
class _Times:
    """Times of a request, ms from navigation start."""

    asked_ms: float
    first_byte_ms: float | None
    complete_ms: float | None


class _Loads:
    """The loads and their groups of requests."""

    def __init__(self, observations: Sequence[Observation]) -> None:
        self.observations = observations
        self.groups = grouped(observations)
        main_form_factor = observations[0].form_factor
        self._primary = frozenset(
            load for load, item in enumerate(observations) if item.form_factor == main_form_factor
        )
        self._by_url: dict[str, SameRequest] = {}
        for group in self.groups:
            for seen in group.seen:
                self._by_url.setdefault(seen.request.url, group)

    def is_primary(self, group: SameRequest) -> bool:
        """Whether the first form factor asked for it."""
        return any(item.load in self._primary for item in group.seen)

    def voters(self, group: SameRequest) -> list[ObservedRequest]:
        """The requests that decide: of the first form factor if it has the resource."""
        primary = [item.request for item in group.seen if item.load in self._primary]
        return primary or [item.request for item in group.seen]

    def place(self, group: SameRequest) -> float:
        """The typical place of the request among the others, 0 to 1."""
        primary = [item.place for item in group.seen if item.load in self._primary]
        return median(primary or [item.place for item in group.seen])

    def parent(self, group: SameRequest) -> SameRequest | None:
        """The request whose answer caused this one, if the browser told."""
        request = group.first
        url = request.initiator.url
        if request.redirected_from is not None:
            hops = self.observations[group.seen[0].load].requests
            url = next((hop.url for hop in hops if hop.index == request.redirected_from), url)
        found = self._by_url.get(url) if url is not None else None
        return found if found is not group else None

    def times(self, group: SameRequest, known: Mapping[int, _Times]) -> _Times:
        """Typical times: the median wait after the parent was complete, then the median times of the response itself."""
        voters = self.voters(group)
        asked_ms = median(item.asked_ms for item in voters)
        parent = self.parent(group)
        parent_ms = known[id(parent)].complete_ms if parent is not None and id(parent) in known else None
        if parent is not None and parent_ms is not None:
            waits = median_of(self._waits(group, parent))
            asked_ms = asked_ms if waits is None else max(0.0, parent_ms + waits)
        first_ms = median_of(_after(item.first_byte_ms, item.asked_ms) for item in voters)
        complete_ms = median_of(_after(item.complete_ms, item.asked_ms) for item in voters)
        return _Times(
            max(0.0, asked_ms),
            None if first_ms is None else asked_ms + max(0.0, first_ms),
            None if complete_ms is None else asked_ms + max(0.0, complete_ms, first_ms or 0.0),
        )

    def _waits(self, group: SameRequest, parent: SameRequest) -> Iterable[float | None]:
        deciding = {id(item) for item in self.voters(group)}
        for seen in group.seen:
            cause = parent.in_load(seen.load)
            if id(seen.request) in deciding and cause is not None and cause.complete_ms is not None:
                yield seen.request.asked_ms - cause.complete_ms


def _after(time_ms: float | None, since_ms: float) -> float | None:
    return None if time_ms is None else time_ms - since_ms


def _parents_first(loads: _Loads) -> list[SameRequest]:
    """The groups by their typical place, but none before the one that made it."""
    ordered: dict[int, SameRequest] = {}

    def put(group: SameRequest) -> None:
        chain: list[SameRequest] = []
        current: SameRequest | None = group
        while current is not None and id(current) not in ordered and current not in chain:
            chain.append(current)
            current = loads.parent(current)
        for item in reversed(chain):
            ordered[id(item)] = item

    for group in sorted(loads.groups, key=loads.place):
        put(group)
    return list(ordered.values())


def _first_kept(group: SameRequest) -> RecordedExchange | LeftOut:
    """The exchange of the first load that could keep it; else why the first could not."""
    first: LeftOut | None = None
    for item in group.seen:  # one after the other, as bodies may be large
        answer = exchange_of(item.request)
        if isinstance(answer, RecordedExchange):
            return answer
        first = first or answer
    assert first is not None, "a group has a request"
    return first


def _typical(exchange: RecordedExchange, voters: Sequence[ObservedRequest], times: _Times) -> RecordedExchange:
    return replace(
        exchange,
        kind=kind_of(voters),
        priority=priority_of(voters),
        incremental=incremental_of(voters),
        flags=flags_of(voters),
        asked_ms=times.asked_ms,
        first_byte_ms=times.first_byte_ms,
        complete_ms=times.complete_ms,
    )


def _with_hero(exchanges: Iterable[RecordedExchange], loads: _Loads) -> list[RecordedExchange]:
    """The exchanges, with the largest paint of most loads as hero if none of them had a majority."""
    listed = list(exchanges)
    main_form_factor = loads.observations[0].form_factor
    urls = [item.lcp_url for item in loads.observations if item.lcp_url and item.form_factor == main_form_factor]
    if not urls or any(Flag.HERO in item.flags for item in listed):
        return listed
    hero = most_frequent(urls)
    return [
        replace(item, flags=item.flags | {Flag.HERO, Flag.ABOVE_FOLD})
        if item.url == hero and item.kind is Kind.IMAGE
        else item
        for item in listed
    ]


def _differences(loads: _Loads) -> dict[str, Any]:
    """The differences between the loads, as lists of addresses."""
    form_factors = Counter(item.form_factor for item in loads.observations)
    unsteady, changing = [], []
    only_on: dict[str, list[str]] = {}
    for group in loads.groups:
        url = group.first.url
        seen_on = Counter(loads.observations[item.load].form_factor for item in group.seen)
        if any(count < form_factors[name] for name, count in seen_on.items()):
            unsteady.append(url)
        if len(seen_on) == 1 < len(form_factors):
            only_on.setdefault(next(iter(seen_on)), []).append(url)
        if len({_digest(item.request.body) for item in group.seen if item.request.body is not None}) > 1:
            changing.append(url)
    facts = {"not_in_every_load": unsteady, "contents_change": changing, "only_on": dict(sorted(only_on.items()))}
    return {name: value for name, value in facts.items() if value}


def _digest(body: Path) -> str:
    try:
        with body.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _load_notes(observations: Sequence[Observation]) -> list[str]:
    """The notes of the loads themselves, each sentence once, and which of them never became quiet."""
    notes = dict.fromkeys(note for item in observations for note in item.notes)
    for number, item in enumerate(observations, start=1):
        if item.ended != "quiet":
            why = "its time limit" if item.ended == "limit" else "an interruption"
            unfinished = counted(sum(request.complete_ms is None for request in item.requests), "request")
            notes[f"load {number} ({item.form_factor}) was ended by {why}, with {unfinished} unfinished"] = None
    return list(notes)


def _difference_notes(differences: Mapping[str, Any], loads: int) -> list[str]:
    lists = {
        f"not asked for in every one of {loads} loads": differences.get("not_in_every_load"),
        "contents change from load to load, those of the first are kept": differences.get("contents_change"),
        **{f"asked for on {form_factor} only": urls for form_factor, urls in differences.get("only_on", {}).items()},
        "asked for only when the page was scrolled, and not part of it": differences.get("on_scroll"),
    }
    return [f"{what}: {few(urls, _NAMED_MAX)}" for what, urls in lists.items() if urls]


def write_loads(
    target: Path, loads: Loads, *, name: str, recorded_on: str, licence: str = "", replace: bool = False
) -> RecordingSummary:
    """Make the site of at least one load. recorded_on: the date, for people. Raises SiteError, as write_recording."""
    fused = fuse(loads.observations)
    first = loads.observations[0]
    facts = RecordingFacts(
        name=name,
        url=require_page(first).url,
        title=" ".join(first.title.split()),
        source=f"recorded from {first.url} on {recorded_on}",
        licence=licence,
        record={**_facts(loads, recorded_on), **fused.facts},
        notes=(*loads.missing, *noticed(first), *fused.notes),
        left_out=fused.left_out,
    )
    return write_recording(target, fused.exchanges, facts, besides=fused.besides, replace=replace)


def _facts(loads: Loads, recorded_on: str) -> dict[str, Any]:
    """Facts of a recording that people want to know later."""
    first = loads.observations[0]
    by_form_factor: dict[str, list[Observation]] = {}
    for item in loads.observations:
        by_form_factor.setdefault(item.form_factor, []).append(item)
    return {
        "date": recorded_on,
        "browser": f"Chromium {first.chromium_version}",
        "asked_for": first.url,
        "loads": {form_factor: len(items) for form_factor, items in by_form_factor.items()},
        "viewport_px": {form_factor: list(items[0].viewport_px) for form_factor, items in by_form_factor.items()},
        "median_ms": {form_factor: _medians(items) for form_factor, items in by_form_factor.items()},
    }


def _medians(observations: list[Observation]) -> dict[str, float | None]:
    times = {
        "fcp": median_of(item.fcp_ms for item in observations),
        "lcp": median_of(item.lcp_ms for item in observations),
        "load": median_of(item.load_ms for item in observations),
    }
    return {name: None if time_ms is None else round(time_ms, 1) for name, time_ms in times.items()}
