"""Under which conditions loads are simulated: a page, a browser, and a network or an ideal pipe."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from mixedsched.core.sim.load import Rung
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.congestion import CongestionControl
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.profile import Direction, Profile

JUDGE_MODEL = "chromium"  # the browser model that plays wherever the real browser has the last word
SEEDS = 4  # played on networks on which loads differ by seed
_SEEDS_FROM = 2_000_000  # apart from the seeds of measured links, which are drawn from 48 bits by name
SEEDS_APART = 1000  # of two runs with consecutive --seed
LARGE_PAGE_BYTES = 3_000_000
SEEDS_OF_LARGE_PAGES = 2
LEAST_GAIN = 0.005  # of a score, which is a mean of logarithms: simulation cannot be trusted with less

PACKET_BYTES = 1200  # datagrams as our server sends them
PACKET_DATA_BYTES = 1160  # response bytes in them; the rest is overhead of QUIC and AEAD
UNLIMITED_BPS = 100_000_000  # the rate of the pipe that stands for a network without a limit

# A varied network differs from the network by these factors at most (as logarithms).
RATE_SPREAD = 0.08
DELAY_SPREAD = 0.15
# Roberts 2018: multiples of these numbers cover the unit square evenly.
RATE_STEP = 0.7548776662466927
DELAY_STEP = 0.5698402909980532


@dataclass(frozen=True)
class Scenario:
    """Everything that a load depends on, but for who decides the order of bytes, and the seed."""

    page: Page
    link: Profile | PipeOptions
    """A network is played on rung `stack`, by two real QUIC connections; an ideal pipe on rung `pipe`."""
    hero_needs: tuple[str, ...] = ()  # ids of resources that must be complete before the browser can draw the hero
    model: BrowserModel = IDEAL
    is_varied: bool = False  # whether each seed gets a slightly different network (`varied`)
    congestion_control: str = CongestionControl.CUBIC.value  # of both ends on rung `stack`
    in_order: bool = False  # whether responses come in one line on rung `stack`, as over TCP
    raises: bool = (
        False  # whether images that layout finds in view are raised on rung `stack` after they were asked for
    )

    @property
    def rung(self) -> Rung:
        return "stack" if isinstance(self.link, Profile) else "pipe"

    @property
    def network(self) -> Profile:
        """The network of rung `stack`."""
        assert isinstance(self.link, Profile), "rung pipe has no network"
        return self.link

    @property
    def name(self) -> str:
        """The name of the network."""
        return self.network.name

    @cached_property
    def digest(self) -> str:
        """Equal for scenarios whose loads are equal, in every process."""
        link = self.link.facts() if isinstance(self.link, Profile) else asdict(self.link)
        model = {**asdict(self.model), "name": "", "source": ""}
        facts = [self.page.fingerprint, link, self.hero_needs, model, self.is_varied, self.congestion_control]
        facts += ["in order"] if self.in_order else []
        facts += ["raises"] if self.raises else []
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def seeds_of(self, seeds: Sequence[int]) -> Sequence[int]:
        """The seeds worth playing: all where the network is random, else half (two at least) if it varies, else the first."""
        if self.rung == "stack" and self.network.is_random:
            return seeds
        return seeds[: max(2, len(seeds) // 2) if self.is_varied else 1]

    def few_seeds_of(self, seeds: Sequence[int]) -> Sequence[int]:
        """Like `seeds_of`, but fewer for a large page: for screenings, which play many pages."""
        size_bytes = sum(item.body_bytes for item in self.page.resources)
        return self.seeds_of(seeds[: SEEDS_OF_LARGE_PAGES if size_bytes > LARGE_PAGE_BYTES else SEEDS])

    def network_of(self, seed: int) -> Profile:
        """The network on which this seed is played."""
        return varied(self.network, seed) if self.is_varied else self.network

    @cached_property
    def on_pipe(self) -> Scenario:
        """The same on rung `pipe`: an ideal pipe with the rate of the network, and its round trips added to the page."""
        page = with_round_trips(self.page, self.network.rtt_ms)
        return Scenario(page, pipe_of(self.network), self.hero_needs, self.model)


def seeds_for(seed: int, count: int = SEEDS) -> tuple[int, ...]:
    """Seeds of simulated networks, for a run with this --seed. The first is even, as `varied` wants it."""
    first = _SEEDS_FROM + seed * SEEDS_APART
    return tuple(range(first, first + count))


def pipe_of(network: Profile) -> PipeOptions:
    """An ideal pipe with the rate of the network. A packet takes a microsecond at least, as time is whole microseconds."""
    rate_bps = network.down.mean_rate_bps or UNLIMITED_BPS
    on_link_bytes = PACKET_BYTES + network.down.overhead_bytes
    pace_us = max(1, round(on_link_bytes * 8 * 1_000_000 / rate_bps))
    return PipeOptions(packet_bytes=PACKET_DATA_BYTES, pace_us=pace_us)


def with_round_trips(page: Page, rtt_ms: float) -> Page:
    """The page for rung `pipe`, where requests and responses take no time on their way.

    Every request is delayed by one round trip, when its response could begin to arrive; what navigation asks for by another
    one, for the handshake. What is asked for together with its parent has the delay of that one.
    """
    trips = {"start": 2, "requested": 0}
    resources = [
        item.model_copy(update={"delay_ms": item.delay_ms + rtt_ms * trips.get(item.found_when, 1)})
        for item in page.resources
    ]
    return Page(format=PAGE_FORMAT, name=page.name, resources=tuple(resources))


def varied(network: Profile, seed: int) -> Profile:
    """The network with a slightly different rate and delay, so that a search does not learn a single network by heart.

    Until the first loss, loads of rung `stack` are equal to the microsecond, and some orders are good only by chance: they stop
    the document just behind the tag of the hero. A real browser is never so exact. Two consecutive seeds, the first of them
    even, differ from the network by the same factor in opposite directions, so that the mean over an even number of seeds is
    that of the network. A trace stays as it is.
    """
    pair, is_second = divmod(seed, 2)
    sign = -1 if is_second else 1
    rate = math.exp(sign * RATE_SPREAD * _spread(pair, RATE_STEP))
    delay = math.exp(sign * DELAY_SPREAD * _spread(pair, DELAY_STEP))
    return replace(network, down=_scaled(network.down, rate, delay), up=_scaled(network.up, rate, delay))


def _spread(number: int, step: float) -> float:
    """From -1 to 1; consecutive numbers are spread evenly."""
    return 2 * (number * step % 1.0) - 1


def _scaled(direction: Direction, rate: float, delay: float) -> Direction:
    rate_bps = None if direction.rate_bps is None else max(1, round(direction.rate_bps * rate))
    return replace(direction, rate_bps=rate_bps, delay_us=round(direction.delay_us * delay))
