"""What comes too late, worked out on a made-up load with pencil and paper."""

from __future__ import annotations

from dataclasses import replace

from mixedsched.advice.changes.candidates import candidates_of
from mixedsched.advice.changes.change import Action
from mixedsched.advice.changes.findings import Reason, findings_of, late_arrivals
from mixedsched.advice.changes.look import Look, PaintRole, look_at
from mixedsched.model.page import Page
from tests.advice.changes.shop import (
    APP,
    BELOW,
    CSS,
    DOCUMENT,
    FONT,
    HERO,
    HOSTS,
    LATE,
    PAGE,
    RTT_MS,
    made_up_look,
    made_up_run,
)

RATE_BPS = 1_600_000


def by_reason(look: Look) -> dict[tuple[Reason, tuple[int, str]], int]:
    return {(item.reason, item.key): item.late_bytes for item in findings_of(look, RATE_BPS)}


def test_roles_say_how_much_the_first_screen_needs_a_resource() -> None:
    roles = {item.key: item.role for item in made_up_look().seen}
    assert roles == {
        (0, "/"): PaintRole.DOCUMENT,
        APP: PaintRole.BLOCKING,
        CSS: PaintRole.BLOCKING,
        HERO: PaintRole.HERO,
        BELOW: PaintRole.REST,
        LATE: PaintRole.SCRIPT,
        FONT: PaintRole.FONT,
    }


def test_late_bytes_are_those_of_less_important_files_while_the_hero_was_pending() -> None:
    # The hero is pending from 320 (a round trip after its request) to 1600: in it fall all of the image below and the late
    # script. The font, too, but it is as important.
    assert by_reason(made_up_look())[Reason.CROWDED, HERO] == 80_000 + 40_000


def test_bytes_of_what_is_more_important_are_never_late() -> None:
    late = late_arrivals(made_up_look())
    assert set(late) == {BELOW, LATE}
    assert CSS not in late
    assert APP not in late


def test_a_font_that_only_styles_name_is_found_late_with_its_chain() -> None:
    found = {(item.reason, item.key): item for item in findings_of(made_up_look(), RATE_BPS)}
    font = found[Reason.FOUND_LATE, FONT]
    assert font.chain == ((0, "/"), CSS, APP)
    assert font.cost_ms == 725 - 200


def test_a_large_script_in_the_head_blocks_painting() -> None:
    found = {(item.reason, item.key): item for item in findings_of(made_up_look(), RATE_BPS)}
    assert found[Reason.BLOCKS, APP].cost_ms == 700 - 400


def test_a_hero_that_has_the_link_to_itself_is_not_crowded() -> None:
    run = made_up_run()
    alone = replace(run, arrivals=tuple(item for item in run.arrivals if item.path in {"/", "/hero.jpg", "/site.css"}))
    assert (Reason.CROWDED, HERO) not in by_reason(look_at(alone, PAGE, HOSTS, RTT_MS))


def test_without_a_log_of_arrivals_nothing_is_said_of_late_bytes() -> None:
    look = look_at(replace(made_up_run(), arrivals=()), PAGE, HOSTS, RTT_MS)
    assert all(item.reason is not Reason.CROWDED for item in findings_of(look, None))


def test_every_rule_proposes_its_change() -> None:
    look = made_up_look()
    candidates = candidates_of([look], findings_of(look, RATE_BPS), DOCUMENT)
    assert [(item.action, item.targets) for item in candidates] == [
        (Action.FETCH_FIRST, (HERO,)),
        (Action.HEADER, (HERO,)),
        (Action.PRELOAD, (FONT,)),
        (Action.LAZY, (BELOW,)),
        (Action.FETCH_LAST, (BELOW,)),
        (Action.HEADER, (BELOW,)),
        (Action.DEFER, (APP,)),
        (Action.DEFER, (LATE,)),
        (Action.HEADER, (LATE,)),
    ]
    assert all(item.why and item.title for item in candidates)


def test_a_page_of_one_resource_has_nothing_to_change() -> None:
    page = Page(format="mixedsched.page/1", name="one", resources=PAGE.resources[:1])
    run = made_up_run()
    load = {**run.page_load, "requests": run.page_load["requests"][:1], "observed": {}}
    look = look_at(replace(run, page_load=load, arrivals=()), page, HOSTS, RTT_MS)
    assert look.hero is None
    assert findings_of(look, RATE_BPS) == []
    assert candidates_of([look], [], DOCUMENT) == []


def test_a_text_as_largest_paint_has_no_hero_and_no_change_for_one() -> None:
    run = made_up_run()
    load = {**run.page_load, "observed": {"lcp_load_start_ms": None, "lcp_load_end_ms": None}}
    look = look_at(replace(run, page_load=load), PAGE, HOSTS, RTT_MS)
    assert look.hero is None
    actions = {item.action for item in candidates_of([look], [], DOCUMENT)}
    assert Action.FETCH_FIRST not in actions


def test_what_only_scripts_ask_for_joins_the_model() -> None:
    run = made_up_run()
    extra = {
        **run.page_load["requests"][3],
        "url": "https://shop.test/by-script.jpg",
        "request_ms": 900,
        "start_ms": 900,
    }
    load = {**run.page_load, "requests": [*run.page_load["requests"], extra]}
    page = look_at(replace(run, page_load=load), PAGE, HOSTS, RTT_MS).model.page
    assert page.by_path()[0, "/by-script.jpg"].found_when == "complete"
