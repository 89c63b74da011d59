"""A closed connection's last packet is said again to those who missed it, but not for ever and not to everybody."""

from __future__ import annotations

from mixedsched.world.server._connections import KEPT_S, MAX_KEPT, ClosedConnections

GOODBYE = b"goodbye" * 5


def test_the_1st_2nd_4th_and_8th_packet_are_answered() -> None:
    closed = ClosedConnections()
    closed.remember([b"a", b"b"], GOODBYE, 0.0)
    answers = [closed.answer(b"ab"[place % 2 : place % 2 + 1], 1200, 0.1) for place in range(9)]
    assert [place + 1 for place, answer in enumerate(answers) if answer == GOODBYE] == [1, 2, 4, 8]


def test_nobody_else_is_answered() -> None:
    closed = ClosedConnections()
    closed.remember([b"a"], GOODBYE, 0.0)
    assert closed.answer(b"c", 1200, 0.1) is None


def test_an_answer_is_at_most_three_times_its_question() -> None:
    closed = ClosedConnections()
    closed.remember([b"a"], GOODBYE, 0.0)
    assert closed.answer(b"a", len(GOODBYE) // 4, 0.1) is None


def test_closed_are_forgotten_in_time_and_bounded() -> None:
    closed = ClosedConnections()
    closed.remember([b"a"], GOODBYE, 0.0)
    assert closed.answer(b"a", 1200, KEPT_S) is None
    for number in range(2 * MAX_KEPT):
        closed.remember([number.to_bytes(8, "big")], GOODBYE, 1.0)
    assert len(closed) == MAX_KEPT
    closed.remember([b"z"], GOODBYE, 1.0 + KEPT_S)
    assert len(closed) == 1
