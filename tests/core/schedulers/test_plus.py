"""`p+` and `s+`: a head start for what matters, and a leak of 1/257 for each group below."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.core.schedulers.marx_rows import every_row
from tests.core.schedulers.wire import Wire, place, placed, placed_blindly, wire

HIGH, MIDDLE, LOW = "high", "middle", "low"

PARALLEL = {
    "main html": HIGH,
    "other html": HIGH,
    "css, head": HIGH,
    "css, critical": HIGH,
    "css, elsewhere": HIGH,
    "js, head": HIGH,
    "js, head, after first image": MIDDLE,
    "js, body": HIGH,
    "js, body, critical": HIGH,
    "js, after first image": MIDDLE,
    "js, after first image, critical": MIDDLE,
    "js, delayed, head": LOW,
    "js, delayed, body": LOW,
    "font": HIGH,
    "font, preloaded": HIGH,
    "xhr": HIGH,
    "svg": HIGH,
    "svg, seen": HIGH,
    "image, seen": LOW,
    "image, other": LOW,
    "video": LOW,
    "rest": LOW,
}
SERIAL = {
    "main html": "followers",
    "other html": "followers",
    "css, head": HIGH,
    "css, critical": HIGH,
    "css, elsewhere": HIGH,
    "js, head": HIGH,
    "js, head, after first image": HIGH,
    "js, body": MIDDLE,
    "js, body, critical": MIDDLE,
    "js, after first image": MIDDLE,
    "js, after first image, critical": MIDDLE,
    "js, delayed, head": MIDDLE,
    "js, delayed, body": MIDDLE,
    "font": "followers",
    "font, preloaded": "speculative",
    "xhr": MIDDLE,
    "svg": MIDDLE,
    "svg, seen": MIDDLE,
    "image, seen": "followers",
    "image, other": "followers",
    "video": "background",
    "rest": "background",
}


def group(spec: str, resource: str) -> str:
    return placed(spec, resource).partition(",")[0]


@every_row(PARALLEL)
def test_groups_of_parallel_plus(resource: str, expected: str) -> None:
    assert group("p+", resource) == group("p+:chain=dfifo", resource) == expected


@every_row(SERIAL)
def test_groups_of_serial_plus(resource: str, expected: str) -> None:
    assert group("s+", resource) == group("s+:chain=dfifo", resource) == expected


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("image+preload", "speculative"),
        ("stylesheet+in_head+preload", "speculative"),
        ("xhr+preload", "speculative"),
        ("svg+preload", "speculative"),
        ("script+in_head+preload", HIGH),
        ("script+preload", MIDDLE),
    ],
)
def test_whatever_is_preloaded_is_speculative_in_serial_plus_but_scripts(resource: str, expected: str) -> None:
    assert group("s+", resource) == expected
    assert group("p+", resource) == group("p+", resource.replace("+preload", ""))


@pytest.mark.parametrize(("resource", "weight"), [("script+after_first_image", 183), ("image", 110), ("other", 110)])
def test_weights_below_the_head_start_are_those_of_chrome(resource: str, weight: int) -> None:
    assert place("p+", 4, resource).weight == weight


@pytest.mark.parametrize("resource", ["image", "document+main", "font", "font+preload", "other"])
def test_what_is_low_in_serial_plus_has_the_default_weight(resource: str) -> None:
    assert place("s+", 4, resource).weight == 16


@pytest.mark.parametrize(("spec", "expected"), [("p+:svg=image", LOW), ("s+:svg=image", "followers")])
def test_an_svg_can_be_an_image_too(spec: str, expected: str) -> None:
    assert group(spec, "svg+hero") == expected


@pytest.mark.parametrize(
    ("resource", "parallel", "serial"),
    [
        ("document@VeryHigh", HIGH, "followers"),
        ("stylesheet@VeryHigh", HIGH, HIGH),
        ("script@High", HIGH, HIGH),
        ("script@Medium", MIDDLE, MIDDLE),
        ("script@Low", LOW, MIDDLE),
        ("font@VeryHigh", HIGH, "followers"),
        ("font@High", HIGH, "speculative"),
        ("image@Medium", LOW, "followers"),
        ("xhr@High", HIGH, MIDDLE),
        ("other@Low", LOW, "background"),
    ],
)
def test_without_a_manifest_chromiums_priority_stands_in(resource: str, parallel: str, serial: str) -> None:
    assert placed_blindly("p+", resource).partition(",")[0] == parallel
    assert placed_blindly("s+", resource).partition(",")[0] == serial


# p+


def test_the_high_group_goes_in_order_of_request() -> None:
    assert wire("p+", "A3:script B2:document+main C2:font D1:xhr") == "AAABBCCD"


def test_or_by_levels_first_as_the_table_of_the_paper_says() -> None:
    assert wire("p+:chain=dfifo", "A3:script B2:document+main C2:font D1:xhr") == "BBCCAAAD"
    assert Wire("p+:chain=dfifo", "A3:script").send(1).add("B2:font").next() == "BBAA"


def test_middle_and_low_take_turns_inside() -> None:
    assert wire("p+", "A2:script+after_first_image B2:script+after_first_image") == "ABAB"
    assert wire("p+", "A2:image B2:media C2:script+async") == "ABCABC"


def test_a_high_newcomer_is_served_next_whatever_is_under_way() -> None:
    assert Wire("p+", "A9:image").send(3).add("B2:document+main").next(3) == "BBA"


def test_while_high_sends_each_group_below_leaks_one_packet_in_257() -> None:
    out = Wire("p+", "A9999:stylesheet B99:image").send(256 + 1 + 256 + 1).out
    assert out == "A" * 256 + "B" + "A" * 256 + "B"


def test_middle_weighs_no_more_than_low_while_high_sends() -> None:
    out = Wire("p+", "A9999:stylesheet B99:script+after_first_image C99:image").send(2 * 258).out
    assert out == ("A" * 256 + "BC") * 2


def test_middle_has_the_head_start_over_low_when_high_is_empty() -> None:
    out = Wire("p+", "B9999:script+after_first_image C99:image").send(2 * 257).out
    assert out == ("B" * 256 + "C") * 2


def test_middle_loses_it_when_high_comes_and_keeps_the_turn_it_waits_for() -> None:
    line = Wire("p+", "B9999:script+after_first_image C99:image").send(10).add("A9999:stylesheet")
    assert line.next(1 + 1 + 245 + 1 + 11 + 1) == "A" + "B" + "A" * 245 + "C" + "A" * 11 + "B"


def test_middle_gets_it_back_when_high_has_drained() -> None:
    out = Wire("p+", "A3:stylesheet B9999:script+after_first_image C99:image").send(3 + 2 + 257 * 2).out
    assert out == "AAA" + "BC" + ("B" * 256 + "C") * 2


def test_but_not_while_another_high_response_has_something() -> None:
    script = "A3:stylesheet B9999:stylesheet C99:script+after_first_image D99:image"
    assert Wire("p+", script).send(2 * 258).out == "AAA" + "B" * 253 + "CD" + "B" * 256 + "CD"


def test_or_so_many_packets_later_if_it_lingers() -> None:
    script = "A3:stylesheet B9999:script+after_first_image C999:image"
    assert Wire("p+:linger=2", script).send(3 + 4 + 257).out == "AAA" + "BC" * 2 + "B" * 256 + "C"
    assert Wire("p+:linger=50", script).send(3 + 52 + 257).out == "AAA" + "BC" * 26 + "B" * 256 + "C"


def test_a_high_newcomer_ends_the_lingering() -> None:
    line = Wire("p+:linger=5", "A3:stylesheet B9999:script+after_first_image C999:image").send(5)
    line.add("D99:stylesheet")
    assert line.next(99) == "D" * 99
    assert line.next(4) == "BCBC"  # five packets at equal weights count from here again
    assert line.next(4 + 257) == "BCBC" + "B" * 256 + "C"  # the fifth waits for its old turn, one more time


def test_a_blocked_head_start_is_as_good_as_none_and_counts_again_on_return() -> None:
    line = Wire("p+", "A9999:stylesheet B9999:script+after_first_image C99:image").send(3).pause("A")
    assert line.next(2 + 257) == "BC" + "B" * 256 + "C"
    assert line.resume("A").next(1 + 1 + 255) == "AB" + "A" * 255


# s+


def test_serial_plus_in_one_page() -> None:
    page = "A2:document+main B3:stylesheet+in_head C2:script D2:font E2:image F2:media"
    assert wire("s+", page) == "BBB" + "CAC" + "DEADE" + "FF"


def test_high_and_middle_go_in_order_of_request_each() -> None:
    assert wire("s+", "A2:script+in_head B2:stylesheet C2:script+in_head") == "AABBCC"
    assert wire("s+", "A2:script B2:xhr C2:script+async") == "AABBCC"
    assert wire("s+:chain=dfifo", "A2:script+in_head B2:stylesheet C2:script+in_head") == "BBAACC"


def test_documents_and_fonts_are_starved_by_scripts_but_not_stopped() -> None:
    out = Wire("s+", "A99:document+main B9999:script+in_head").send(2 * 257).out
    assert out == ("B" * 256 + "A") * 2
    out = Wire("s+", "A99:font B9999:script").send(2 * 257).out
    assert out == ("B" * 256 + "A") * 2


def test_then_they_share_equally_with_all_images() -> None:
    assert wire("s+", "A2:image B2:document+main C2:image D2:font") == "ABCDABCD"


def test_followers_have_201_to_1_over_the_background() -> None:
    out = Wire("s+", "A9999:image B999:media").send(202 * 2).out
    assert out == ("A" * 201 + "B") * 2


def test_speculative_ones_share_with_the_background_one_to_its_sixteen() -> None:
    out = Wire("s+", "A999:media B99:font+preload").send(15 + 1 + 16 + 1).out
    assert out == "A" * 15 + "B" + "A" * 16 + "B"


def test_nobody_starves_below_the_head_starts() -> None:
    out = Wire("s+", "A99999:stylesheet B9999:script C9999:image").send(258 * 20).out
    assert Counter(out) == {"A": 256 * 20, "B": 20, "C": 20}
