"""In which order a scheme serves a page's resources, in the only terms that EPS has: levels, and N or I in each. Pure.

Schemes that place by a mapping say so themselves. For each of the others a rule below tells how its placements are ordered;
a scheme without a rule cannot be expressed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mixedsched.core.schedulers._sander import BACKGROUND, FOLLOWERS, LEADERS, SPECULATIVE, UNBLOCKED, URGENT_START
from mixedsched.core.schedulers.bucket import Concurrency
from mixedsched.core.schedulers.plus import HIGH, MIDDLE
from mixedsched.core.schedulers.zeroweight import FIRST, LAST
from mixedsched.core.sim.requests import request_for
from mixedsched.model.page import Page
from mixedsched.model.scheme import ConfiguredScheme, Values

STREAM_IDS_APART = 4  # of client-initiated bidirectional streams (RFC 9000 section 2.1)


@dataclass(frozen=True, slots=True)
class Place:
    """rank: lower ones are served before. incremental: whether it shares with its equals, or they go one by one."""

    rank: tuple[float, ...]
    incremental: bool


@dataclass(frozen=True, slots=True)
class Order:
    """One way of putting a scheme's order into levels. lost: what that leaves out, sentences without a stop."""

    places: Mapping[str, Place]
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    """place: from a placement and parameter values. lost: what levels leave out. shares: whether equal ranks can be told
    apart by weight instead; then levels in order of weight are another way to imitate them."""

    place: Callable[[Any, Values], Place]
    lost: str = ""
    weight: Callable[[Any], float] | None = None


def orders_of(page: Page, scheme: ConfiguredScheme) -> tuple[Order, ...]:
    """Ways to put the order of a scheme without a mapping into levels, the nearest one first; none if there is no way."""
    rule = _RULES.get(scheme.scheme.name)
    if rule is None:
        return ()
    placements = {
        item.id: scheme.place(request_for(page, item, STREAM_IDS_APART * index))
        for index, item in enumerate(page.resources)
    }
    lost = (rule.lost,) if rule.lost else ()
    even = Order({name: rule.place(item, scheme.values) for name, item in placements.items()}, lost)
    if rule.weight is None:
        return (even,)
    weighed = {
        name: Place(
            (*place.rank, -rule.weight(placements[name])) if place.incremental else place.rank, place.incremental
        )
        for name, place in even.places.items()
    }
    strict = Order(weighed, ("shares by weight become a strict order of the weights",))
    return (even, strict) if weighed != even.places else (even,)


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


_WEIGHTS_OF_GROUPS = MappingProxyType({URGENT_START: 241, LEADERS: 201, UNBLOCKED: 101, BACKGROUND: 1, FOLLOWERS: 1})
_BELOW = MappingProxyType({FOLLOWERS: LEADERS, SPECULATIVE: BACKGROUND})
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
_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        **dict.fromkeys(("sequential", "fifo"), _Rule(_together(incremental=False))),
        **dict.fromkeys(("stock", "rr"), _Rule(_together(incremental=True))),
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
)
