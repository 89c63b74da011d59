"""Weighted fair queueing, against the rule written down with fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.schedulers._fair import WeightedFair
from tests.examples import examples

PACKET_BYTES = 1400


class NaiveFair:
    """The rule: the smallest virtual time goes next, ties by number; all is searched, and nothing is kept in order."""

    def __init__(self, by_packets: bool = False) -> None:
        self.by_packets = by_packets
        self.now = Fraction(0)
        self.times: dict[int, Fraction] = {}
        self.weights: dict[int, int] = {}

    def __contains__(self, member: int) -> bool:
        return member in self.times

    def enter(self, member: int, weight: int) -> None:
        self.weights[member] = weight
        self.times[member] = self.now + Fraction(PACKET_BYTES, weight)

    def leave(self, member: int) -> None:
        del self.times[member]

    def set_weight(self, member: int, weight: int) -> None:
        self.weights[member] = weight

    def first(self) -> int | None:
        return min(self.times, key=lambda member: (self.times[member], member), default=None)

    def sent(self, member: int, size_bytes: int) -> None:
        if member not in self.times:
            return
        if member == self.first():
            self.now = self.times[member]
        self.times[member] += Fraction(PACKET_BYTES if self.by_packets else size_bytes, self.weights[member])


def served(weights: dict[int, int], packets: int) -> str:
    """The order in which so many packets of these members go: 0 is A, 1 is B."""
    fair, out = WeightedFair(), ""
    for member, weight in weights.items():
        fair.enter(member, weight)
    for _ in range(packets):
        member = fair.first()
        assert member is not None
        out += chr(65 + member)
        fair.sent(member, PACKET_BYTES)
    return out


def test_weights_128_and_64_give_two_packets_to_one() -> None:
    assert served({0: 128, 1: 64}, 9) == "AABAABAAB"
    assert served({0: 64, 1: 128}, 9) == "BABBABBAB"  # at a tie the lower number goes first


def test_equal_weights_are_turns_in_order_of_number_whatever_the_order_of_entry() -> None:
    assert served({2: 16, 0: 16, 1: 16}, 6) == "ABCABC"


def test_shares_are_exact_over_a_period() -> None:
    assert Counter(served({0: 201, 1: 101, 2: 1}, 303 * 2)) == {"A": 402, "B": 202, "C": 2}


def test_a_newcomer_of_weight_1_waits_for_256_packets_of_one_of_weight_256() -> None:
    assert served({0: 256, 1: 1}, 256 + 2) == "A" * 256 + "B" + "A"


def test_bytes_count_unless_packets_do() -> None:
    for by_packets, expected in ((False, "ABAABA"), (True, "ABABAB")):
        fair, out = WeightedFair(by_packets=by_packets), ""
        for member in range(2):
            fair.enter(member, 16)
        for _ in range(6):
            member = fair.first()
            assert member is not None
            out += "AB"[member]
            fair.sent(member, 700 if member == 0 else 1400)
        assert out == expected


def test_who_comes_back_has_neither_credit_nor_debt() -> None:
    fair = WeightedFair()
    for member in (0, 1):
        fair.enter(member, 16)
    fair.leave(1)
    for _ in range(50):
        fair.sent(0, PACKET_BYTES)
    fair.enter(1, 16)
    out = ""
    for _ in range(6):
        member = fair.first()
        assert member is not None
        out += "AB"[member]
        fair.sent(member, PACKET_BYTES)
    assert out == "ABABAB"


def test_a_changed_weight_counts_from_the_next_turn() -> None:
    fair = WeightedFair()
    fair.enter(0, 256)
    fair.enter(1, 1)
    fair.set_weight(1, 256)
    fair.set_weight(0, 1)
    assert fair.first() == 0
    fair.sent(0, PACKET_BYTES)  # from 1 to 257, and the other one still waits for 256
    out = ""
    for _ in range(4):
        member = fair.first()
        assert member is not None
        out += "AB"[member]
        fair.sent(member, PACKET_BYTES)
    assert out == "BABB"


steps = st.lists(
    st.tuples(
        st.sampled_from(["toggle", "toggle", "weigh", "serve", "serve", "serve", "charge", "look"]),
        st.integers(-3, 5),
        st.integers(1, 256),
        st.integers(0, 3000),
    ),
    min_size=15,
    max_size=120,
)


@pytest.mark.parametrize("by_packets", [False, True])
@examples(150)
@given(steps)
def test_any_history_is_that_of_the_rule(by_packets: bool, history: list[tuple[str, int, int, int]]) -> None:
    """Looking is a step of its own here: whether anybody has looked makes no difference to what comes later."""
    fair, naive = WeightedFair(by_packets=by_packets), NaiveFair(by_packets)
    for step, member, weight, size_bytes in history:
        if step == "toggle" and member in naive:
            fair.leave(member)
            naive.leave(member)
        elif step == "toggle":
            fair.enter(member, weight)
            naive.enter(member, weight)
        elif step == "weigh" and member in naive:
            fair.set_weight(member, weight)
            naive.set_weight(member, weight)
        elif step == "charge" or (step == "serve" and naive.times):
            first = naive.first() if step == "serve" else member
            assert first is not None
            fair.sent(first, size_bytes)
            naive.sent(first, size_bytes)
        elif step == "look":
            assert fair.first() == naive.first()
        assert len(fair) == len(naive.times)
    for _ in range(20):
        first = naive.first()
        assert fair.first() == first
        if first is None:
            break
        fair.sent(first, PACKET_BYTES)
        naive.sent(first, PACKET_BYTES)
