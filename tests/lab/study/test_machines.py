"""Machines agree where only noise tells them apart, a broken one is found, and a slow but steady one may go on."""

import math
import random
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.lab.study.machines import BLOCKS_JUDGED, SelfPair, machine_factor, why_quarantine

EFFECTS = {("shop", "4g"): (0.1, -0.2), ("blog", "4g"): (0.02, 0.3)}  # of two arms


def measured(
    bias: dict[str, float], blocks: int = 12, noise: float = 0.02, seed: int = 1, effects: Mapping = EFFECTS
) -> dict:
    """Blocks of each place by as many machines. All arms of a block are compared with the same load of the baseline."""
    rng = random.Random(seed)

    def block(shift: float, arms: tuple[float, ...]) -> list[float]:
        baseline = rng.gauss(0, noise)
        return [effect + shift + rng.gauss(0, noise) - baseline for effect in arms]

    return {
        place: [(name, block(shift, arms)) for name, shift in bias.items() for _ in range(blocks)]
        for place, arms in effects.items()
    }


def steady(count: int, value: float = 1000.0, noise: float = 0.01, seed: int = 2) -> list[SelfPair]:
    rng = random.Random(seed)
    return [
        SelfPair(value * math.exp(rng.gauss(0, noise)), value * math.exp(rng.gauss(0, noise))) for _ in range(count)
    ]


class TestTheFactor:
    def test_machines_that_measure_the_same_effects_agree(self) -> None:
        assert machine_factor(measured({"a": 0.0, "b": 0.0, "c": 0.0})).agree

    def test_false_alarms_are_as_rare_as_the_level_says(self) -> None:
        alarms = sum(not machine_factor(measured({"a": 0.0, "b": 0.0}, seed=seed)).agree for seed in range(300))
        assert alarms <= 11  # more than 1 in 100 has a chance of 0.03 %

    def test_many_arms_are_no_more_evidence_as_they_share_the_load_of_the_baseline(self) -> None:
        six = dict.fromkeys(EFFECTS, (0.0,) * 6)
        found = [machine_factor(measured({"a": 0.0, "b": 0.0}, seed=seed, effects=six)) for seed in range(300)]
        assert sum(not item.agree for item in found) <= 11
        assert {machine.blocks for item in found for machine in item.machines} == {24}

    def test_an_arm_without_a_value_leaves_its_block_to_the_others(self) -> None:
        steps = measured({"a": 0.0, "b": 0.0})
        whole = machine_factor({place: [(name, [block[0]]) for name, block in own] for place, own in steps.items()})
        half = machine_factor(
            {place: [(name, [block[0], math.nan]) for name, block in own] for place, own in steps.items()}
        )
        none = machine_factor({place: [(name, [math.nan]) for name, _ in own] for place, own in steps.items()})
        assert half == whole
        assert [item.blocks for item in none.machines] == [0, 0]

    def test_a_machine_with_other_effects_is_named_with_its_shift(self) -> None:
        found = machine_factor(measured({"a": 0.0, "b": 0.0, "bad": 0.15}))
        assert not found.agree
        shifts = {item.machine: item for item in found.machines}
        low, high = shifts["bad"].low_pct, shifts["bad"].high_pct
        assert low is not None
        assert high is not None
        assert 5 < low < shifts["bad"].shift_pct < high

    def test_a_single_machine_agrees_with_itself(self) -> None:
        found = machine_factor(measured({"a": 0.0}))
        assert (found.p, found.agree, found.machines[0].blocks) == (None, True, 0)

    @given(st.permutations(list(EFFECTS)))
    def test_the_order_of_places_makes_no_difference(self, order: list[tuple[str, str]]) -> None:
        steps = measured({"a": 0.0, "b": 0.05})
        assert machine_factor({name: steps[name] for name in order}).to_dict() == machine_factor(steps).to_dict()

    def test_a_machine_that_worked_on_places_of_its_own_cannot_be_compared(self) -> None:
        found = machine_factor({("shop", "4g"): [("a", [0.1])] * 8, ("blog", "4g"): [("b", [0.9])] * 8})
        assert found.p is None


class TestQuarantine:
    def test_a_steady_machine_goes_on(self) -> None:
        assert why_quarantine(steady(3), steady(9, seed=3), [True] * 20) == ""

    def test_a_slow_machine_goes_on_as_pairs_do_not_mind(self) -> None:
        assert why_quarantine(steady(3, 9000.0), steady(6, 9000.0, seed=3), [True] * 9) == ""

    def test_one_that_differs_from_itself_does_not_begin(self) -> None:
        assert "differs from itself" in why_quarantine([SelfPair(1000, 1300 + n) for n in range(3)], [], [])

    def test_one_that_has_become_slower_stops(self) -> None:
        assert "slower" in why_quarantine(steady(3), steady(6, 1400.0), [True] * 10)

    def test_one_whose_blocks_fail_stops(self) -> None:
        assert "failed" in why_quarantine(steady(3), [], [True] * 4 + [False] * 6)

    def test_a_few_failures_are_forgiven(self) -> None:
        assert why_quarantine([], [], [False] * (BLOCKS_JUDGED - 1)) == ""
        assert why_quarantine([], [], [True, False] * 8) == ""

    @given(st.lists(st.floats(1.0, 1e5), min_size=1, max_size=8))
    def test_what_never_changes_is_no_reason(self, values: list[float]) -> None:
        pairs = [SelfPair(values[0], values[0])] * len(values)
        assert why_quarantine(pairs, pairs, [True] * len(values)) == ""
