"""Which lines are worth shipping."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import HeaderRule
from mixedsched.advice.tuner.ship.headers import HeaderPlan, as_candidate
from mixedsched.advice.tuner.ship.screening import (
    HTML_LINES_MOST,
    NOT_ALL_TRIED,
    NOT_TRIED,
    NoTime,
    Played,
    best_headers,
    best_html,
)
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.core.sim.pipe import play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.world import catalog
from tests.advice.tuner.ship.pages import SHOP, plan_of

NAMES = ("site.css", "app.js", "hero.jpg", "a.woff2", "late.js", "logo.jpg")
PATHS = {item.id: item.path for item in SHOP.resources}
RULES = {name: HeaderRule(PATHS[name], "u=5, i", (name,), name, {}) for name in NAMES}
CHANGES = {name: Change(Action.PRELOAD, ((0, PATHS[name]),), name) for name in NAMES}
TODAY_MS = 1000.0


class Model:
    """A page on which each line shortens, or lengthens, the metric by so much; some only in company."""

    def __init__(self, gains: Mapping[frozenset[str], float]) -> None:
        self.gains = gains
        self.asked = 0

    def __call__(self, sets: Sequence[tuple[HeaderRule, ...]] | Sequence[tuple[Change, ...]]) -> list[Played]:
        self.asked += len(sets)
        found = [TODAY_MS - self._gain({item.why for item in lines}) for lines in sets]
        return [Played(math.log(value / TODAY_MS), {"net": value}) for value in found]

    def _gain(self, names: set[str]) -> float:
        return sum(gain for needed, gain in self.gains.items() if needed <= names)


def gains(**single: float) -> dict[frozenset[str], float]:
    return {frozenset({name.replace("_", ".")}): gain for name, gain in single.items()}


def kept(model: Model, *names: str) -> HeaderPlan:
    plan = HeaderPlan(tuple(RULES[name] for name in names))
    return best_headers([plan], SHOP, model, model)


class Hasty(Model):
    """One that has time for so many sets."""

    def __init__(self, gains: Mapping[frozenset[str], float], most: int) -> None:
        super().__init__(gains)
        self.most = most

    def __call__(self, sets: Sequence[tuple[HeaderRule, ...]] | Sequence[tuple[Change, ...]]) -> list[Played]:
        if self.asked + len(sets) > self.most:
            raise NoTime
        return super().__call__(sets)


def test_without_time_all_rules_are_kept_and_that_is_said() -> None:
    plan = kept(Hasty(gains(hero_jpg=200), most=1), "site.css", "hero.jpg")
    assert [rule.why for rule in plan.rules] == ["site.css", "hero.jpg"]
    assert plan.lost == (NOT_TRIED,)


@pytest.mark.parametrize(("most", "left"), [(2, ["hero.jpg", "late.js", "app.js"]), (4, ["hero.jpg"])])
def test_with_little_time_as_many_idle_rules_as_possible_are_dropped(most: int, left: list[str]) -> None:
    plan = kept(Hasty(gains(hero_jpg=200), most), "hero.jpg", "late.js", "app.js")
    assert [rule.why for rule in plan.rules] == left
    assert plan.lost == (NOT_ALL_TRIED,)


def test_without_time_there_is_no_line_of_html() -> None:
    assert best_html([CHANGES["hero.jpg"]], Hasty(gains(hero_jpg=200), most=2), Model({})) == ()


def test_rules_that_do_not_contribute_are_dropped() -> None:
    plan = kept(Model(gains(hero_jpg=200, site_css=0, late_js=-50)), "site.css", "hero.jpg", "late.js")
    assert [rule.match for rule in plan.rules] == ["/img/hero.jpg"]


def test_of_a_plan_that_is_worth_more_as_a_whole_every_rule_stays_with_its_effect() -> None:
    model = Model(gains(hero_jpg=200, site_css=0))
    plan = HeaderPlan((RULES["site.css"], RULES["hero.jpg"]))
    whole = best_headers([plan], SHOP, model, model, keep_all=True)
    assert {rule.covers[0]: rule.effect_pct["net"] for rule in whole.rules} == {
        "site.css": pytest.approx(0),
        "hero.jpg": pytest.approx(200 / 8),
    }
    assert best_headers([plan], SHOP, Model({}), Model({}), keep_all=True).rules == ()


def test_each_rule_tells_what_is_lost_without_it() -> None:
    plan = kept(Model(gains(hero_jpg=200, app_js=100)), "app.js", "hero.jpg")
    effects = {rule.covers[0]: rule.effect_pct["net"] for rule in plan.rules}
    assert effects == {"app.js": pytest.approx(100 / 7), "hero.jpg": pytest.approx(200 / 7)}


def test_effects_come_from_other_seeds_than_the_choice() -> None:
    play, held_out = Model(gains(hero_jpg=200)), Model(gains(hero_jpg=100))
    (rule,) = best_headers([HeaderPlan((RULES["hero.jpg"],))], SHOP, play, held_out).rules
    assert rule.effect_pct == {"net": pytest.approx(100 / 9)}
    assert held_out.asked == 2


def test_rules_that_help_only_together_stay_together() -> None:
    plan = kept(Model({frozenset({"hero.jpg", "app.js"}): 100.0}), "app.js", "hero.jpg", "site.css")
    assert [rule.covers for rule in plan.rules] == [("app.js",), ("hero.jpg",)]


def test_of_two_that_do_the_same_one_stays() -> None:
    overlap = {**gains(app_js=100, hero_jpg=100), frozenset({"hero.jpg", "app.js"}): -100.0}
    assert len(kept(Model(overlap), "app.js", "hero.jpg").rules) == 1


def test_headers_that_gain_nothing_are_not_shipped() -> None:
    plan = kept(Model(gains(hero_jpg=2)), "hero.jpg")
    assert plan.rules == ()
    assert plan.lost == ("headers gain nothing in simulation",)
    assert kept(Model({})).rules == ()


def test_the_better_way_to_say_it_is_taken() -> None:
    one, other = HeaderPlan((RULES["app.js"],), lost=("one",)), HeaderPlan((RULES["hero.jpg"],), lost=("other",))
    model = Model(gains(hero_jpg=200, app_js=100))
    assert best_headers([one, other], SHOP, model, model).lost == ("other",)


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(-200, 100), min_size=1))
def test_nothing_that_helps_is_lost_and_nothing_that_harms_is_kept(single: dict[str, int]) -> None:
    model = Model({frozenset({name}): gain for name, gain in single.items()})
    found = {rule.covers[0] for rule in kept(model, *single).rules}
    helpful = {name for name, gain in single.items() if gain >= 10}
    assert helpful <= found
    assert all(single[name] > 0 for name in found)


def test_html_lines_are_few_and_each_tells_its_own_effect() -> None:
    model = Model({frozenset({name}): 50.0 + index for index, name in enumerate(NAMES)})
    lines = best_html(list(CHANGES.values()), model, model)
    assert len(lines) == HTML_LINES_MOST
    assert [line.change.why for line in lines] == ["logo.jpg", "late.js", "a.woff2", "hero.jpg"]
    assert lines[0].effect_pct == {"net": pytest.approx(-5.5)}


def test_nothing_is_played_that_would_be_one_html_line_too_many() -> None:
    model = Model({frozenset({name}): 50.0 for name in NAMES})
    best_html(list(CHANGES.values()), model, Model({}))
    grown = without_one = HTML_LINES_MOST
    assert model.asked == 1 + len(NAMES) + grown + without_one


def test_html_lines_that_help_nobody_are_not_shipped() -> None:
    assert best_html(list(CHANGES.values()), Model(gains(hero_jpg=2, app_js=-100)), Model({})) == ()
    assert best_html([], Model({}), Model({})) == ()


def test_headers_of_a_good_order_are_chosen_by_playing_the_page() -> None:
    """The hero before other images, and something idle, on the real rung pipe."""

    def play(sets: Sequence[tuple[HeaderRule, ...]]) -> list[Played]:
        found = []
        for rules in sets:
            load = play_pipe(Discoveries.of(SHOP), as_candidate(rules, SHOP).configured(catalog.load_mapping))
            first = {item.id: item.first_byte_ms for item in load.resources}
            complete = {item.id: item.complete_ms for item in load.resources}
            found.append(PaintNeeds.of(SHOP).estimate(first, complete).lcp_ms)
        return [Played(math.log(value / found[0]), {"pipe": value}) for value in found]

    candidate = Candidate(
        "eps",
        cells=(
            ((ChromiumPriority.MEDIUM, Kind.IMAGE), Priority(1, False)),
            ((ChromiumPriority.LOW, Kind.SCRIPT), Priority(4, False)),
        ),
    )
    plan = best_headers([plan_of(candidate)], SHOP, play, play)
    assert [rule.covers for rule in plan.rules] == [("hero.jpg", "logo.jpg")] or plan.rules[0].covers == ("hero.jpg",)
    assert plan.rules[0].effect_pct["pipe"] > 1
