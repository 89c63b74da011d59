"""Shares of the time: a proof that can decide comes first, then a search, then a race."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.tuner.job import SEARCH_LEAST_S, deciding_blocks, least_budget_s, proof_arms, share_out
from mixedsched.lab.costs import START_S, fitting_blocks

ONE_LOOK_S = START_S + 15


def test_ten_minutes_with_loads_of_fifteen_seconds_come_to_a_proof_that_decides_with_time_to_spare() -> None:
    costs = {"slow-4g": 15.0}
    shares = share_out(600 - ONE_LOOK_S, costs, arms=6, budget_s=600)
    assert (shares.laps, shares.arms) == (2, 4)
    assert shares.search_s >= 60
    arms = proof_arms(shares.proof_s, costs, least=3, available=5)
    assert arms == 3
    assert fitting_blocks(shares.proof_s, costs, arms) == 8 > deciding_blocks(1)


def test_twelve_minutes_have_an_arm_more_for_what_is_shipped() -> None:
    costs = {"slow-4g": 15.0}
    shares = share_out(720 - ONE_LOOK_S, costs, arms=6, budget_s=720)
    arms = proof_arms(shares.proof_s, costs, least=3, available=5)
    assert arms == 4
    assert fitting_blocks(shares.proof_s, costs, arms) >= 6


def test_the_search_yields_to_a_proof_whose_loads_take_longer_than_the_look() -> None:
    costs = {"slow-4g": 36.0}
    shares = share_out(840 - START_S - 36, costs, arms=6, budget_s=840)
    assert 0.4 * 84 < shares.search_s < 84
    assert shares.laps == 0
    assert fitting_blocks(shares.proof_s, {"slow-4g": 36.0 * 1.14}, 3) == 6
    less = share_out(500 - START_S - 36, costs, arms=6, budget_s=500)
    assert less.search_s == pytest.approx(50), "where the proof cannot decide anyway, the search keeps its share"


def test_slow_loads_leave_no_time_for_a_race_but_the_proof_decides() -> None:
    costs = {"sander-loss2": 26.0}
    shares = share_out(600 - START_S - 26, costs, arms=6, budget_s=600)
    assert shares.laps == 0
    assert fitting_blocks(shares.proof_s, costs, proof_arms(shares.proof_s, costs, 3, 5)) >= 6


def test_much_time_makes_all_larger() -> None:
    costs = {"slow-4g": 15.0}
    shares = share_out(3600 - ONE_LOOK_S, costs, arms=7, budget_s=3600)
    assert shares.arms == 7
    assert shares.laps >= 4
    assert shares.search_s > 400
    assert fitting_blocks(shares.proof_s, costs, proof_arms(shares.proof_s, costs, 3, 5)) == 20


def test_two_networks_need_a_block_more() -> None:
    assert deciding_blocks(2) == 7


@given(left_s=st.floats(10, 20_000), costs=st.lists(st.floats(1, 60), min_size=1, max_size=4), arms=st.integers(2, 8))
def test_shares_are_never_more_than_there_is_unless_next_to_nothing_is_left(
    left_s: float, costs: list[float], arms: int
) -> None:
    by_network = {f"network {index}": cost for index, cost in enumerate(costs)}
    shares = share_out(left_s, by_network, arms, left_s)
    race_s = shares.laps * shares.arms * sum(costs)
    assert shares.search_s + race_s + shares.proof_s <= left_s + 1e-6
    assert shares.search_s >= SEARCH_LEAST_S
    assert shares.arms <= arms
    if shares.laps:  # a race never takes the loads of a proof that can decide
        needed_s = deciding_blocks(len(costs)) * 3 * sum(costs) + START_S * len(costs)
        assert shares.proof_s >= needed_s - 1e-6


@given(left_s=st.floats(-10, 5000), cost=st.floats(1, 60), least=st.integers(2, 3), more=st.integers(0, 4))
def test_a_proof_has_its_least_arms_and_a_block_and_more_arms_only_where_it_can_decide(
    left_s: float, cost: float, least: int, more: int
) -> None:
    costs = {"slow": cost}
    arms = proof_arms(left_s, costs, least, least + more)
    assert least <= arms <= least + more
    blocks = fitting_blocks(left_s, costs, arms)
    assert blocks >= 1
    if arms > least:
        assert blocks >= deciding_blocks(1)


def test_the_least_budget_grows_with_networks_and_loads() -> None:
    assert least_budget_s({"a": 2.0}, 8.0, 0.0) == pytest.approx(12 + 40 + SEARCH_LEAST_S)
    assert least_budget_s({"a": 2.0, "b": 2.0}, 8.0, 10.0) == pytest.approx(2 * 52 + 10)
