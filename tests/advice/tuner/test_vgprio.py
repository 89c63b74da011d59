"""VGPrio's search: what its knobs place, what its optimiser is told, and that nothing guards its result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.tuner.job import DECISIONS_NAME, VGPRIO, TuneJob
from mixedsched.advice.tuner.objective import BASELINES
from mixedsched.advice.tuner.result import Outcome
from mixedsched.advice.tuner.space import Space
from mixedsched.advice.tuner.trials import Limit, Options, Trials
from mixedsched.advice.tuner.vgprio import (
    CLUSTERS,
    LOADS,
    NOISE_LOADS,
    OBJECTIVE,
    Knobs,
    clusters_of,
    learn,
    propose,
    scatter_of,
    training_seeds,
)
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.play.scenario import Scenario, seeds_for
from mixedsched.model.page import Page
from mixedsched.model.priority import Priority
from mixedsched.model.request import Flag, Kind, Request
from mixedsched.world import catalog
from tests.advice.replaying import Replaying
from tests.advice.tuner.pages import made_up_page
from tests.advice.tuner.sessions import PAGE, Stopped, job_of, tuned

UP_TO_15_IMAGES = st.integers(0, 2**20).map(lambda seed: made_up_page(seed, resources=16))


def placed(page: Page, values: dict[str, float]) -> dict[str, Priority]:
    """The priority of every resource, by id."""
    mapping = Knobs.of(page).candidate(values).mapping()
    assert mapping is not None
    return {
        item.id: mapping.priority_for(Request(0, item.path, item.kind, chromium_priority=item.chromium_priority))
        for item in page.resources
    }


@given(page=UP_TO_15_IMAGES)
def test_every_image_is_in_one_of_at_most_three_clusters(page: Page) -> None:
    clusters = clusters_of(page)
    assert len(clusters) <= CLUSTERS
    assert sorted(path for paths in clusters for path in paths) == sorted(
        item.path for item in page.resources if item.kind is Kind.IMAGE
    )


@given(page=UP_TO_15_IMAGES)
def test_no_cluster_mixes_the_first_screen_with_the_rest(page: Page) -> None:
    seen = {item.path: bool(item.flags & {Flag.HERO, Flag.ABOVE_FOLD}) for item in page.resources}
    assert all(len({seen[path] for path in paths}) == 1 for paths in clusters_of(page))


@given(page=UP_TO_15_IMAGES, data=st.data())
def test_settings_place_images_and_late_scripts_and_styles_and_blocking_scripts_stay_first(
    page: Page, data: st.DataObject
) -> None:
    knobs = Knobs.of(page)
    values = {name: data.draw(st.floats(*ends), label=name) for name, ends in knobs.bounds.items()}
    found, shares = placed(page, values), round(values["others i"]) == 1
    for item in page.resources:
        expected = Priority(3, shares)
        if item.kind is Kind.STYLESHEET or item.kind is Kind.SCRIPT:
            expected = Priority(1, shares)
        if item.kind is Kind.SCRIPT and item.flags & {Flag.ASYNC, Flag.DEFER}:
            expected = Priority(round(values["late scripts"]), round(values["late scripts i"]) == 1)
        for number, paths in enumerate(knobs.clusters, start=1):
            if item.path in paths:
                expected = Priority(round(values[f"images {number}"]), round(values[f"images {number} i"]) == 1)
        assert found[item.id] == expected


def test_a_proposal_depends_on_its_arguments_alone_and_goes_where_the_index_was_low() -> None:
    bounds = {"late scripts": (0.51, 5.49)}
    tried = [({"late scripts": place / 2}, 3000 + 400 * abs(place / 2 - 4)) for place in range(2, 11)]
    found = propose(bounds, tried, 1e-6, 7)
    assert found == propose(bounds, tried, 1e-6, 7)
    assert found["late scripts"] == pytest.approx(4, abs=0.6)


def test_scatter_is_relative_and_never_zero() -> None:
    assert scatter_of([2000.0]) == scatter_of([2000.0, 2000.0]) == 1e-6
    assert scatter_of([900.0, 1100.0]) == pytest.approx(0.01)


def test_every_iteration_meets_losses_of_its_own() -> None:
    seeds = [seed for number in range(51) for seed in training_seeds(1, number)]
    seeds += training_seeds(1, 51, NOISE_LOADS)
    assert len(set(seeds)) == 51 * LOADS + NOISE_LOADS
    assert set(seeds).isdisjoint(range(seeds_for(0)[0], seeds_for(1000)[0]))


def test_first_and_largest_paints_may_come_later() -> None:
    best = PaintEstimate(fcp_ms=900.0, lcp_ms=9000.0, si_ms=1000.0)
    assert OBJECTIVE.value(best, PaintEstimate(fcp_ms=100.0, lcp_ms=1000.0, si_ms=1000.0)) == 0.0
    assert OBJECTIVE.guard(best, PaintEstimate(fcp_ms=100.0, lcp_ms=1000.0, si_ms=1000.0)) == 0.0


def vgprio_job(folder: Path, **changes: object) -> TuneJob:
    return job_of(folder, objective=OBJECTIVE, penalty=0.0, space=VGPRIO, candidates=6, **changes)


def test_what_it_learned_is_the_result_and_says_what_it_would_have_cost(tmp_path: Path) -> None:
    found = tuned(vgprio_job(tmp_path))
    assert found.outcome is Outcome.SIMULATED
    assert found.winner is not None
    assert found.winner.candidate.scheme == "eps"
    assert any("540 loads" in note for note in found.notes)
    assert (tmp_path / "ship" / "mapping.toml").is_file()
    assert json.loads((tmp_path / DECISIONS_NAME).read_text())["tried"] == 6, "with more time it is not continued"


def test_what_was_stopped_goes_on_and_learns_the_same(tmp_path: Path) -> None:
    for name in ("whole", "part"):
        (tmp_path / name).mkdir()
    whole = tuned(vgprio_job(tmp_path / "whole"))
    part = tuned(vgprio_job(tmp_path / "part"), Stopped(4))
    assert part.outcome is Outcome.INTERRUPTED
    again = tuned(vgprio_job(tmp_path / "part"))
    assert again.winner == whole.winner


def test_it_keeps_what_its_own_loads_liked_best() -> None:
    """Over 2 % loss the best of three medians: no later measurement is asked."""
    scene = Scenario(PAGE, catalog.load_profile("sander-loss2"))
    trials = Trials(
        Space.of([scene.page], ("eps",)), (scene,), OBJECTIVE, Replaying(), Options(stack=Limit(3)),
        lambda: 0.0, lambda _: None, BASELINES,
    )  # fmt: skip
    learned = learn(trials, Knobs.of(scene.page))
    assert learned is not None
    assert learned.index_ms == min(index_ms for _, index_ms in learned.history)
    assert learned.loads == 3 * LOADS + NOISE_LOADS
