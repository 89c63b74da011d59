"""Editions in simulation: by the same browser and over the same seeds as in a tuning."""

from __future__ import annotations

import pytest

from mixedsched.advice.audit._screening import EditionPlayer
from mixedsched.advice.changes.look import look_at
from mixedsched.advice.changes.observed import page_model, scenario_of
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.objective import BASELINES, parse_objective
from mixedsched.advice.tuner.space import Space
from mixedsched.advice.tuner.trials import Options, Trials
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import PageLoadError
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.scenario import JUDGE_MODEL, seeds_for
from mixedsched.lab.play.task import PaintReader
from mixedsched.model.profile import Direction, Profile, RandomLoss
from mixedsched.world import catalog
from tests.advice.changes.shop import HOSTS, PAGE, RTT_MS, made_up_run

CHROMIUM = catalog.load_browser_model(JUDGE_MODEL)
MODEL = page_model(look_at(made_up_run(), PAGE, HOSTS, RTT_MS), PAGE, HOSTS, CHROMIUM)


@pytest.mark.parametrize("network", ["slow-4g", "commuter-4g"])
def test_audit_and_tune_give_one_page_one_answer(network: str) -> None:
    profile, pool = catalog.load_profile(network), Pool(PaintReader, 1)
    player = EditionPlayer({network: MODEL}, [profile], pool, CHROMIUM, seed=3)
    (audited,) = player.under("eps")([()])
    options, objective = Options(seed=3), parse_objective("lcp", "mobile")
    scenes = (scenario_of(MODEL, profile, CHROMIUM),)
    space = Space.of([scenes[0].page])
    trials = Trials(space, scenes, objective, pool, options, lambda: 0.0, lambda _: None, BASELINES)
    (((*tuned,),),) = trials.play([Candidate("eps")], "stack", options.search_seeds)
    assert audited[network] == PaintEstimate.median_of([item for item in tuned if item is not None])


def test_where_the_browser_has_the_last_word_each_seed_is_a_slightly_different_network() -> None:
    network = catalog.load_profile("slow-4g")
    scenario = scenario_of(MODEL, network, CHROMIUM)
    assert len({scenario.network_of(seed).down.rate_bps for seed in scenario.few_seeds_of(seeds_for(1))}) == 2
    assert (scenario.model, scenario.hero_needs) == (CHROMIUM, MODEL.hero_needs)


def test_a_load_that_never_ends_ends_the_screening() -> None:
    lost = Direction(rate_bps=1_000_000, delay_us=10_000, loss=RandomLoss(1.0))
    network = Profile("endless", "", "", lost, lost)
    player = EditionPlayer({"endless": MODEL}, [network], Pool(PaintReader, 1), CHROMIUM, seed=1)
    with pytest.raises(PageLoadError, match="never ends over endless"):
        player.under("eps")([()])
