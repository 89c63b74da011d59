"""A candidate as EPS priorities, resource by resource: what a server that follows RFC 9218 would have to be told. Pure.

Schemes that place by a mapping state their priorities themselves. For each of the others a rule says how its placements are
ordered, in the only terms that EPS has: levels, and N or I in each. A scheme without a rule cannot be expressed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mixedsched.advice.tuner._canonical import LEVELS, rising
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.core.schedulers.bucket import Concurrency
from mixedsched.core.schedulers.plus import HIGH, MIDDLE
from mixedsched.core.schedulers.sander import BACKGROUND, FOLLOWERS, LEADERS, SPECULATIVE, UNBLOCKED, URGENT_START
from mixedsched.core.schedulers.zeroweight import FIRST, LAST
from mixedsched.core.sim.requests import request_for, signal_of
from mixedsched.model.page import Page
from mixedsched.model.priority import URGENCY_MAX, Priority
from mixedsched.model.scheme import ConfiguredScheme, MappingLoader, Values

STREAM_IDS_APART = 4  # of client-initiated bidirectional streams (RFC 9000 section 2.1)
_FIRST, _NON_INCREMENTAL, _INCREMENTAL = 0, 1, 2  # beginnings of ranks
_INTERRUPTS = "a more urgent response interrupts one that has begun"


@dataclass(frozen=True, slots=True)
class Translation:
    """Priorities by resource id, in the page's order, that imitate a candidate under plain `eps`."""

    priorities: Mapping[str, Priority]
    lost: tuple[str, ...] = ()
    """Parts of the candidate that they leave out, sentences without a stop; empty if they are as good as it is."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a response stands in an order."""

    rank: tuple[float, ...]  # lower ones are served first
    incremental: bool  # it shares with its equals; else they go one by one


@dataclass(frozen=True, slots=True)
class _Order:
    """One way of putting a scheme's order into levels. lost: as in Translation."""

    places: Mapping[str, Place]
    lost: tuple[str, ...] = ()


def translations_of(page: Page, candidate: Candidate, load_mapping: MappingLoader) -> tuple[Translation, ...]:
    """Ways to imitate the candidate, the nearest one first. None for schemes whose order EPS cannot express.

    Raises what `Candidate.configured` raises.
    """
    scheme = candidate.configured(load_mapping)
    placements = {
        item.id: scheme.place(request_for(page, item, STREAM_IDS_APART * index))
        for index, item in enumerate(page.resources)
    }
    match scheme.scheme.name:
        case "eps":
            return (Translation(placements),)
        case "nip":
            return (Translation({name: Priority(item.urgency) for name, item in placements.items()}, (_INTERRUPTS,)),)
        case "ip":
            orders = _shared(placements, scheme)
        case "mixed":
            orders = _mixed(placements, scheme)
        case _:
            orders = _by_rule(placements, scheme)
    return tuple(_in_levels(page, order) for order in orders)


def signals_of(page: Page) -> dict[str, Priority]:
    """The browser's signal for each resource."""
    return {item.id: signal_of(item) for item in page.resources}


def _shared(placed: Mapping[str, Priority], scheme: ConfiguredScheme) -> tuple[_Order, ...]:
    """All at once, with shares that grow with urgency: equal shares, or one urgency after the other."""
    even = {name: Place((_INCREMENTAL,), incremental=True) for name in placed}
    if len({item.urgency for item in placed.values()}) < 2 or scheme.values["alpha"] == 0:
        return (_Order(even),)
    strict = {name: Place((_INCREMENTAL, item.urgency), incremental=True) for name, item in placed.items()}
    return (
        _Order(even, ("responses share equally, not by urgency",)),
        _Order(strict, ("shares by urgency become a strict order of the urgencies",)),
    )


def _mixed(placed: Mapping[str, Priority], scheme: ConfiguredScheme) -> tuple[_Order, ...]:
    """All N by urgency before all I; these as _shared."""
    blocks = {
        name: Place((_NON_INCREMENTAL, item.urgency), incremental=False)
        for name, item in placed.items()
        if not item.incremental
    }
    shared = {name: item for name, item in placed.items() if item.incremental}
    lost: tuple[str, ...] = (_INTERRUPTS,) if len({place.rank for place in blocks.values()}) > 1 else ()
    lost += () if scheme.values["n_interrupts_i"] == "yes" else ("whole responses do not wait for shared ones",)
    return tuple(_Order({**blocks, **order.places}, order.lost + lost) for order in _shared(shared, scheme))


def _in_levels(page: Page, order: _Order) -> Translation:
    signals = signals_of(page)
    places = _document_first(page, order.places, signals)
    priorities, complete = urgencies_of(places, signals)
    lost = order.lost if complete else (*order.lost, "there are more levels than urgencies: the last ones are one")
    return Translation(priorities, lost)


def _document_first(page: Page, places: Mapping[str, Place], signals: Mapping[str, Priority]) -> dict[str, Place]:
    """The main document in a rank of its own, if it is served first anyway, so that it needs no header.

    That is so where it is one of the first to go one by one: its stream has the lowest number. Alone, N and I are the same.
    """
    main = page.main.id
    ranked = {name: Place((_INCREMENTAL, *place.rank), place.incremental) for name, place in places.items()}
    if places[main].incremental or places[main].rank != min(place.rank for place in places.values()):
        return ranked
    return {**ranked, main: Place((_FIRST,), signals[main].incremental)}


# Ranks as urgencies


def urgencies_of(places: Mapping[str, Place], signals: Mapping[str, Priority]) -> tuple[dict[str, Priority], bool]:
    """A priority for each resource that keeps the order of ranks, and whether all ranks have a level of their own.

    Among all such choices, one by which most resources are placed as they signal anyway; of equals the most urgent one. If
    there are more ranks than levels, the last ones share a level.
    """
    ranks = sorted({place.rank for place in places.values()})
    level_of = {rank: min(index, URGENCY_MAX) for index, rank in enumerate(ranks)}
    kept = [[0] * LEVELS for _ in ranks[:LEVELS]]  # by level and urgency: resources placed as they signal
    for name, place in places.items():
        if signals[name].incremental == place.incremental:
            kept[level_of[place.rank]][signals[name].urgency] += 1
    chosen = rising([[-count for count in level] for level in kept])
    return (
        {name: Priority(chosen[level_of[place.rank]], place.incremental) for name, place in places.items()},
        len(ranks) <= LEVELS,
    )


# Schemes without a mapping


@dataclass(frozen=True, slots=True)
class _Rule:
    """How a scheme without a mapping orders its placements."""

    place: Callable[[Any, Values], Place]  # from a placement and the scheme's parameters
    lost: str = ""  # what levels leave out
    weight: Callable[[Any], float] | None = None
    """Given where equal ranks can be told apart by weight: levels in order of weight are another way to imitate them."""


def _by_rule(placements: Mapping[str, Any], scheme: ConfiguredScheme) -> tuple[_Order, ...]:
    rule = _RULES.get(scheme.scheme.name)
    if rule is None:
        return ()
    even = {name: rule.place(item, scheme.values) for name, item in placements.items()}
    orders = (_Order(even, (rule.lost,) if rule.lost else ()),)
    if rule.weight is None:
        return orders
    weighed = {
        name: Place((*place.rank, -rule.weight(placements[name])), incremental=True) if place.incremental else place
        for name, place in even.items()
    }
    strict = _Order(weighed, ("shares by weight become a strict order of the weights",))
    return (*orders, strict) if weighed != even else orders


def _together(incremental: bool) -> Callable[[Any, Values], Place]:
    return lambda _placement, _values: Place((0,), incremental)


def _by_level(incremental: bool) -> Callable[[Any, Values], Place]:
    return lambda placement, _values: Place((placement.level,), incremental)


def _in_zero_weight(weight: int, _values: Values) -> Place:
    rank = 0 if weight == FIRST else 2 if weight == LAST else 1
    return Place((rank,), rank == 1)


def _in_bucket(bucket: Any, _values: Values) -> Place:
    """Exclusive ones first. The two other kinds go half and half, as N and I of one urgency do."""
    is_exclusive = bucket.concurrency is Concurrency.EXCLUSIVE_SEQUENTIAL
    return Place((-bucket.priority, not is_exclusive), bucket.concurrency is Concurrency.SHARED)


def _in_parallel(place: Any, values: Values) -> Place:
    """p+: only the first group is a chain."""
    if place.parent == HIGH:
        return Place((0, *_chained(place, values)), incremental=False)
    return Place((1 if place.parent == MIDDLE else 2,), incremental=True)


def _in_serial(place: Any, values: Values) -> Place:
    """s+: the first two groups are chains."""
    if place.parent in {HIGH, MIDDLE}:
        return Place((0 if place.parent == HIGH else 1, *_chained(place, values)), incremental=False)
    return Place((2, *_in_tree(place, values).rank), incremental=True)


def _chained(place: Any, values: Values) -> tuple[float, ...]:
    return (-place.weight,) if values["chain"] == "dfifo" else ()


_WEIGHTS_OF_GROUPS = {URGENT_START: 241, LEADERS: 201, UNBLOCKED: 101, BACKGROUND: 1, FOLLOWERS: 1}
_BELOW = {FOLLOWERS: LEADERS, SPECULATIVE: BACKGROUND}
_WEIGHT_OF_A_LEADER = 32  # of a single response; followers as a group compete with these


def _in_tree(place: Any, values: Values) -> Place:
    """Groups by weight, heavy ones first; a group below another one behind it, unless it outweighs that one's responses."""

    def weight(group: str) -> float:
        return float(values.get(group.replace("-", "_"), _WEIGHTS_OF_GROUPS[group]))

    group = place.parent
    if group not in _BELOW:
        return Place((-weight(group), 0), incremental=True)
    is_heavy = group in _WEIGHTS_OF_GROUPS and weight(group) > _WEIGHT_OF_A_LEADER
    return Place((-weight(_BELOW[group]), -1 if is_heavy else 1), incremental=True)


_SHARES = "groups that share by weight follow one another"
_WEIGHTS = "responses share equally, not by weight"
_RULES: Mapping[str, _Rule] = {
    **dict.fromkeys(("sequential", "fifo"), _Rule(_together(incremental=False))),
    **dict.fromkeys(("stock", "rr", "packet-rr"), _Rule(_together(incremental=True))),
    "batched-rr": _Rule(_together(incremental=True), "how many packets a turn has is the server's choice"),
    **dict.fromkeys(("wrr", "safari-wrr"), _Rule(_together(incremental=True), _WEIGHTS, weight=float)),
    **dict.fromkeys(("dfifo", "chrome7"), _Rule(_by_level(incremental=False))),
    **dict.fromkeys(("spdyrr", "firefox-eps"), _Rule(_by_level(incremental=True))),
    "zeroweight": _Rule(_in_zero_weight, _WEIGHTS, weight=float),
    **dict.fromkeys(("bucket", "bucket-html"), _Rule(_in_bucket)),
    "p+": _Rule(_in_parallel, "groups follow one another with nothing leaking to the next one"),
    "s+": _Rule(_in_serial, _SHARES),
    **dict.fromkeys(("firefox", "firefox-tree"), _Rule(_in_tree, _SHARES)),
}
