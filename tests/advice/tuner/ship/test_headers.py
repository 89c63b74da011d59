"""Candidates as response headers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.changes.change import Action
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.ship._translation import Place, signals_of, translations_of, urgencies_of
from mixedsched.advice.tuner.ship.headers import as_candidate, as_changes, effective, header_plans, says_all
from mixedsched.core.schedulers import COMPARED
from mixedsched.core.sim.requests import request_for
from mixedsched.model.mapping import Override
from mixedsched.model.page import Page
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.world import catalog
from tests.advice.tuner.ship.pages import LOW_IMAGES_LAST, SHOP, lines_of, page_of, plan_of, resource

ALL = [Candidate(name) for name in COMPARED]


def test_what_is_as_the_browser_signals_needs_no_header() -> None:
    plan = plan_of(Candidate("eps"))
    assert (plan.rules, plan.elsewhere, plan.lost) == ((), (), ())


def test_eps_is_said_as_it_is() -> None:
    plan = plan_of(LOW_IMAGES_LAST)
    assert lines_of(plan) == ["/img/p*.jpg: u=6, i"]
    assert plan.rules[0].covers == tuple(f"p{index}.jpg" for index in range(6))
    assert plan.rules[0].why == "6 images: later than the browser asks (u=3 i)"


def test_a_file_that_is_kept_out_of_a_rule_is_told_so() -> None:
    kept_apart = Candidate("eps", (LOW_IMAGES_LAST.cells), (Override("/img/p0.jpg", Priority(3, True)),))
    rules = plan_of(kept_apart).rules
    assert [(rule.match, rule.value) for rule in rules] == [("/img/p0.jpg", "u=3, i"), ("/img/p*.jpg", "u=6, i")]
    assert rules[0].why == "an image: as the browser asks, and not as a rule below says"


def test_one_piece_is_said_in_so_many_words() -> None:
    hero = Candidate("eps", overrides=(Override("/img/hero.jpg", Priority(0)),))
    plan = plan_of(hero)
    assert lines_of(plan) == ["/img/hero.jpg: u=0, i=?0"]
    assert plan.rules[0].why == "the largest paint: sooner than the browser asks (u=2 i)"


def test_files_of_other_hosts_are_asked_for_there() -> None:
    chat = Candidate("eps", cells=(((ChromiumPriority.LOW, Kind.SCRIPT), Priority(6)),))
    plan = plan_of(chat)
    assert lines_of(plan) == ["/js/late.js: u=6, i=?0"]
    assert [(item.host, item.path, item.value) for item in plan.elsewhere] == [(1, "/js/chat.js", "u=6, i=?0")]


def test_sequential_is_one_urgency_without_sharing_and_the_document_needs_no_word() -> None:
    plan = plan_of(Candidate("sequential"))
    assert plan.lost == ()
    told = {effective(plan.rules, item) for item in SHOP.resources if item.host == 0 and item is not SHOP.main}
    assert len(told) == 1
    assert not told.pop().incremental
    assert effective(plan.rules, SHOP.main) == Priority(0, True)


def test_mixed_serves_whole_responses_by_urgency_before_all_shared_ones() -> None:
    candidate = Candidate(
        "mixed",
        cells=(
            (
                (ChromiumPriority.MEDIUM, Kind.IMAGE),
                Priority(7, False),
            ),  # the hero: whole, but after all other whole ones
            ((ChromiumPriority.LOW, Kind.IMAGE), Priority(0, True)),
        ),
    )
    plan = plan_of(candidate)
    priorities = {item.id: effective(plan.rules, item) for item in SHOP.resources}
    assert priorities["site.css"].urgency < priorities["app.js"].urgency < priorities["hero.jpg"].urgency
    assert priorities["hero.jpg"].urgency < priorities["p0.jpg"].urgency
    assert not priorities["hero.jpg"].incremental
    assert priorities["p0.jpg"].incremental


def test_shares_by_urgency_can_be_said_in_two_ways_and_neither_is_all() -> None:
    even, strict = header_plans(SHOP, Candidate("ip"), catalog.load_mapping)
    told = [
        {effective(plan.rules, item).urgency for item in SHOP.resources if item.host == 0} for plan in (even, strict)
    ]
    assert len(told[0]) == 1
    assert len(told[1]) > 1
    assert even.lost
    assert strict.lost
    assert [item.lost for item in header_plans(SHOP, Candidate("ip:alpha=0"), catalog.load_mapping)] == [()]


@pytest.mark.parametrize("candidate", ALL, ids=lambda item: item.code)
def test_every_scheme_is_said_or_refused_and_rules_say_exactly_what_was_meant(candidate: Candidate) -> None:
    plans = header_plans(SHOP, candidate, catalog.load_mapping)
    meant = translations_of(SHOP, candidate, catalog.load_mapping)
    assert len(plans) == len(meant) >= 1
    for plan, translation in zip(plans, meant, strict=True):
        for item in SHOP.resources:
            if item.host == 0:
                assert effective(plan.rules, item) == translation.priorities[item.id]


@pytest.mark.parametrize("name", ["dfifo", "chrome7", "spdyrr", "firefox-eps", "bucket", "bucket-html"])
def test_strict_levels_keep_their_order(name: str) -> None:
    """Between levels; inside one, N by number and I in turns."""
    (meant,) = translations_of(SHOP, Candidate(name), catalog.load_mapping)
    scheme = Candidate(name).configured(catalog.load_mapping)
    level_of = {}
    for index, item in enumerate(SHOP.resources):
        placement = scheme.place(request_for(SHOP, item, 4 * index))
        level_of[item.id] = placement.level if hasattr(placement, "level") else -placement.priority
    names = list(level_of)
    for one in names:
        for other in names:
            if level_of[one] < level_of[other]:
                assert meant.priorities[one].urgency < meant.priorities[other].urgency


def test_heavy_groups_of_a_tree_come_first_whatever_their_weights() -> None:
    usual, turned = (
        translations_of(SHOP, Candidate(spec), catalog.load_mapping)[0].priorities
        for spec in ("firefox-tree", "firefox-tree:leaders=10,unblocked=250")
    )
    assert usual["site.css"].urgency < usual["hero.jpg"].urgency < usual["late.js"].urgency
    assert turned["late.js"].urgency < turned["site.css"].urgency < turned["hero.jpg"].urgency


def test_a_scheme_without_a_rule_cannot_be_expressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixedsched.advice.tuner.ship._translation._RULES", {})
    plan = plan_of(Candidate("zeroweight"))
    assert plan.rules == ()
    assert plan.lost == ("the order of scheme 'zeroweight' cannot be expressed as headers",)


def test_files_that_differ_by_their_query_alone_are_left_alone() -> None:
    page = page_of(
        resource("/load?styles", "stylesheet", "in_head", "critical"),
        resource("/load?scripts", "script", "defer"),
        resource("/img/a.jpg?w=1", "image"),
        resource("/img/a.jpg?w=2", "image"),
    )
    late = Candidate(
        "eps",
        cells=(
            ((ChromiumPriority.LOW, Kind.SCRIPT), Priority(6)),
            ((ChromiumPriority.LOW, Kind.IMAGE), Priority(6, True)),
        ),
    )
    plan = plan_of(late, page)
    assert lines_of(plan) == ["/img/a.jpg: u=6, i"]
    assert any("/load is several files" in text for text in plan.lost)


CELLS = st.lists(
    st.tuples(
        st.tuples(st.sampled_from(ChromiumPriority), st.sampled_from(Kind)),
        st.builds(Priority, st.integers(0, 7), st.booleans()),
    ),
    max_size=4,
    unique_by=lambda item: item[0],
)


@st.composite
def shops(draw: st.DrawFn) -> Page:
    names = draw(st.lists(st.text("abc-. /%\u00fc;'\"", min_size=1, max_size=6), max_size=10, unique=True))
    kinds = st.sampled_from(["image", "script", "font", "stylesheet", "document"])
    items = [
        resource(f"/{draw(st.sampled_from(['x/', '']))}{name}", draw(kinds), host=draw(st.integers(0, 1)))
        | {"id": str(index), "incremental": draw(st.sampled_from([None, True, False]))}
        for index, name in enumerate(names)
    ]
    return page_of(*items)


@given(shops(), CELLS, st.sampled_from(["eps", "mixed", "nip", "ip"]))
def test_headers_on_a_plain_server_give_just_the_wanted_priorities(page: Page, cells: list, scheme: str) -> None:  # type: ignore[type-arg]
    candidate = Candidate(scheme, cells=tuple(cells))
    for plan, meant in zip(
        header_plans(page, candidate, catalog.load_mapping),
        translations_of(page, candidate, catalog.load_mapping),
        strict=True,
    ):
        paths = [item.path for item in page.resources if item.host == 0]
        for item in page.resources:
            if item.host == 0 and sum(text.replace(" ", "%20") == item.path.replace(" ", "%20") for text in paths) == 1:
                assert effective(plan.rules, item) == meant.priorities[item.id]
        assert {name for rule in plan.rules for name in rule.covers} <= {
            item.id for item in page.resources if item.host == 0
        }


@given(shops(), CELLS, st.sampled_from(["eps", "mixed", "sequential"]))
def test_headers_say_all_of_a_candidate_only_if_a_plain_server_does_just_as_it_does(
    page: Page,
    cells: list,  # type: ignore[type-arg]
    scheme: str,
) -> None:
    candidate = Candidate(scheme, cells=() if scheme == "sequential" else tuple(cells))
    plan = header_plans(page, candidate, catalog.load_mapping)[0]
    configured = candidate.configured(catalog.load_mapping)
    placed = {
        item.id: configured.place(request_for(page, item, 4 * index)) for index, item in enumerate(page.resources)
    }
    told = {item.id: effective(plan.rules, item) for item in page.resources}
    as_wanted = scheme == "eps" and bool(plan.rules) and told == placed
    assert says_all(plan, page, candidate, catalog.load_mapping) == as_wanted


def test_headers_that_say_less_do_not_say_all() -> None:
    kept_apart = Candidate("eps", LOW_IMAGES_LAST.cells, (Override("/img/p0.jpg", Priority(3, True)),))
    plan = plan_of(kept_apart)
    assert says_all(plan, SHOP, kept_apart, catalog.load_mapping)
    assert not says_all(replace(plan, rules=plan.rules[1:]), SHOP, kept_apart, catalog.load_mapping)


def test_headers_are_played_and_served_as_what_they_say() -> None:
    plan = plan_of(LOW_IMAGES_LAST)
    scheme = as_candidate(plan.rules, SHOP).configured(catalog.load_mapping)
    for index, item in enumerate(SHOP.resources):
        assert scheme.place(request_for(SHOP, item, 4 * index)) == effective(plan.rules, item)
    (change,) = as_changes(plan.rules, SHOP)
    assert (change.action, change.value) == (Action.HEADER, "u=6, i")
    assert change.targets == tuple((0, f"/img/p{index}.jpg") for index in range(6))


PLACES = st.dictionaries(
    st.text("ab", max_size=3), st.builds(Place, st.tuples(st.integers(0, 9)), st.booleans()), min_size=1, max_size=12
)


@given(PLACES, st.lists(st.builds(Priority, st.integers(0, 7), st.booleans()), min_size=12, max_size=12))
def test_ranks_keep_their_order_as_urgencies(places: dict[str, Place], signals: list[Priority]) -> None:
    told, complete = urgencies_of(places, dict(zip(places, signals, strict=False)))
    assert complete == (len({place.rank for place in places.values()}) <= 8)
    for one, first in places.items():
        assert told[one].incremental == first.incremental
        for other, second in places.items():
            if first.rank < second.rank:
                assert told[one].urgency < told[other].urgency or not complete
                assert told[one].urgency <= told[other].urgency


def test_ranks_become_urgencies_that_need_few_headers() -> None:
    places = {"css": Place((0,), False), "a": Place((1,), True), "b": Place((1,), True)}
    signals = {"css": Priority(0), "a": Priority(3, True), "b": Priority(3, True)}
    assert urgencies_of(places, signals)[0] == signals


def test_the_shop_has_a_hero() -> None:
    assert [item.id for item in SHOP.resources if Flag.HERO in item.flags] == ["hero.jpg"]
    assert signals_of(SHOP)["hero.jpg"] == Priority(2, True)
