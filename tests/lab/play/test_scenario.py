"""Scenarios: which seeds are worth playing, varied networks, and fingerprints."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.tuner.trials import Options
from mixedsched.lab.play.scenario import DELAY_SPREAD, LARGE_PAGE_BYTES, RATE_SPREAD, SEEDS, Scenario, varied
from mixedsched.lab.play.task import NamedScheme, PaintReader, Player, Task, play_whole
from mixedsched.model.browser_model import IDEAL
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.world import catalog
from tests.advice.tuner.pages import shop

SLOW_4G = catalog.load_profile("slow-4g")
LOSSY = catalog.load_profile("sander-loss2")
SCENARIO = Scenario(shop(), SLOW_4G)
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


def test_a_scenario_varies_only_where_it_is_wanted() -> None:
    exact, shaken, lossy = (
        Scenario(shop(), SLOW_4G),
        Scenario(shop(), SLOW_4G, is_varied=True),
        Scenario(shop(), LOSSY, is_varied=True),
    )
    assert exact.network_of(3) == SLOW_4G
    assert shaken.network_of(3) == varied(SLOW_4G, 3) != SLOW_4G
    assert lossy.network_of(3) == varied(LOSSY, 3)
    assert lossy.network_of(3).down.loss == LOSSY.down.loss
    assert [len(scenario.seeds_of(range(8))) for scenario in (exact, shaken, lossy)] == [1, 4, 8]
    assert len(shaken.seeds_of(range(2))) == 2, "both of a pair"
    assert len({exact.digest, shaken.digest}) == 2


def test_loads_differ_by_seed_only_where_the_network_varies() -> None:
    player = Player(PaintReader)
    for is_varied, different in ((False, 1), (True, 2)):
        scenario = Scenario(shop(), SLOW_4G, is_varied=is_varied)
        assert len({player.play(Task(scenario, NamedScheme("sequential"), seed)) for seed in (0, 1)}) == different


def test_what_people_look_at_is_played_on_the_network_itself() -> None:
    exact, shaken = (
        play_whole(Task(Scenario(shop(), SLOW_4G, is_varied=is_varied), NamedScheme("sequential"), 1))
        for is_varied in (False, True)
    )
    assert exact.resources == shaken.resources


def test_audit_and_tune_count_a_network_with_jitter_in_order_as_random() -> None:
    """Over commuter-4g nothing is lost and nothing overtakes, and yet no two loads are equal."""
    assert TRACED.is_random
    assert list(Scenario(shop(), TRACED).seeds_of(range(SEEDS))) == list(range(SEEDS))
    assert list(Scenario(shop(), TRACED).few_seeds_of(range(SEEDS))) == list(range(SEEDS))


def test_a_screening_plays_large_pages_over_fewer_seeds() -> None:
    page = shop()
    main = page.resources[0].model_copy(update={"body_bytes": LARGE_PAGE_BYTES})
    large = Page(format="mixedsched.page/1", name="large", resources=(main, *page.resources[1:]))
    assert len(Scenario(large, LOSSY).few_seeds_of(range(8))) == 2
    assert len(Scenario(large, LOSSY).seeds_of(range(8))) == 8


def test_on_the_pipe_each_response_can_begin_as_soon_as_over_a_network() -> None:
    """One round trip after its request, which leaves with its parent's, or when that is complete; two of navigation."""
    html = {"id": "html", "kind": "document", "body_bytes": 0}
    found = [
        {"id": when, "kind": "xhr", "body_bytes": 0, "found_by": "html", "found_when": when, "delay_ms": 7}
        for when in ("requested", "bytes", "complete")
    ]
    listed = [{"path": f"/{item['id']}", **item} for item in (html, *found)]
    page = Page.from_dict({"format": "mixedsched.page/1", "name": "page", "resources": listed})
    times = play_whole(Task(Scenario(page, SLOW_4G).on_pipe, NamedScheme("fifo"))).times()
    rtt_ms = SLOW_4G.rtt_ms
    assert {name: time.requested_ms for name, time in times.items()} == {
        "html": 2 * rtt_ms,
        "requested": 2 * rtt_ms + 7,
        "bytes": 3 * rtt_ms + 7,
        "complete": 3 * rtt_ms + 7,
    }


@pytest.mark.slow
def test_a_scenario_has_the_same_fingerprint_in_every_process() -> None:
    code = "from tests.lab.play.test_scenario import SCENARIO; print(SCENARIO.digest)"
    environment = {"PYTHONHASHSEED": "7", "PATH": os.defpath}  # sets have another order there
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == SCENARIO.digest


def test_names_of_pages_networks_and_models_are_not_in_the_fingerprint() -> None:
    page = shop()
    renamed = Page(format="mixedsched.page/1", name="another", resources=page.resources)
    network, model = replace(SLOW_4G, name="another"), replace(IDEAL, name="another")
    assert Scenario(renamed, network, model=model).digest == SCENARIO.digest
    assert Scenario(page, LOSSY).digest != SCENARIO.digest != replace(SCENARIO, hero_needs=("js",)).digest
    assert SCENARIO.on_pipe.digest != SCENARIO.digest
