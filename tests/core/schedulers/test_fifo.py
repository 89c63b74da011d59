"""`fifo` and `dfifo`."""

from __future__ import annotations

import pytest

from tests.core.schedulers.dfifo_table import DFIFO, HIGH, HIGHEST, LOW, LOWEST, NORMAL
from tests.core.schedulers.marx_rows import every_row
from tests.core.schedulers.wire import Wire, placed, placed_blindly, wire


@every_row(DFIFO)
def test_levels_of_dfifo(resource: str, expected: str) -> None:
    assert placed("dfifo", resource) == expected


@pytest.mark.parametrize("resource", ["svg", "svg+hero"])
def test_an_svg_can_be_an_image_too(resource: str) -> None:
    assert placed("dfifo:svg=image", resource) == LOW


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("document@VeryHigh", HIGHEST),
        ("stylesheet@VeryHigh", HIGHEST),
        ("stylesheet@VeryLow", HIGHEST),
        ("font@High", HIGHEST),
        ("script@High", HIGH),
        ("script@Medium", NORMAL),
        ("script@Low", LOW),
        ("xhr@High", HIGH),
        ("image@High", LOW),
        ("image@Low", LOW),
        ("media@Low", LOWEST),
        ("other@Low", LOWEST),
    ],
)
def test_without_a_manifest_chromiums_priority_tells_scripts_apart(resource: str, expected: str) -> None:
    assert placed_blindly("dfifo", resource) == expected


def test_fifo_sends_one_response_after_another_in_order_of_request() -> None:
    assert wire("fifo", "A3:image B2:document C1:font") == "AAABBC"


def test_nothing_interrupts_fifo() -> None:
    assert Wire("fifo", "A3:image").send(1).add("B2:document").send().out == "AAABB"


def test_a_blocked_response_yields_and_goes_on_when_it_can() -> None:
    assert Wire("fifo", "A3:image B3:image").send(1).pause("A").send(1).resume("A").send().out == "ABAABB"


def test_dfifo_sends_levels_in_order_and_requests_in_order_inside_one() -> None:
    script = "A2:image B2:script C2:stylesheet D1:document E1:other F1:xhr G1:script+after_first_image H1:script+async"
    assert wire("dfifo", script) == "CCDBBFGAAHE"


def test_a_better_response_interrupts_at_the_next_packet_and_the_other_is_resumed() -> None:
    assert Wire("dfifo", "A3:image B2:image").send(1).add("C2:stylesheet").send().out == "ACCAABB"


def test_an_equal_newcomer_waits() -> None:
    assert Wire("dfifo", "A3:font").send(1).add("B1:document").send().out == "AAAB"


def test_nothing_low_slips_above_what_came_when_a_better_response_had_just_ended() -> None:
    # The published code still inserted below the finished response for 500 ms.
    assert Wire("dfifo", "A1:stylesheet").send().add("B2:image").add("C2:script D2:image").send().out == "ACCBBDD"


def test_a_blocked_level_yields_to_the_next_one() -> None:
    assert Wire("dfifo", "A2:font B3:image").pause("A").send(1).resume("A").send().out == "BAABB"
