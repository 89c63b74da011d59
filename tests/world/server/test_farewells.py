"""A closed connection's last packet is said again to those who missed it, but not for ever and not to everybody."""

from __future__ import annotations

from mixedsched.world.server.farewells import KEPT_S, MAX_KEPT, Farewells

GOODBYE = b"goodbye" * 5


def test_the_1st_2nd_4th_and_8th_packet_are_answered() -> None:
    farewells = Farewells()
    farewells.keep([b"a", b"b"], GOODBYE, 0.0)
    answers = [farewells.answer(b"ab"[place % 2 : place % 2 + 1], 1200, 0.1) for place in range(9)]
    assert [place + 1 for place, answer in enumerate(answers) if answer == GOODBYE] == [1, 2, 4, 8]


def test_nobody_else_is_answered() -> None:
    farewells = Farewells()
    farewells.keep([b"a"], GOODBYE, 0.0)
    assert farewells.answer(b"c", 1200, 0.1) is None


def test_an_answer_is_at_most_three_times_its_question() -> None:
    farewells = Farewells()
    farewells.keep([b"a"], GOODBYE, 0.0)
    assert farewells.answer(b"a", len(GOODBYE) // 4, 0.1) is None


def test_farewells_are_forgotten_in_time_and_bounded() -> None:
    farewells = Farewells()
    farewells.keep([b"a"], GOODBYE, 0.0)
    assert farewells.answer(b"a", 1200, KEPT_S) is None
    for number in range(2 * MAX_KEPT):
        farewells.keep([number.to_bytes(8, "big")], GOODBYE, 1.0)
    assert len(farewells) == MAX_KEPT
    farewells.keep([b"z"], GOODBYE, 1.0 + KEPT_S)
    assert len(farewells) == 1
