"""What a page asks for only when it is scrolled: no part of its load, but to be had by whoever scrolls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from mixedsched.sites.live.exchanges import exchange_of
from mixedsched.sites.recorded import Exchange, LeftOut
from mixedsched.sites.recorded.selection import MAX_TOTAL_BYTES
from mixedsched.world.browser.observation import Observation

_EXCHANGES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Scrolled:
    """exchanges: what there is to serve, each address once. left_out: what is not, and why."""

    exchanges: tuple[Exchange, ...]
    left_out: tuple[LeftOut, ...]


def without_scrolling(observation: Observation) -> Observation:
    """The load as if nobody had scrolled."""
    return replace(observation, requests=tuple(item for item in observation.requests if not item.after_scroll))


def asked_when_scrolled(
    observations: Sequence[Observation], known: Collection[tuple[str, str]], known_bytes: int
) -> Scrolled:
    """What scrolling led to in any of the loads, in the order in which it was asked for.

    known: method and address of what the loads asked for by themselves, known_bytes: the size of its bodies. What has no room
    beside these is left out: the page itself comes first.
    """
    exchanges: dict[tuple[str, str], Exchange] = {}
    left_out: dict[tuple[str, str], LeftOut] = {}
    for request in (item for observation in observations for item in observation.requests if item.after_scroll):
        key = request.method, request.url
        if key in known or key in exchanges:
            continue
        answer = exchange_of(request)
        if isinstance(answer, Exchange) and _fits(answer, len(exchanges), known_bytes):
            exchanges[key] = answer
            known_bytes += len(answer.body)
            left_out.pop(key, None)
        else:
            no_room = LeftOut(request.url, "there is no room for all that scrolling leads to", request.method)
            left_out.setdefault(key, answer if isinstance(answer, LeftOut) else no_room)
    return Scrolled(tuple(exchanges.values()), tuple(left_out.values()))


def _fits(exchange: Exchange, count: int, total_bytes: int) -> bool:
    return count < _EXCHANGES_MAX and total_bytes + len(exchange.body) <= MAX_TOTAL_BYTES
