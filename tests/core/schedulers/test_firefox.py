"""`firefox`: the tree of 2019."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.core.schedulers.marx_rows import every_row
from tests.core.schedulers.wire import Wire, placed, placed_blindly, wire

LEADERS_32, UNBLOCKED_32, FOLLOWERS_32 = "leaders, weight 32", "unblocked, weight 32", "followers, weight 32"

AS_CODED = {
    "main html": FOLLOWERS_32,
    "other html": FOLLOWERS_32,
    "css, head": LEADERS_32,
    "css, critical": LEADERS_32,
    "css, elsewhere": LEADERS_32,
    "js, head": LEADERS_32,
    "js, head, after first image": LEADERS_32,
    "js, body": LEADERS_32,
    "js, body, critical": LEADERS_32,
    "js, after first image": LEADERS_32,
    "js, after first image, critical": LEADERS_32,
    "js, delayed, head": LEADERS_32,
    "js, delayed, body": UNBLOCKED_32,
    "font": FOLLOWERS_32,
    "font, preloaded": "speculative, weight 32",
    "xhr": UNBLOCKED_32,
    "svg": "unblocked, weight 22",
    "svg, seen": "unblocked, weight 22",
    "image, seen": "followers, weight 22",
    "image, other": "followers, weight 22",
    "video": "background, weight 32",
    "rest": "background, weight 32",
}
INTENDED = AS_CODED | {
    "font": "followers, weight 42",
    "font, preloaded": "speculative, weight 42",
    "video": "background, weight 16",
    "rest": "background, weight 16",
}


@every_row(AS_CODED)
def test_the_published_code(resource: str, expected: str) -> None:
    assert placed("firefox:js=code,weights=code", resource) == expected


@every_row(INTENDED | {"js, delayed, head": UNBLOCKED_32})
def test_weights_as_intended_and_deferred_scripts_as_in_case_study_1(resource: str, expected: str) -> None:
    assert placed("firefox", resource) == expected


@every_row(
    INTENDED
    | {
        "js, body": UNBLOCKED_32,
        "js, body, critical": UNBLOCKED_32,
        "js, after first image": UNBLOCKED_32,
        "js, after first image, critical": UNBLOCKED_32,
    }
)
def test_only_scripts_in_the_head_lead_in_the_survey_of_2018(resource: str, expected: str) -> None:
    assert placed("firefox:js=survey", resource) == expected


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("image+preload", "speculative, weight 22"),
        ("stylesheet+in_head+preload", "speculative, weight 32"),
        ("xhr+preload", "speculative, weight 32"),
        ("svg+preload", "speculative, weight 22"),
        ("other+preload", "speculative, weight 16"),
        ("script+in_head+preload", LEADERS_32),
        ("script+async+preload", UNBLOCKED_32),
    ],
)
def test_whatever_is_preloaded_is_speculative_but_scripts(resource: str, expected: str) -> None:
    assert placed("firefox", resource) == expected


@pytest.mark.parametrize(
    ("resource", "expected"), [("svg", "followers, weight 22"), ("svg+hero", "followers, weight 22")]
)
def test_an_svg_can_be_an_image_too(resource: str, expected: str) -> None:
    assert placed("firefox:svg=image", resource) == expected


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("document@VeryHigh", FOLLOWERS_32),
        ("stylesheet@VeryHigh", LEADERS_32),
        ("script@High", LEADERS_32),
        ("script@Medium", LEADERS_32),
        ("script@Low", UNBLOCKED_32),
        ("font@VeryHigh", "followers, weight 42"),
        ("font@High", "speculative, weight 42"),
        ("image@Medium", "followers, weight 22"),
        ("xhr@High", UNBLOCKED_32),
    ],
)
def test_without_a_manifest_chromiums_priority_stands_in(resource: str, expected: str) -> None:
    assert placed_blindly("firefox", resource) == expected


def test_groups_share_201_to_101_to_1() -> None:
    script = "A9999:stylesheet B9999:xhr C9999:other"
    assert Counter(Wire("firefox", script).send(303 * 3).out) == {"A": 201 * 3, "B": 101 * 3, "C": 3}
    assert Wire("firefox", script).send(8).out == "ABAABAAB"


def test_a_group_has_its_share_however_many_are_in_it() -> None:
    out = Wire("firefox", "A9999:stylesheet B9999:xhr C9999:xhr D9999:script+async").send(302 * 3).out
    assert Counter(out) == {"A": 201 * 3, "B": 101, "C": 101, "D": 101}


def test_leaders_take_turns() -> None:
    assert wire("firefox", "A3:stylesheet B2:script+in_head C1:stylesheet") == "ABCABA"


def test_followers_are_starved_but_not_stopped_while_leaders_send() -> None:
    # A weighs 32, the followers 1 beside it; a tie goes to the group.
    out = Wire("firefox", "A999:stylesheet B99:image").send(31 + 1 + 32 + 1 + 32 + 1).out
    assert out == "A" * 31 + "B" + "A" * 32 + "B" + "A" * 32 + "B"


def test_more_leaders_starve_followers_more() -> None:
    line = Wire("firefox", "A9999:stylesheet B9999:stylesheet C9999:stylesheet D99:document+main").send(97 * 5)
    assert Counter(line.out) == {"A": 32 * 5, "B": 32 * 5, "C": 32 * 5, "D": 5}


def test_followers_inherit_all_of_the_leaders_share() -> None:
    out = Wire("firefox", "A9999:image B9999:xhr").send(302 * 2).out
    assert Counter(out) == {"A": 201 * 2, "B": 101 * 2}
    assert wire("firefox", "A2:stylesheet B3:image") == "AABBB"


def test_fonts_weigh_about_twice_what_images_do() -> None:
    assert Counter(Wire("firefox", "A999:font B999:image").send(64 * 3).out) == {"A": 42 * 3, "B": 22 * 3}


def test_speculative_ones_follow_what_is_in_the_background() -> None:
    out = Wire("firefox", "A999:other B99:font+preload").send(15 + 1 + 16 + 1).out
    assert out == "A" * 15 + "B" + "A" * 16 + "B"
    assert wire("firefox", "B2:font+preload") == "BB"


def test_nothing_interrupts_but_a_newcomer_joins_the_round_of_its_group() -> None:
    assert Wire("firefox", "A9:stylesheet B9:stylesheet").send(3).add("C9:stylesheet").next(6) == "BABCAB"


def test_case_study_1_the_hero_has_twice_what_deferred_scripts_have_but_loses_it_to_style_sheets() -> None:
    page = Wire("firefox", "S60:stylesheet+in_head J9999:script+defer+in_head I9999:image+hero")
    assert Counter(page.next(90)) == {"S": 59, "J": 30, "I": 1}
    page.send(10)  # the style sheet ends
    alone = Counter(page.next(302 * 2))
    assert abs(alone["I"] - 201 * 2) <= 1
    assert alone["S"] == 0


def test_a_blocked_leader_leaves_the_share_to_followers() -> None:
    line = Wire("firefox", "A99:stylesheet B99:image").send(3).pause("A")
    assert line.next(3) == "BBB"
    assert line.resume("A").next(3) == "AAA"
