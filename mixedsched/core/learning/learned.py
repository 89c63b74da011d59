"""The page model that visits have taught, and what visitors may be waiting for: guesses, with what each is believed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from mixedsched.core.learning._discovery import DiscoveryInference
from mixedsched.core.learning.memory import PageMemory, PageRole
from mixedsched.core.metrics.paint import PaintEstimate, PaintNeeds
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import PAGE_FORMAT, Page, Resource
from mixedsched.model.request import ChromiumPriority, Flag, Kind, infer_flags

USUAL = 0.4
"""Share of visits in which a role must be asked for to be part of the page."""
SEEN = 0.5
"""From this belief on an image counts as on the first screen."""
ALL_SEEN = 0.3
"""What the guess counts for that all of the first screen is waited for, while no beacon says which image is the largest."""
MAX_GUESSES = 40

_AT_REQUEST = {
    ChromiumPriority.VERY_HIGH: 0.9,
    ChromiumPriority.HIGH: 0.9,
    ChromiumPriority.MEDIUM: 0.3,  # the first images of a page, seen or not
    ChromiumPriority.LOW: 0.03,
    ChromiumPriority.VERY_LOW: 0.0,
}


@dataclass(frozen=True, slots=True)
class Guess:
    """What the largest paint may wait for, besides all that blocks."""

    ids: tuple[str, ...]
    """Images; none where the largest is text."""
    belief: float


@dataclass(frozen=True)
class LearnedPage:
    """What is believed of a page."""

    page: Page
    """Flags and discoveries are inferred; ids are numbers of roles."""
    roles: Mapping[str, PageRole]
    """By id."""
    seen: Mapping[str, float]
    """How much is believed that an image is on the first screen, by id."""
    guesses: tuple[Guess, ...]
    needs: PaintNeeds
    is_told: bool
    """Whether browsers report their paints."""

    @classmethod
    def of(cls, memory: PageMemory, model: BrowserModel = IDEAL) -> Self | None:
        """None where too little is known: there is no document."""
        roles = sorted(
            (role for role in memory.roles.values() if memory.share(role) >= USUAL),
            key=lambda role: (role.position, role.number),
        )
        if not roles or roles[0].kind is not Kind.DOCUMENT:
            return None
        by_id = {str(role.number): role for role in roles}
        beacons = memory.textual + sum(role.largest for role in roles)
        any_raised = any(role.raised > 0.3 * role.weight for role in roles)
        seen = {name: _seen(role, any_raised) for name, role in by_id.items() if role.kind is Kind.IMAGE}
        resources = _resources(roles, seen, beacons, model)
        page = Page(format=PAGE_FORMAT, name=memory.path, resources=resources)
        needs = PaintNeeds.of(page)
        return cls(page, by_id, seen, _guesses(by_id, seen, beacons), needs, beacons > 0)

    @property
    def awaited(self) -> frozenset[str]:
        """Ids of all that any guess waits for."""
        return frozenset(
            (self.needs.main, *self.needs.blocking, *(name for guess in self.guesses for name in guess.ids))
        )

    def paints(
        self, first_byte_ms: Mapping[str, float], complete_ms: Mapping[str, float], model: BrowserModel = IDEAL
    ) -> tuple[float, float]:
        """FCP, and LCP as the geometric mean over the guesses."""
        bare = replace(self.needs, largest=(), areas={})
        fcp_ms, total = 0.0, 0.0
        for guess in self.guesses:
            paint: PaintEstimate = replace(bare, largest=guess.ids).estimate(first_byte_ms, complete_ms, model)
            fcp_ms = paint.fcp_ms
            total += guess.belief * math.log(max(paint.lcp_ms, 1e-3))
        return fcp_ms, math.exp(total)


def _seen(role: PageRole, any_raised: bool) -> float:
    """The belief that an image is on the first screen."""
    if "icon" in role.mime:  # of the browser's own frame
        return 0.0
    raised = role.raised / role.weight if role.weight else 0.0
    at_request = _AT_REQUEST[role.priority]
    if any_raised and role.priority is ChromiumPriority.MEDIUM:
        at_request = 0.1  # the others that are seen were raised, and this one was not
    return min(1.0, max(at_request, raised))


def _guesses(roles: Mapping[str, PageRole], seen: Mapping[str, float], beacons: float) -> tuple[Guess, ...]:
    """Text, each image alone, and all of the first screen together; beliefs add up to 1. beacons: how many there were."""
    if not seen:
        return (Guess((), 1.0),)
    likely = {name: belief * math.sqrt(roles[name].size_bytes + 1) for name, belief in seen.items() if belief > 0}
    total = sum(likely.values()) or 1.0
    shares = {name: value / total for name, value in likely.items()}
    trust = beacons / (beacons + 0.5)  # of beacons against what is inferred
    textual = 0.0
    if beacons:
        named = {name: role.largest / beacons for name, role in roles.items()}
        textual = trust * max(0.0, 1 - sum(named.values()))
        shares = {name: (1 - trust) * share + trust * named.get(name, 0.0) for name, share in shares.items()}
        shares |= {name: trust * share for name, share in named.items() if share and name not in shares}
    screen = tuple(name for name in roles if seen.get(name, 0.0) >= SEEN)
    all_seen = ALL_SEEN * (1 - trust) if screen else 0.0
    most = sorted(shares, key=lambda name: (-shares[name], name))[:MAX_GUESSES]
    total = sum(shares[name] for name in most) or 1.0
    guesses = [Guess((name,), (1 - all_seen - textual) * shares[name] / total) for name in most]
    others = (Guess(screen, all_seen), Guess((), textual))
    return (*guesses, *(guess for guess in others if guess.belief > 0))


def _resources(
    roles: list[PageRole], seen: Mapping[str, float], beacons: float, model: BrowserModel
) -> tuple[Resource, ...]:
    flags = [_flags(role, place, seen, beacons) for place, role in enumerate(roles)]
    blocking = [role for role, own in zip(roles, flags, strict=True) if Flag.CRITICAL in own]
    discoveries = DiscoveryInference(roles, blocking, model)
    made: dict[int, Resource] = {}
    for role, own in zip(roles, flags, strict=True):
        found = discoveries.of(role, made)
        made[role.number] = Resource.model_validate(
            {
                "id": str(role.number),
                "path": role.path or "/",
                "kind": role.kind,
                "mime": role.mime,
                "body_bytes": role.size_bytes,
                "header_bytes": 100,
                "chromium_priority": role.priority,
                "incremental": role.incremental,
                "found_by": None if found.parent is None else str(found.parent),
                "found_when": found.when,
                "found_at_bytes": found.at_bytes,
                "delay_ms": found.delay_ms,
                "flags": own,
            }
        )
    return tuple(made.values())


def _flags(role: PageRole, place: int, seen: Mapping[str, float], beacons: float) -> set[Flag]:
    flags = set(infer_flags(role.kind, role.priority, is_first=not place))
    flags.discard(Flag.ABOVE_FOLD)
    if seen.get(str(role.number), 0.0) >= SEEN:
        flags.add(Flag.ABOVE_FOLD)
    if place and role.late > beacons / 2:  # whatever its priority says, the first paint does not wait for it
        flags -= {Flag.CRITICAL, Flag.IN_HEAD}
    return flags
