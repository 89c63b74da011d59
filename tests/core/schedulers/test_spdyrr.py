"""`spdyrr`: dfifo's levels with turns inside."""

from __future__ import annotations

from tests.core.schedulers.dfifo_table import DFIFO
from tests.core.schedulers.marx_rows import every_row
from tests.core.schedulers.wire import Wire, placed, wire


@every_row(DFIFO)
def test_levels_are_those_of_dfifo(resource: str, expected: str) -> None:
    assert placed("spdyrr", resource) == expected


def test_levels_in_order_and_turns_inside_one() -> None:
    assert wire("spdyrr", "A2:image B3:image C2:script D1:xhr E2:document F1:other") == "EECDCABABBF"


def test_a_better_response_interrupts_and_the_round_goes_on_where_it_was() -> None:
    line = Wire("spdyrr", "A3:image B3:image C3:image").send(1).add("D2:stylesheet")
    assert line.next() == "DDBCABCABC"


def test_a_newcomer_of_the_same_level_has_its_turn_at_the_end_of_the_round() -> None:
    assert Wire("spdyrr", "A9:image B9:image").send(1).add("C9:image").next(5) == "BCABC"
    assert Wire("spdyrr", "A9:image B9:image").send(2).add("C9:image").next(5) == "CABCA"


def test_a_finished_response_frees_its_turn() -> None:
    assert wire("spdyrr", "A1:image B3:image C2:image") == "ABCBCB"


def test_a_blocked_response_keeps_its_place_in_the_round() -> None:
    line = Wire("spdyrr", "A9:image B9:image C9:image").send(1).pause("B").send(1).resume("B")
    assert line.next(5) == "ABCAB"


def test_turns_are_packets_whatever_their_size() -> None:
    line = Wire("spdyrr", "A9:image B9:image")
    assert line.send(1, size_bytes=10).send(1).send(2, size_bytes=10).send(2).out == "ABABAB"


def test_weights_inside_a_level_are_those_of_wrr_when_told_so() -> None:
    out = Wire("spdyrr:inside=wrr", "A99:font B999:stylesheet C9:image").send(16 + 17 + 1).out
    assert out == "B" * 15 + "A" + "B" * 16 + "A" + "B"


def test_but_levels_stay_strict() -> None:
    assert wire("spdyrr:inside=wrr", "A2:image B2:media C2:xhr D2:font") == "DDCCAABB"
