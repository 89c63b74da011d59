"""Varied networks: near the network, as much to one side as to the other, and the same for the same seed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.options import Options
from mixedsched.advice.tuner.play import Player, Task
from mixedsched.advice.tuner.scene import Scene
from mixedsched.advice.tuner.variation import DELAY_SPREAD, RATE_SPREAD, varied
from mixedsched.model.profile import Profile
from mixedsched.world import catalog
from tests.advice.tuner.pages import shop

SLOW_4G = catalog.load_profile("slow-4g")
LOSSY = catalog.load_profile("sander-loss2")
TRACED = catalog.load_profile("commuter-4g")


def factors(seed: int, network: Profile = SLOW_4G) -> tuple[float, float]:
    """Of rate and delay, as logarithms."""
    found = varied(network, seed)
    assert network.down.rate_bps is not None
    assert found.down.rate_bps is not None
    return math.log(found.down.rate_bps / network.down.rate_bps), math.log(found.rtt_ms / network.rtt_ms)


@given(st.integers(0, 10_000_000))
def test_rate_and_delay_differ_by_so_much_at_most_and_nothing_else_does(seed: int) -> None:
    rate, delay = factors(seed)
    assert abs(rate) <= RATE_SPREAD + 1e-6
    assert abs(delay) <= DELAY_SPREAD + 1e-3
    found = varied(SLOW_4G, seed)
    assert (found.down.queue_bytes, found.down.loss) == (SLOW_4G.down.queue_bytes, SLOW_4G.down.loss)
    assert found == varied(SLOW_4G, seed)


@given(st.integers(0, 5_000_000))
def test_two_seeds_that_follow_each_other_have_the_network_itself_as_their_mean(pair: int) -> None:
    (rate, delay), (other_rate, other_delay) = factors(2 * pair), factors(2 * pair + 1)
    assert rate == pytest.approx(-other_rate, abs=1e-5)
    assert delay == pytest.approx(-other_delay, abs=1e-4)


def test_four_seeds_reach_both_sides_of_either() -> None:
    rates, delays = zip(*(factors(seed) for seed in range(4)), strict=True)
    assert min(rates) < 0 < max(rates)
    assert min(delays) < 0 < max(delays)


def test_the_seeds_of_a_search_begin_with_the_first_of_a_pair() -> None:
    for seed in (0, 1, 7):
        assert Options(seed=seed).search_seeds[0] % 2 == 0
        assert Options(seed=seed).held_out_seeds[0] % 2 == 0


def test_a_trace_keeps_its_rates() -> None:
    found = varied(TRACED, 1)
    assert found.down.trace == TRACED.down.trace
    assert found.rtt_ms != TRACED.rtt_ms


def test_a_scene_varies_only_where_it_is_wanted() -> None:
    exact, shaken, lossy = (
        Scene(shop(), SLOW_4G),
        Scene(shop(), SLOW_4G, is_varied=True),
        Scene(shop(), LOSSY, is_varied=True),
    )
    assert exact.network_of(3) == SLOW_4G
    assert shaken.network_of(3) == varied(SLOW_4G, 3) != SLOW_4G
    assert lossy.network_of(3) == varied(LOSSY, 3)
    assert lossy.network_of(3).down.loss == LOSSY.down.loss
    assert [len(scene.seeds_of(range(8))) for scene in (exact, shaken, lossy)] == [1, 4, 8]
    assert len(shaken.seeds_of(range(2))) == 2, "both of a pair"
    assert len({exact.digest, shaken.digest}) == 2


def test_loads_differ_by_seed_only_where_the_network_varies() -> None:
    exact, shaken = Scene(shop(), SLOW_4G), Scene(shop(), SLOW_4G, is_varied=True)
    player = Player([exact, shaken])
    alike, different = (
        {player.play(Task(place, Candidate("sequential"), "stack", seed)) for seed in (0, 1)} for place in (0, 1)
    )
    assert len(alike) == 1
    assert len(different) == 2


def test_what_people_look_at_is_played_on_the_network_itself() -> None:
    player = Player([Scene(shop(), SLOW_4G), Scene(shop(), SLOW_4G, is_varied=True)])
    exact, shaken = (player.load(Task(place, Candidate("sequential"), "stack", 1)) for place in (0, 1))
    assert exact.resources == shaken.resources
