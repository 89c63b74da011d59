"""`chrome7`, `packet-rr`, `safari-wrr`, `firefox-tree`, `firefox-eps`."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.schedulers._levels import Level, StrictLevels
from mixedsched.core.schedulers._queue import Fifo
from mixedsched.core.schedulers._tree import TreePlace
from mixedsched.core.schedulers.sander import BACKGROUND, LEADERS, SPECULATIVE, UNBLOCKED, URGENT_START
from tests.core.schedulers.wire import Line, Wire, create, place, placed, placed_blindly, wire

every_group = pytest.mark.parametrize(
    ("resource", "group"),
    [
        ("document+main", "urgent-start"),
        ("document", "leaders"),
        ("stylesheet+in_head", "leaders"),
        ("stylesheet+late_body", "leaders"),
        ("script+in_head", "leaders"),
        ("script", "unblocked"),  # in the body, even where it blocks the parser
        ("script+after_first_image", "unblocked"),
        ("script+async", "unblocked"),
        ("script+defer+in_head", "unblocked"),
        ("xhr", "unblocked"),
        ("font", "followers"),
        ("image+hero", "followers"),
        ("image", "followers"),
        ("media", "followers"),
        ("other", "followers"),  # the default for unmarked requests
        ("font+preload", "unblocked"),
        ("xhr+preload", "unblocked"),
        ("script+preload", "unblocked"),
        ("script+in_head+preload", "unblocked"),
        ("stylesheet+preload", "leaders"),
        ("image+preload", "followers"),
        ("xhr@VeryLow", "background"),  # beacons
        ("other@VeryLow", "background"),
    ],
)


# chrome7


@pytest.mark.parametrize("kind", ["document", "stylesheet", "font", "script", "image", "xhr"])
def test_levels_of_chrome7_are_chromiums_priorities(kind: str) -> None:
    seen = [placed("chrome7", f"{kind}@{priority}") for priority in ("VeryHigh", "High", "Medium", "Low", "VeryLow")]
    assert seen == [f"level {level}" for level in range(5)]


def test_levels_of_chrome7_in_order_and_requests_in_order_inside_one() -> None:
    page = "A2:image@Low B2:script@High C2:image@Low D1:document@VeryHigh E1:xhr@VeryLow F2:script@Medium"
    assert wire("chrome7", page) == "DBBFFAACCE"


def test_a_better_response_interrupts_chrome7_at_the_next_packet() -> None:
    line = Wire("chrome7", "A4:image@Low").send(1).add("B2:image@Medium").send(1).add("C2:stylesheet@VeryHigh")
    assert line.send().out == "ABCCBAAA"


def test_an_equal_newcomer_waits_in_chrome7() -> None:
    assert Wire("chrome7", "A3:script@High").send(1).add("B1:xhr@High").send().out == "AAAB"


def test_a_blocked_response_of_chrome7_yields_to_those_below_it() -> None:
    line = Wire("chrome7", "A3:script@High B3:image@Low").send(1).pause("A").send(1).resume("A")
    assert line.send().out == "ABAABB"


def test_two_levels_lie_below_all_that_chromium_sends() -> None:
    line = Line(StrictLevels(7, Fifo))
    for name, level in zip("ABCDEFG", reversed(range(7)), strict=True):
        line.open(name, 1, Level(level))
    assert line.send().out == "GFEDCBA"


def test_chrome7_can_know_the_highest_hint_that_a_url_ever_gets() -> None:
    for resource in ("image+hero@Low", "image+above_fold@Medium"):
        assert placed("chrome7", resource) != "level 1"
        assert placed("chrome7:hints=maximum", resource) == "level 1"
    assert placed_blindly("chrome7:hints=maximum", "image@Medium") == "level 1"
    for resource in ("image@Low", "image@Medium", "image+hero@VeryHigh", "script+async@Low", "font@High"):
        assert placed("chrome7:hints=maximum", resource) == placed("chrome7", resource), "only seen images are raised"


# packet-rr


@pytest.mark.parametrize("sizes_bytes", [(1200,), (1, 1200), (7, 900, 30)])
def test_packet_rr_changes_the_response_after_each_packet_whatever_its_size(sizes_bytes: tuple[int, ...]) -> None:
    line = Wire("packet-rr", "A9:image B9:document C9:script+in_head")
    for index in range(9):
        line.send(1, size_bytes=sizes_bytes[index % len(sizes_bytes)])
    assert line.out == "ABC" * 3


# safari-wrr


@pytest.mark.parametrize(
    ("resource", "weight"),
    [
        ("document+main", "255"),
        ("document", "255"),
        ("stylesheet+in_head", "24"),
        ("script+async", "24"),
        ("xhr", "16"),
        ("manifest", "16"),
        ("font", "16"),
        ("font+preload", "16"),
        ("image+hero", "8"),
        ("svg", "8"),
        ("media", "8"),
        ("other", "8"),
    ],
)
def test_weights_of_safari(resource: str, weight: str) -> None:
    assert placed("safari-wrr", resource) == weight
    assert placed_blindly("safari-wrr", resource.partition("+")[0], stream_id=0) == weight


def test_safari_shares_by_weight() -> None:
    assert wire("safari-wrr", "A6:font B3:image") == "AABAABAAB"
    assert Wire("safari-wrr", "A99:stylesheet B99:xhr").send(10).out == "ABAABABAAB"
    out = Counter(Wire("safari-wrr", "A9999:document B9999:script C9999:font D9999:image").send(303 * 4).out)
    assert out == {"A": 255 * 4, "B": 24 * 4, "C": 16 * 4, "D": 8 * 4}


def test_a_document_does_not_interrupt_in_safari() -> None:
    line = Wire("safari-wrr", "A99:image B99:image").send(1).add("C999:document")
    assert line.next(1) == "B"
    assert Counter(line.next(271 * 2)) == {"C": 255 * 2, "A": 8 * 2, "B": 8 * 2}


def test_weights_of_safari_share_packets_whatever_their_size() -> None:
    line = Wire("safari-wrr", "A99:font B99:image")
    for size_bytes in (10, 1400, 700, 1, 1400, 3):
        line.send(1, size_bytes=size_bytes)
    assert line.out == "AABAAB"


@given(st.lists(st.sampled_from(["document", "script", "font", "image"]), min_size=2, max_size=6), st.integers(1, 600))
def test_packets_are_shared_by_weight_at_every_moment(kinds: list[str], packets: int) -> None:
    scheduler, sent = create("safari-wrr"), Counter[int]()
    weights = {4 * index: place("safari-wrr", 4 * index, kind) for index, kind in enumerate(kinds)}
    for stream_id, weight in weights.items():
        scheduler.open(stream_id, weight)
    for step in range(packets):
        stream_id = scheduler.pick()
        assert stream_id is not None
        scheduler.sent(stream_id, 1 + 37 * step % 1400)
        sent[stream_id] += 1
    for one, other in combinations(weights, 2):
        assert abs(sent[one] * weights[other] - sent[other] * weights[one]) <= weights[one] + weights[other]


# firefox-tree


@every_group
def test_groups_of_the_tree(resource: str, group: str) -> None:
    assert placed("firefox-tree", resource).partition(",")[0] == group


@pytest.mark.parametrize(
    ("resource", "weight"),
    [
        ("font", 42),
        ("script+preload", 42),
        ("document+main", 32),
        ("stylesheet", 32),
        ("script+async", 32),
        ("xhr", 32),
        ("image", 22),
    ],
)
def test_weights_inside_the_groups_follow_firefoxs_channel_priorities(resource: str, weight: int) -> None:
    assert place("firefox-tree", 4, resource).weight == weight


def test_without_a_manifest_the_first_document_is_the_navigation() -> None:
    assert placed_blindly("firefox-tree", "document@VeryHigh", 0).startswith("urgent-start")
    assert placed_blindly("firefox-tree", "document@VeryHigh", 4).startswith("leaders")
    assert placed_blindly("firefox-eps", "script@Low", 4) == "level 4"
    assert placed_blindly("firefox-eps", "script@Medium", 4) == "level 4"
    assert placed_blindly("firefox-eps", "script@High", 4) == "level 2"
    assert placed_blindly("firefox-eps", "font@High", 4) == "level 4"


def test_groups_of_the_tree_share_241_to_201_to_101_to_1() -> None:
    script = "A9999:document+main B9999:stylesheet C9999:xhr D99:xhr@VeryLow"
    assert Counter(Wire("firefox-tree", script).send(544 * 3).out) == {"A": 723, "B": 603, "C": 303, "D": 3}


def test_followers_are_starved_but_not_stopped_under_leaders() -> None:
    out = Wire("firefox-tree", "A999:stylesheet B99:image").send(31 + 1 + 32 + 1).out
    assert out == "A" * 31 + "B" + "A" * 32 + "B"
    assert Counter(Wire("firefox-tree", "A9999:image B9999:xhr").send(302).out) == {"A": 201, "B": 101}


def test_speculative_ones_are_starved_but_not_stopped_under_the_background() -> None:
    line = (
        Line(create("firefox-tree"))
        .open("A", 9_999, TreePlace(BACKGROUND, 22))
        .open("B", 99, TreePlace(SPECULATIVE, 22))
    )
    assert line.send(21 + 1 + 22 + 1).out == "A" * 21 + "B" + "A" * 22 + "B"
    for name, group in zip("CDE", (URGENT_START, LEADERS, UNBLOCKED), strict=True):
        line.open(name, 999_999, TreePlace(group, 32))
    assert [line.next(544 * 23).count("B") for _ in range(3)] == [1, 1, 1]


def test_a_navigation_does_not_interrupt_in_the_tree() -> None:
    line = Wire("firefox-tree", "A999:stylesheet B999:xhr").send(2).add("C999:document+main")
    assert line.next(4) == "ACAC"
    assert Counter(line.next(543 - 4) + "ACAC") == {"A": 201, "B": 101, "C": 241}


def test_weights_of_the_tree_share_packets_whatever_their_size() -> None:
    line = Wire("firefox-tree", "A999:stylesheet B999:script+in_head C999:xhr")
    for index in range(302):
        line.send(1, size_bytes=1 + 97 * index % 1400)
    assert Counter(line.out) == {"A": 101, "B": 100, "C": 101}
    line = Wire("firefox-tree", "A99:stylesheet B99:script+in_head")
    for size_bytes in (1, 1400, 1, 1400, 1, 1400):
        line.send(1, size_bytes=size_bytes)
    assert line.out == "ABABAB"


# firefox-eps


@every_group
def test_urgencies_of_the_study_and_of_firefox(resource: str, group: str) -> None:
    groups = ("urgent-start", "leaders", "followers", "unblocked", "background", "speculative")
    assert placed("firefox-eps", resource) == f"level {groups.index(group) + 1}"
    real = {"urgent-start": 1, "leaders": 2, "unblocked": 3, "followers": 4, "background": 6, "speculative": 6}
    assert placed("firefox-eps:urgencies=firefox", resource) == f"level {real[group]}"


def test_urgencies_are_strict() -> None:
    page = "A2:image B2:xhr C2:document+main D2:stylesheet E1:other@VeryLow"
    assert wire("firefox-eps", page) == "CCDDAABBE"
    assert wire("firefox-eps:urgencies=firefox", page) == "CCDDBBAAE"


def test_equals_take_turns_packet_by_packet() -> None:
    assert wire("firefox-eps", "A3:image B2:font C1:image") == "ABCABA"


def test_a_newcomer_goes_before_all_that_have_been_served() -> None:
    line = Wire("firefox-eps", "A9:image B9:image").send(3).add("C9:image")
    assert line.next(7) == "CBACBAC"
    line = Wire("firefox-eps", "A9:image B9:image").send(3).add("C9:image D9:image")
    assert line.next(6) == "CDBACD"


def test_one_that_was_blocked_is_no_newcomer() -> None:
    line = Wire("firefox-eps", "A9:image B9:image C9:image").send(3).pause("A").send(1).resume("A")
    assert line.next(4) == "ACBA"


def test_a_navigation_interrupts_at_the_next_packet() -> None:
    assert Wire("firefox-eps", "A3:stylesheet").send(1).add("B2:document+main").next() == "BBAA"
