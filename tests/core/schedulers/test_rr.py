"""`rr` and `wrr`: byte shares, equal or by kind."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.schedulers.marx_rows import every_row
from tests.core.schedulers.wire import Wire, create, place, placed, wire

WRR = {
    "main html": "256",
    "other html": "256",
    "css, head": "256",
    "css, critical": "256",
    "css, elsewhere": "256",
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
    "xhr": "8",
    "svg": "8",
    "svg, seen": "8",
    "image, seen": "8",
    "image, other": "8",
    "video": "8",
    "rest": "8",
}
KINDS = ("document", "stylesheet", "script", "font", "xhr", "image", "media", "other")


@every_row(WRR)
def test_weights_of_wrr_go_by_kind(resource: str, expected: str) -> None:
    assert placed("wrr", resource) == expected


@every_row(dict.fromkeys(WRR, "16"))
def test_rr_gives_all_the_default_weight(resource: str, expected: str) -> None:
    assert placed("rr", resource) == expected


def test_equals_take_turns_and_the_end_of_one_frees_its_share_for_all() -> None:
    assert wire("rr", "A3:image B3:document C1:script") == "ABCABAB"


def test_a_newcomer_joins_within_one_round() -> None:
    assert Wire("rr", "A9:image B9:image").send(4).add("C9:document").next(6) == "ABCABC"
    assert Wire("rr", "A9:image B9:image").send(5).add("C9:document").next(6) == "BABCAB"


def test_weights_2_to_1_give_two_packets_to_one() -> None:
    assert wire("wrr", "A6:font B3:image") == "AABAABAAB"


def test_weights_3_to_2_give_three_packets_to_two() -> None:
    assert Wire("wrr", "A99:script B99:font").send(10).out == "ABAABABAAB"


def test_a_heavy_newcomer_does_not_interrupt_but_gets_its_share_from_the_next_turns_on() -> None:
    # Four images at 32 (units of a packet over 256) each; A has been served when E comes, at 33.
    line = Wire("wrr", "A9:image B9:image C9:image D9:image").send(1).add("E999:document")
    assert line.next(3 + 31 + 4 + 32 + 4) == "BCD" + "E" * 31 + "ABCD" + "E" * 32 + "ABCD"


def test_a_light_newcomer_waits_for_its_share() -> None:
    out = Wire("wrr", "A999:document").send(10).add("B9:image").next(33 + 33)
    assert out == "A" * 32 + "B" + "A" * 32 + "B"


def test_a_blocked_stream_leaves_its_share_to_the_others_and_keeps_no_credit() -> None:
    line = Wire("rr", "A99:image B99:image C99:image").send(3).pause("B")
    assert line.next(6) == "ACACAC"
    assert line.resume("B").next(6) in {"ABCABC", "ACBACB"}


@pytest.mark.parametrize("spec", ["rr", "wrr"])
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=6),
    sizes=st.lists(st.integers(1, 1400), min_size=1, max_size=7),
)
def test_bytes_are_shared_by_weight_at_every_moment(spec: str, kinds: list[str], sizes: list[int]) -> None:
    scheduler, sent = create(spec), Counter[int]()
    weights = {4 * index: place(spec, 4 * index, kind) for index, kind in enumerate(kinds)}
    for stream_id, weight in weights.items():
        scheduler.open(stream_id, weight)
    for step in range(400):
        stream_id = scheduler.pick()
        assert stream_id is not None
        size_bytes = sizes[step % len(sizes)]
        scheduler.sent(stream_id, size_bytes)
        sent[stream_id] += size_bytes
        for one, other in combinations(weights, 2):
            # Fair queueing's bound: normalized service differs by one packet each.
            difference = abs(sent[one] * weights[other] - sent[other] * weights[one])
            assert difference <= 1400 * (weights[one] + weights[other])
