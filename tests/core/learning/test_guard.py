import math
import random

import numpy as np
import pytest

from mixedsched.core.learning.guard import MAX_ARMS, MAX_NUMBER, OrderGuard, Outcomes, is_left
from mixedsched.core.learning.plan import SAFE


def noted(order_ms: float, safe_ms: float, visits: int = 4) -> OrderGuard:
    guard = OrderGuard()
    for number in range(visits):
        guard.note(SAFE, 0, safe_ms, safe_ms + number % 2)
        guard.note("new", 0, safe_ms, order_ms + number % 2)
    return guard


def test_an_order_that_is_later_than_the_safe_one_by_more_than_two_per_cent_is_left_and_that_is_said() -> None:
    guard = noted(1100, 1000)
    assert guard.judge(["new"]) == ["new"]
    assert "later than by the safe order" in guard.left["new"]
    assert guard.settled(["new"]) == SAFE
    assert all(guard.choose(["new"], random.Random(seed)) == SAFE for seed in range(50))


@pytest.mark.parametrize("order_ms", [700, 1000, 1010])
def test_one_that_is_not_stays(order_ms: float) -> None:
    guard = noted(order_ms, 1000)
    assert guard.judge(["new"]) == []
    assert guard.settled(["new"]) == "new"


def test_one_that_is_left_for_its_first_paint_takes_those_of_its_document_along() -> None:
    guard = OrderGuard()
    for number in range(4):
        guard.note(SAFE, 0, 1000 + number % 2, 3000)
        guard.note("head/value", 0, 1100 + number % 2, 2000)
    assert guard.judge(["head/value", "head/request", "needed/value"]) == ["head/value"]
    assert guard.left["head/value"].startswith("the first paint came 10.")
    assert is_left("head/request", guard.left)
    assert guard.settled(["head/value", "head/request"]) == SAFE
    assert guard.settled(["head/value", "head/request", "needed/value"]) == "needed/value"


def test_one_that_is_left_for_its_largest_paint_goes_alone() -> None:
    left = {"needed/value": "the largest paint came 9.0 % later than by the safe order"}
    assert is_left("needed/value", left)
    assert not is_left("needed/request", left)


def test_two_visits_say_nothing_yet() -> None:
    assert noted(9000, 1000, visits=2).judge(["new"]) == []


def test_a_new_order_gets_half_of_the_visits_at_most_until_it_is_tried() -> None:
    rng = random.Random(1)
    chosen = [OrderGuard().choose(["new", "other"], rng) for _ in range(1000)]
    assert 400 < chosen.count("new") < 600
    assert chosen.count("other") == 0


def test_classes_of_networks_are_not_mixed_up() -> None:
    guard = OrderGuard()
    for _ in range(6):
        guard.note(SAFE, 0, 100, 100)
        guard.note("new", 1, 9000, 9000)
    assert guard.judge(["new"]) == []


@pytest.mark.parametrize("visits", [12, 500, 1000])
def test_the_standard_error_is_that_of_the_difference(visits: int) -> None:
    rng, series = np.random.default_rng(5), 300
    differences, variances = [], []
    for drawn in np.exp(rng.normal(7, 0.1, (series, 2, visits))).tolist():
        guard = OrderGuard()
        for order, paints_ms in zip((SAFE, "new"), drawn, strict=True):
            guard.outcomes[order] = {0: Outcomes()}
            for paint_ms in paints_ms:
                guard.outcomes[order][0].add(paint_ms, paint_ms)
        compared = guard._later("new", "lcp")
        assert compared is not None
        differences.append(compared[0])
        variances.append(compared[1] ** 2)
    told, real = math.sqrt(np.mean(variances)), np.std(differences)
    assert told == pytest.approx(real, rel=3 / math.sqrt(2 * series))  # three standard errors of `real`


def test_many_visits_count_for_what_they_may_at_most() -> None:
    outcomes, numbers = Outcomes(), []
    for _ in range(3000):
        outcomes.add(1000, 1000)
        numbers.append(outcomes.number)
    assert numbers[:250] == list(range(1, 251))
    assert numbers == sorted(numbers)
    assert numbers[-1] == pytest.approx(MAX_NUMBER)


def test_orders_of_strangers_cannot_make_it_grow() -> None:
    guard = OrderGuard()
    for number in range(100):
        guard.note(f"order {number}", 0, 1, 1)
    assert len(guard.outcomes) <= MAX_ARMS


def test_it_is_read_back_as_it_was() -> None:
    guard = noted(1100, 1000)
    guard.judge(["new"])
    assert OrderGuard.from_dict(guard.to_dict()).to_dict() == guard.to_dict()
