"""Where candidates are played: a page as one network shows it, and what playing it needs, made once for many loads."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from mixedsched.advice.tuner.variation import varied
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.core.sim.playback import Discoveries
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.profile import Direction, Profile

PACKET_BYTES = 1200  # datagrams as our server sends them
PACKET_DATA_BYTES = 1160  # of a response in them; the rest is QUIC's and AEAD's
UNLIMITED_BPS = 100_000_000  # what a network without a rate is played with on rung pipe
SEEDS = 4  # of a network on which they matter


@dataclass(frozen=True, slots=True)
class Scene:
    """A page on a network. hero_needs: ids of what must be complete before the hero can be drawn.

    is_varied: whether rung stack plays each seed on a slightly different network (`variation`).
    """

    page: Page
    network: Profile
    hero_needs: tuple[str, ...] = ()
    model: BrowserModel = IDEAL
    is_varied: bool = False

    @property
    def name(self) -> str:
        """As results call it: the network; with several pages, pages are told apart by `names_of`."""
        return self.network.name

    @property
    def digest(self) -> str:
        """Names the scene: equal for equal ones, in every process."""
        resources = [{**item.model_dump(mode="json"), "flags": sorted(item.flags)} for item in self.page.resources]
        network = sorted(self.network.facts().items())
        facts = (self.page.name, resources, network, self.hero_needs, self.model, self.is_varied)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]

    def seeds_of(self, seeds: Sequence[int]) -> Sequence[int]:
        """Those that rung stack plays: all where losses are random, else half (two at least) if it varies, else the first."""
        if is_random(self.network):
            return seeds
        return seeds[: max(2, len(seeds) // 2) if self.is_varied else 1]

    def network_of(self, seed: int) -> Profile:
        """The network of a seed, on rung stack."""
        return varied(self.network, seed) if self.is_varied else self.network


def names_of(scenes: tuple[Scene, ...]) -> tuple[str, ...]:
    """What results call the scenes: by network, and by page too where there are several pages."""
    pages = dict.fromkeys(scene.page.name for scene in scenes)
    return tuple(scene.name if len(pages) == 1 else f"{scene.page.name}, {scene.name}" for scene in scenes)


def is_random(network: Profile) -> bool:
    """Whether loads over it differ by seed."""
    return any(_is_random(direction) for direction in (network.down, network.up))


def _is_random(direction: Direction) -> bool:
    return bool(
        direction.loss.mean_ratio > 0
        or direction.jitter_us
        or direction.reorder_ratio > 0
        or direction.duplicate_ratio > 0
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """A scene made ready: both rungs' discoveries, the pipe, what the paints wait for. Loads end with the last paint: what
    comes after it is as long again on many pages, and tells nothing."""

    scene: Scene
    on_stack: Discoveries
    on_pipe: Discoveries
    pipe: PipeOptions
    needs: PaintNeeds

    @classmethod
    def of(cls, scene: Scene) -> Self:
        needs = PaintNeeds.of(scene.page)
        until = needs.awaited(scene.hero_needs)
        return cls(
            scene,
            Discoveries.of(scene.page, scene.model, until),
            Discoveries.of(with_round_trips(scene.page, scene.network.rtt_ms), scene.model, until),
            pipe_of(scene.network),
            needs,
        )


def pipe_of(network: Profile) -> PipeOptions:
    """The ideal pipe with the network's rate. A packet takes a microsecond at least, in which nothing is faster."""
    rate_bps = network.down.mean_rate_bps or UNLIMITED_BPS
    on_link_bytes = PACKET_BYTES + network.down.overhead_bytes
    pace_us = max(1, round(on_link_bytes * 8 * 1_000_000 / rate_bps))
    return PipeOptions(packet_bytes=PACKET_DATA_BYTES, pace_us=pace_us)


def with_round_trips(page: Page, rtt_ms: float) -> Page:
    """The page on rung pipe, where requests and responses take no time on the way: every request comes a round trip later,
    which is when its response could begin to arrive, and what navigation finds another one later, for the handshake."""
    resources = [
        item.model_copy(update={"delay_ms": item.delay_ms + rtt_ms * (2 if item.found_by is None else 1)})
        for item in page.resources
    ]
    return Page(format=PAGE_FORMAT, name=page.name, resources=tuple(resources))
