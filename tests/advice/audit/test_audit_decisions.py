"""Screening, budget and verdict: decisions that are pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.audit._screening import Changes, screen
from mixedsched.advice.audit.budget import blocks_wanted, more_blocks, plan_measuring
from mixedsched.advice.audit.result import AuditVerdict, best_contender, family_effects, outcome_of
from mixedsched.advice.changes.change import Action, Change
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Comparison, Verdict
from mixedsched.lab.costs import BLOCKS_MOST
from mixedsched.lab.model import Arm, Run, RunStatus
from mixedsched.lab.plan import make_plan

NAMES = ("a", "b", "c", "d")
CHANGES = {name: Change(Action.LAZY, ((0, f"/{name}"),), "") for name in NAMES}


class Model:
    """A page on which every change shortens, or lengthens, the largest paint by so much; some only in company."""

    def __init__(self, gains: Mapping[frozenset[str], float]) -> None:
        self.gains = gains
        self.asked: list[Changes] = []

    def __call__(self, sets: Sequence[Changes]) -> list[dict[str, PaintEstimate]]:
        self.asked += sets
        return [{"net": PaintEstimate(500.0, 1000.0 - self._gain(changes), 0.0)} for changes in sets]

    def _gain(self, changes: Changes) -> float:
        names = {change.targets[0][1].lstrip("/") for change in changes}
        return sum(gain for needed, gain in self.gains.items() if needed <= names)


def gains(**single: float) -> dict[frozenset[str], float]:
    return {frozenset({name}): gain for name, gain in single.items()}


def test_helpful_changes_join_harmful_and_idle_ones_do_not() -> None:
    found = screen([CHANGES[name] for name in NAMES], Model(gains(a=100, b=200, c=-50, d=0)))
    assert found.best.changes == (CHANGES["b"], CHANGES["a"])
    assert [item.changes[0] for item in found.singles] == [CHANGES[name] for name in "badc"]


def test_a_change_that_another_makes_idle_leaves() -> None:
    overlap = {**gains(a=200, b=150), frozenset("ab"): -150.0}
    assert screen([CHANGES["a"], CHANGES["b"]], Model(overlap)).best.changes == (CHANGES["a"],)


def test_a_change_that_harms_alone_may_join_where_it_helps_in_company() -> None:
    company = {**gains(a=200, b=-20), frozenset("ab"): 100.0}
    assert screen([CHANGES["b"], CHANGES["a"]], Model(company)).best.changes == (CHANGES["a"], CHANGES["b"])


def test_where_nothing_helps_the_best_set_is_none() -> None:
    found = screen(list(CHANGES.values()), Model(gains(a=-10, b=0)))
    assert found.best.changes == ()
    assert found.simpler == ()
    assert screen([], Model({})).singles == ()


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(-300, 200), min_size=1))
def test_the_best_set_is_never_worse_than_any_single_change(single: dict[str, int]) -> None:
    candidates = [CHANGES[name] for name in single]
    found = screen(candidates, Model(gains(**single)))
    best_ms = found.best.paints["net"].lcp_ms
    assert best_ms <= min(1000.0, *(item.paints["net"].lcp_ms for item in found.singles)) * 1.01
    assert set(found.best.changes) == {CHANGES[name] for name, gain in single.items() if gain > 10} or any(
        5 >= gain / 10 > 0 for gain in single.values()
    )


COSTS_S = {"4g": 12.0, "slow-4g": 18.0}


def test_ten_minutes_decide_on_one_contender_over_two_networks() -> None:
    plan = plan_measuring(560.0, COSTS_S, available=2)
    assert plan.contenders == 1
    assert plan.blocks >= blocks_wanted(1, 2)


def test_more_time_is_for_more_contenders_then_for_more_blocks() -> None:
    assert plan_measuring(2000.0, COSTS_S, available=2).contenders == 2
    assert plan_measuring(1e6, COSTS_S, available=2).blocks == BLOCKS_MOST


def test_contenders_of_an_earlier_start_stay_with_more_time_or_less() -> None:
    """With others it would be another experiment, and what was measured would not count."""
    for left_s in (100.0, 2000.0):
        for begun in (1, 2):
            assert plan_measuring(left_s, COSTS_S, available=2, begun=begun).contenders == begun
    assert plan_measuring(1000.0, COSTS_S, available=2, begun=1).blocks > plan_measuring(1000.0, COSTS_S, 2).blocks


@given(st.floats(-100, 1e5), st.integers(0, 4), st.floats(5, 60))
def test_a_plan_has_a_block_and_fits_into_the_time(left_s: float, available: int, cost_s: float) -> None:
    plan = plan_measuring(left_s, {"net": cost_s}, available)
    assert plan.blocks >= 1
    assert plan.contenders <= available
    assert plan.blocks == 1 or plan.blocks * (plan.contenders + 1) * cost_s <= left_s


def test_time_that_is_left_is_for_more_blocks() -> None:
    assert more_blocks(100.0, [10.0, 10.0], arms=2, planned=5) == 4
    assert more_blocks(1e6, [10.0], arms=2, planned=BLOCKS_MOST - 3) == 3
    assert more_blocks(20.0, [10.0], arms=2, planned=5) == 0
    assert more_blocks(-5.0, [10.0], arms=2, planned=5) == 0
    assert more_blocks(100.0, [], arms=2, planned=5) == 0


def measured(ratios: Sequence[float]) -> Comparison:
    """A comparison whose second arm has these ratios of the largest paint, a block each."""
    return measured_arms({"changed": ratios})


def measured_arms(ratios: Mapping[str, Sequence[float]]) -> Comparison:
    """The same of several arms beside today's page, all with as many blocks."""
    arms = {"today": [1.0] * max(map(len, ratios.values())), **ratios}
    plan = make_plan(
        site="s", site_digest="d", link="l", link_facts={}, form_factor="mobile", arms=[Arm(arm, "eps") for arm in arms],
        baseline="today", primary=("lcp_ms",), seed=1, blocks=max(1, len(arms["today"])),
    )  # fmt: skip
    runs = [
        Run(index, 1, arm, 0, RunStatus.OK, page_load={"metrics": {"lcp_ms": 1000.0 * ratio}})
        for arm, of_arm in arms.items()
        for index, ratio in enumerate(of_arm, start=1)
    ]
    return analyse(plan, runs)


CLEAR = (0.80, 0.81, 0.79, 0.82, 0.78, 0.80, 0.83)


def outcome(**by_network: Sequence[float]) -> AuditVerdict:
    effects = family_effects({name: measured(ratios) for name, ratios in by_network.items()})
    return outcome_of(effects, "changed", promises=True)


def test_a_gain_on_one_network_and_no_loss_is_improvable() -> None:
    assert outcome(a=CLEAR, b=[1.001, 0.999, 1.002, 0.998, 1.0, 1.001, 0.999]) is AuditVerdict.IMPROVABLE


def test_a_gain_here_and_a_loss_there_is_mixed() -> None:
    assert outcome(a=CLEAR, b=[1 / ratio for ratio in CLEAR]) is AuditVerdict.MIXED


def test_a_loss_or_no_difference_means_that_today_is_good() -> None:
    assert outcome(a=[1 / ratio for ratio in CLEAR]) is AuditVerdict.GOOD
    assert outcome(a=[1.0] * 7, b=[1.001] * 7) is AuditVerdict.GOOD


def test_few_blocks_leave_it_open_and_say_how_many_more() -> None:
    effects = family_effects({"a": measured(CLEAR[:3])})
    assert outcome_of(effects, "changed", promises=True) is AuditVerdict.OPEN
    assert outcome_of(effects, "changed", promises=False) is AuditVerdict.GOOD
    assert effects["a"][0].more_blocks


def test_no_block_at_all_is_unmeasured() -> None:
    assert outcome(a=[]) is AuditVerdict.UNMEASURED


def test_the_family_is_all_networks_together() -> None:
    """Six blocks decide on one network; on two, p is doubled, and they do not."""
    assert family_effects({"a": measured(CLEAR[:6])})["a"][0].verdict is Verdict.BETTER
    assert family_effects({"a": measured(CLEAR[:6]), "b": measured([1.0] * 6)})["a"][0].verdict is Verdict.UNDECIDED


def test_what_so_many_blocks_could_find_is_told_for_the_family() -> None:
    (alone,), (effect,) = (
        family_effects(family)["a"] for family in ({"a": measured(GAIN)}, {"a": measured(GAIN), "b": measured(GAIN)})
    )
    assert alone.detectable is not None
    assert effect.detectable is not None
    assert effect.detectable > alone.detectable > 0


def test_how_many_blocks_are_needed_is_told_for_the_family() -> None:
    few = family_effects({name: measured(CLEAR[:3]) for name in "ab"})["a"][0]
    assert few.note == "3 blocks cannot decide anything: a 95 % interval needs 6, better or worse 7 here"
    lacking = family_effects({"a": measured([*CLEAR[:3], 0.0]), "b": measured(CLEAR[:4])})["a"][0]
    assert lacking.note == f"1 of 4 blocks lack a usable value and were left out; {few.note}"


def test_what_the_family_does_not_support_is_not_called_real() -> None:
    small = [0.990, 0.991, 0.989, 0.992, 0.988, 0.990]
    assert "the change is real" in family_effects({"a": measured(small)})["a"][0].note
    effect = family_effects({"a": measured(small), "b": measured([1.0] * 6)})["a"][0]
    assert (effect.verdict, effect.note) == (Verdict.EQUIVALENT, "")


def test_a_confirmed_contender_is_preferred_to_a_larger_guess() -> None:
    effects = family_effects({"a": measured(CLEAR)})
    assert best_contender(effects, ["not measured", "changed"]) == "changed"
    assert best_contender(effects, ["not measured"]) == "not measured"
    assert best_contender({}, []) is None


GAIN = (*CLEAR, *CLEAR)  # enough blocks for four questions
HARM, EQUAL = [1 / ratio for ratio in GAIN], [1.0] * len(GAIN)
NOISE = [ratio if place % 2 else 1 / ratio for place, ratio in enumerate(GAIN)]


def of_two(network: str, first: Sequence[float], second: Sequence[float]) -> dict[str, Comparison]:
    """A network on which two contenders have these ratios of the largest paint."""
    return {network: measured_arms({"first": first, "second": second})}


def test_a_page_is_called_good_only_if_it_is_against_every_contender() -> None:
    """Though the one that simulation thinks best is of no use: the other gains here, or may still gain."""
    mixed = family_effects({**of_two("a", EQUAL, GAIN), **of_two("b", EQUAL, HARM)})
    assert best_contender(mixed, ["first", "second"]) == "second"
    assert outcome_of(mixed, "second", promises=False) is AuditVerdict.MIXED
    undecided = family_effects(of_two("a", EQUAL, NOISE))
    assert best_contender(undecided, ["first", "second"], promising={"first", "second"}) == "second"
    assert best_contender(undecided, ["first", "second"], promising={"first"}) == "first", (
        "nothing speaks for the other"
    )
    settled = family_effects(of_two("a", HARM, EQUAL))
    assert best_contender(settled, ["first", "second"], promising={"first", "second"}) == "first"


@pytest.mark.parametrize("contenders", [1, 2, 3])
def test_fewer_blocks_than_wanted_cannot_decide(contenders: int) -> None:
    least = blocks_wanted(contenders, 2)
    assert 2 / 2**least * contenders * 2 < 0.05 <= 2 / 2 ** (least - 1) * contenders * 2
