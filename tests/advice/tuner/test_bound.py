"""No order of delivery is earlier than the bound; where nothing is in the way, the bound is what is played."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from mixedsched.advice.tuner._looks import bounds
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import PaintReader, Player, Task
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.world import catalog
from tests.advice.replaying import Replaying
from tests.advice.tuner.pages import HURRIED

SCENE = Scenario(HURRIED, catalog.load_profile("slow-4g"))
SCHEMES = ("sequential", "stock", "eps", "mixed")


@cache
def bound_of(scene: Scenario) -> PaintEstimate:
    return bounds([scene], lambda _: [1], Replaying())[scene.name]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_scheme_is_earlier_than_the_bound(scheme: str) -> None:
    bound = bound_of(SCENE)
    found = Player(PaintReader).play(Task(SCENE, Candidate(scheme), 1))
    assert found is not None
    assert bound.fcp_ms <= found.fcp_ms
    assert bound.lcp_ms < found.lcp_ms  # all of them send something else before the hero is complete
    assert bound.si_ms <= found.si_ms


def test_a_page_of_nothing_but_what_is_needed_is_at_its_bound() -> None:
    needed = [item for item in HURRIED.resources if item.id in {"html", "css", "hero"}]
    page = Page(format=PAGE_FORMAT, name="bare", resources=tuple(needed))
    found = Player(PaintReader).play(Task(replace(SCENE, page=page), Candidate("sequential"), 1))
    assert found is not None
    assert bound_of(replace(SCENE, page=page)).lcp_ms == pytest.approx(found.lcp_ms, rel=0.05)


def test_what_puts_the_hero_into_the_page_belongs_to_the_bound() -> None:
    assert bound_of(replace(SCENE, hero_needs=("late.js",))).lcp_ms > bound_of(SCENE).lcp_ms * 1.2


def test_a_page_of_one_resource_has_a_bound() -> None:
    page = Page(format=PAGE_FORMAT, name="alone", resources=(HURRIED.main,))
    bound = bound_of(Scenario(page, SCENE.network))
    assert 0 < bound.fcp_ms <= bound.lcp_ms


def test_the_earliest_of_several_loads_is_that_of_each_paint_by_itself() -> None:
    assert PaintEstimate.earliest_of([PaintEstimate(5, 9, 7), PaintEstimate(6, 8, 7)]) == PaintEstimate(5, 8, 7)
