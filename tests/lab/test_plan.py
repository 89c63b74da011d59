"""The plan: decided before the first run, the same for the same arguments, balanced, extendable."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.metrics import PAGE_METRICS, QUICK_METRICS
from mixedsched.errors import UsageError
from mixedsched.lab.model import Arm, Conditions, Plan
from mixedsched.lab.plan import arm_of, arms_of, attempt_seed
from tests.lab.scripted import plan

FIREFOX = Conditions.of("cubic", 1, "provided", "firefox")


def test_a_warm_up_block_comes_first_and_is_marked() -> None:
    blocks = plan(blocks=3).blocks
    assert [block.warm_up for block in blocks] == [True, False, False, False]
    assert [block.index for block in blocks] == [0, 1, 2, 3]


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(2, 5))
def test_every_block_has_every_arm_once_and_a_seed_of_its_own(seed: int, blocks: int, arms: int) -> None:
    labels = "ABCDE"[:arms]
    made = plan(labels, blocks, seed)
    assert all(sorted(block.order) == list(labels) for block in made.blocks)
    assert len({block.link_seed for block in made.blocks}) == blocks + 1


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_orders_are_balanced_over_each_pair_of_blocks(seed: int, pairs: int) -> None:
    analysed = plan(blocks=2 * pairs, seed=seed).blocks[1:]
    assert [block.order[0] for block in analysed].count("A") == pairs


def test_orders_are_random() -> None:
    orders = {tuple(block.order for block in plan(blocks=8, seed=seed).blocks) for seed in range(20)}
    assert len(orders) > 5


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(0, 8))
def test_a_longer_plan_begins_with_the_shorter_one_and_is_the_same_experiment(
    seed: int, blocks: int, more: int
) -> None:
    short, long = plan(blocks=blocks, seed=seed), plan(blocks=blocks + more, seed=seed)
    assert long.blocks[: len(short.blocks)] == short.blocks
    assert long.digest == short.digest


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"site_digest": "e"},
        {"link_facts": {"down": {"rate_bps": 1}}},
        {"form_factor": "desktop"},
        {"primary": ["si_ms"]},
        {"baseline": "B"},
        {"metrics": QUICK_METRICS},
        {"arms": [Arm("A", "A"), Arm("B", "B", None, "other table")]},
    ],
)
def test_whatever_bears_on_results_makes_another_experiment(change: dict[str, Any]) -> None:
    assert plan(**change).digest != plan().digest


@pytest.mark.parametrize("metrics", [PAGE_METRICS, QUICK_METRICS, ("lcp_ms",)])
def test_a_plan_survives_storage(metrics: tuple[str, ...]) -> None:
    made = plan(metrics=metrics)
    read = Plan.from_dict(json.loads(json.dumps(made.to_dict())))
    assert (read, read.digest) == (made, made.digest)


def test_circumstances_make_another_experiment_and_the_usual_ones_are_not_stored() -> None:
    usual = plan()
    assert "conditions" not in usual.to_dict()
    others = [
        Conditions.of("cubic-2022", 1, "provided"),
        Conditions.of("cubic", 4, "provided"),
        Conditions.of("cubic", 1, "simulate"),
        Conditions.of("cubic", 1, "provided", "firefox"),
    ]
    made = [plan(conditions=conditions, metrics=conditions.browser.metrics) for conditions in others]
    assert len({usual.digest, *(item.digest for item in made)}) == 5
    # Stored before there was a choice of browsers.
    assert "browser" not in made[0].to_dict()["conditions"]
    for item in made:
        read = Plan.from_dict(json.loads(json.dumps(item.to_dict())))
        assert (read, read.digest) == (item, item.digest)


@pytest.mark.parametrize(
    ("conditions", "says"),
    [
        (("cubic", 1.0, "provided", "safari"), "choose one of chromium, firefox"),
        (("cubic", 4.0, "provided", "firefox"), "leave out --cpu-slowdown and --throttling"),
        (("cubic", 1.0, "simulate", "firefox"), "leave out --cpu-slowdown and --throttling"),
        (("bbr", 1.0, "provided"), "choose one of cubic, reno, cubic-2022"),
        (("cubic", 0.5, "provided"), "from 1, as it is"),
        (("cubic", float("nan"), "provided"), "from 1, as it is"),
        (("cubic", 1.0, "devtools"), "choose one of provided, simulate"),
        (("cubic", 4.0, "simulate"), "slowed down twice"),
    ],
)
def test_impossible_circumstances_are_refused(conditions: tuple[Any, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Conditions.of(*conditions)


@pytest.mark.parametrize(
    ("metrics", "primary", "lacking"),
    [
        (PAGE_METRICS, ["lcp_ms"], "TBT, CLS, TTI"),
        (FIREFOX.browser.metrics, ["cls"], "CLS"),
        (FIREFOX.browser.metrics, ["hol_bytes"], "HOL"),  # from Chromium's log of its connections
    ],
)
def test_a_plan_asks_no_browser_for_what_it_lacks(metrics: tuple[str, ...], primary: list[str], lacking: str) -> None:
    with pytest.raises(UsageError, match=rf"Firefox does not measure {lacking} \(choose among fcp,lcp,si\)"):
        plan(metrics=metrics, primary=primary, conditions=FIREFOX)


def test_a_plan_decides_only_on_metrics_that_it_asks_for() -> None:
    with pytest.raises(UsageError, match="LCP is to be decided on, but not measured"):
        plan(primary=["lcp_ms"], metrics=("fcp_ms",))
    assert plan(primary=["hol_bytes"], metrics=("fcp_ms",)).primary == ("hol_bytes",)  # it is of the connections


def test_plans_stay_what_they_are_so_that_stored_experiments_can_be_continued() -> None:
    made = plan("ABC", blocks=5, seed=3, baseline="B")
    assert made.digest == "338c6312349e"
    written = json.dumps(made.to_dict(), sort_keys=True)
    assert hashlib.sha256(written.encode()).hexdigest().startswith("24ffd74b0c687d18")


def test_without_a_warm_up_the_other_blocks_are_the_same() -> None:
    assert plan(warm_up=False).blocks == plan().blocks[1:]


def test_an_arm_has_the_fingerprint_of_its_table_if_it_uses_one() -> None:
    assert arm_of("sequential") == Arm("sequential", "sequential")
    assert arm_of("mixed").table_digest is not None
    assert arm_of("mixed").table_digest != arm_of("mixed", "chromium").table_digest


def test_a_scheme_against_itself_makes_two_arms_of_one_scheme_and_takes_no_more() -> None:
    first, second = arms_of(["eps"], against_itself=True)
    assert (first.scheme, second.scheme, second.label) == ("eps", "eps", "eps (again)")
    with pytest.raises(UsageError, match="one scheme with itself"):
        arms_of(["eps", "stock"], against_itself=True)


def test_another_attempt_meets_another_network() -> None:
    block = plan().blocks[1]
    assert len({attempt_seed(block, attempt) for attempt in (1, 2, 3)}) == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"blocks": 0}, "too few"),
        ({"arms": [Arm("A", "A")]}, "nothing to compare"),
        ({"arms": [Arm("A", "A"), Arm("A", "A")]}, "--aa"),
        ({"baseline": "C"}, "choose one of A, B"),
    ],
)
def test_a_plan_that_can_show_nothing_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        plan(**change)
