"""`zeroweight`: 255 first, 1 to 254 by weight, 0 last."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.schedulers.zeroweight import ZeroWeightQueue
from tests.core.schedulers.marx_rows import every_row
from tests.core.schedulers.wire import Wire, placed, placed_blindly, wire

ZEROWEIGHT = {
    "main html": "255",
    "other html": "254",
    "css, head": "254",
    "css, critical": "254",
    "css, elsewhere": "254",
    "js, head": "24",
    "js, head, after first image": "24",
    "js, body": "24",
    "js, body, critical": "24",
    "js, after first image": "24",
    "js, after first image, critical": "24",
    "js, delayed, head": "24",
    "js, delayed, body": "24",
    "font": "16",
    "font, preloaded": "16",
    "xhr": "0",
    "svg": "1",  # an image to this scheme
    "svg, seen": "8",
    "image, seen": "8",
    "image, other": "1",
    "video": "0",
    "rest": "0",
}


@every_row(ZEROWEIGHT)
def test_weights(resource: str, expected: str) -> None:
    assert placed("zeroweight", resource) == expected


@pytest.mark.parametrize(("resource", "expected"), [("image", "0"), ("image+critical", "0"), ("image+hero", "8")])
def test_other_images_weigh_nothing_in_the_first_published_version(resource: str, expected: str) -> None:
    assert placed("zeroweight:other_image=0", resource) == expected


@pytest.mark.parametrize(
    ("resource", "stream_id", "expected"),
    [
        ("document@VeryHigh", 0, "255"),
        ("document@VeryHigh", 4, "254"),
        ("stylesheet@Medium", 4, "254"),
        ("script@Low", 4, "24"),
        ("font@High", 4, "16"),
        ("image@High", 4, "8"),
        ("image@Medium", 4, "8"),
        ("image@Low", 4, "1"),
        ("xhr@High", 4, "0"),
    ],
)
def test_without_a_manifest_the_first_document_is_the_main_one(resource: str, stream_id: int, expected: str) -> None:
    assert placed_blindly("zeroweight", resource, stream_id) == expected


def test_first_whole_then_by_weight_then_one_after_another() -> None:
    page = "A2:other B2:image+hero C2:document+main D2:image E2:font F2:media"
    assert wire("zeroweight", page) == "CC" + "EBEB" + "DD" + "AAFF"
    assert wire("zeroweight:other_image=0", page) == "CC" + "EBEB" + "AADDFF"


def test_two_first_ones_go_one_after_another() -> None:
    assert wire("zeroweight", "A2:document+main B2:document+main C1:stylesheet") == "AABBC"


def test_a_main_document_interrupts_everything() -> None:
    assert Wire("zeroweight", "A3:stylesheet").send(1).add("B2:document+main").next() == "BBAA"


def test_anything_with_a_weight_interrupts_what_has_none() -> None:
    assert Wire("zeroweight", "A3:other B2:xhr").send(1).add("C2:image").next() == "CCAABB"


def test_weights_of_later_arrivals_count_after_a_weightless_one_was_served() -> None:
    # In the published code virtual time was infinite from then on.
    line = Wire("zeroweight", "A9:other").send(3).add("B9:font C9:image+hero")
    assert line.next(6) == "BBCBBC"


def test_the_middle_class_shares_by_weight() -> None:
    assert Wire("zeroweight", "A99:script B99:font").send(10).out == "ABAABABAAB"
    sent = Counter(Wire("zeroweight", "A9999:stylesheet B9999:script C9999:font D999:image+hero").send(302 * 4).out)
    assert sent == {"A": 254 * 4, "B": 24 * 4, "C": 16 * 4, "D": 8 * 4}


def test_a_blocked_class_yields_and_takes_over_again() -> None:
    line = Wire("zeroweight", "A3:document+main B2:script C2:other").send(1)
    assert line.pause("A").next(1) == "B"
    assert line.pause("B").next(1) == "C"
    assert line.resume("B").next(1) == "B"
    assert line.resume("A").next() == "AAC"


@given(st.lists(st.integers(0, 255), min_size=1, max_size=8))
def test_no_class_is_served_while_a_better_one_has_something(weights: list[int]) -> None:
    queue, left = ZeroWeightQueue(), [2] * len(weights)
    for member, weight in enumerate(weights):
        queue.enter(member, weight)
    classes = [2 if weight == 0 else 0 if weight == 255 else 1 for weight in weights]
    while (member := queue.first()) is not None:
        waiting = [other for other, packets in enumerate(left) if packets]
        assert classes[member] == min(classes[other] for other in waiting)
        if classes[member] != 1:
            assert member == min(other for other in waiting if classes[other] == classes[member])
        queue.sent(member, 1400)
        left[member] -= 1
        if not left[member]:
            queue.leave(member)
    assert left == [0] * len(weights)
