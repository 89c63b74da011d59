"""A candidate as EPS priorities, resource by resource: what a server that follows RFC 9218 would have to be told. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.ship.levels import urgencies_of
from mixedsched.advice.tuner.ship.places import STREAM_IDS_APART, Order, Place, orders_of
from mixedsched.core.sim.requests import request_for, signal_of
from mixedsched.model.page import Page
from mixedsched.model.priority import Priority
from mixedsched.model.scheme import ConfiguredScheme, MappingLoader

_FIRST, _NON_INCREMENTAL, _INCREMENTAL = 0, 1, 2  # beginnings of ranks
_INTERRUPTS = "a more urgent response interrupts one that has begun"


@dataclass(frozen=True, slots=True)
class Translation:
    """Priorities by resource id, in the page's order, that imitate a candidate under plain `eps`.

    lost: what they leave out of it, sentences without a stop; empty if they are as good as the candidate itself.
    """

    priorities: Mapping[str, Priority]
    lost: tuple[str, ...] = ()


def translations_of(page: Page, candidate: Candidate, load_mapping: MappingLoader) -> tuple[Translation, ...]:
    """Ways to imitate the candidate, the nearest one first. None for schemes whose order EPS has no words for.

    Raises what `Candidate.configured` raises.
    """
    scheme = candidate.configured(load_mapping)
    match scheme.scheme.name:
        case "eps":
            return (Translation(_placed(page, scheme)),)
        case "nip":
            whole = {name: Priority(item.urgency) for name, item in _placed(page, scheme).items()}
            return (Translation(whole, (_INTERRUPTS,)),)
        case "ip":
            orders = _shared(_placed(page, scheme), scheme)
        case "mixed":
            orders = _mixed(_placed(page, scheme), scheme)
        case _:
            orders = orders_of(page, scheme)
    return tuple(_in_levels(page, order) for order in orders)


def signals_of(page: Page) -> dict[str, Priority]:
    """What the browser signals for each resource."""
    return {item.id: signal_of(item) for item in page.resources}


def _placed(page: Page, scheme: ConfiguredScheme) -> dict[str, Priority]:
    return {
        item.id: scheme.place(request_for(page, item, STREAM_IDS_APART * index))
        for index, item in enumerate(page.resources)
    }


def _shared(placed: Mapping[str, Priority], scheme: ConfiguredScheme) -> tuple[Order, ...]:
    """All at once, with shares that grow with urgency: equal shares, or one urgency after the other."""
    even = {name: Place((_INCREMENTAL,), incremental=True) for name in placed}
    strict = {name: Place((_INCREMENTAL, item.urgency), incremental=True) for name, item in placed.items()}
    return _ways(even, strict, scheme)


def _mixed(placed: Mapping[str, Priority], scheme: ConfiguredScheme) -> tuple[Order, ...]:
    """All N by urgency before all I; these as _shared."""
    blocks = {
        name: Place((_NON_INCREMENTAL, item.urgency), incremental=False)
        for name, item in placed.items()
        if not item.incremental
    }
    shared = {name: item for name, item in placed.items() if item.incremental}
    lost: tuple[str, ...] = (_INTERRUPTS,) if len({place.rank for place in blocks.values()}) > 1 else ()
    lost += () if scheme.values["n_interrupts_i"] == "yes" else ("whole responses do not wait for shared ones",)
    return tuple(Order({**blocks, **order.places}, order.lost + lost) for order in _shared(shared, scheme))


def _ways(even: Mapping[str, Place], strict: Mapping[str, Place], scheme: ConfiguredScheme) -> tuple[Order, ...]:
    if len({place.rank for place in strict.values()}) < 2 or scheme.values["alpha"] == 0:
        return (Order(even),)
    return (
        Order(even, ("responses share equally, not by urgency",)),
        Order(strict, ("shares by urgency become a strict order of the urgencies",)),
    )


def _in_levels(page: Page, order: Order) -> Translation:
    signals = signals_of(page)
    places = _document_first(page, order.places, signals)
    priorities, complete = urgencies_of(places, signals)
    lost = order.lost if complete else (*order.lost, "there are more levels than urgencies: the last ones are one")
    return Translation(priorities, lost)


def _document_first(page: Page, places: Mapping[str, Place], signals: Mapping[str, Priority]) -> dict[str, Place]:
    """The main document in a rank of its own, if it is served first anyway, so that it needs no header.

    It is where it is one of the first to go one by one: its stream has the lowest number. Alone, N and I are the same.
    """
    main = page.main.id
    begin = min(place.rank for place in places.values())
    if places[main].incremental or places[main].rank != begin:
        return {name: Place((_INCREMENTAL, *place.rank), place.incremental) for name, place in places.items()}
    others = {name: Place((_INCREMENTAL, *place.rank), place.incremental) for name, place in places.items()}
    return {**others, main: Place((_FIRST,), signals[main].incremental)}
