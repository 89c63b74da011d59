"""Which browser loads count."""

from __future__ import annotations

from dataclasses import replace

from mixedsched.advice.calibration.loads import counted
from mixedsched.lab.model import RunStatus
from tests.advice.calibration.measured import PAGE, loads_of, made_up_load

PAINTS = {"sequential": 1000.0, "stock": 1500.0, "eps": 1200.0}
LOADS = loads_of(PAGE, PAINTS, PAINTS)


def test_every_valid_load_counts_also_in_a_block_that_another_has_voided() -> None:
    bad = replace(made_up_load("stock", 1, 1.0, 1.0), status=RunStatus.INVALID, reason="late_link: ...")
    good = made_up_load("eps", 1, 1100.0, 1300.0)
    again = replace(good, attempt=2)
    assert counted(LOADS.plan, [bad, good, again]) == ((good, again), 1)


def test_warm_up_loads_count_only_if_they_are_asked_for() -> None:
    warm = made_up_load("eps", 0, 1100.0, 1300.0)
    assert counted(LOADS.plan, [warm]) == ((), 0)
    assert counted(LOADS.plan, [warm], warm_up=True) == ((warm,), 0)


def test_a_load_without_a_paint_does_not_count() -> None:
    assert counted(LOADS.plan, [made_up_load("eps", 1, 1100.0, 0.0)]) == ((), 1)


def test_schemes_without_a_load_are_left_out() -> None:
    loads = replace(LOADS, runs=tuple(run for run in LOADS.runs if run.arm != "stock"))
    assert [arm.label for arm in loads.arms] == ["sequential", "eps"]
    assert list(loads.medians("lcp_ms")) == ["sequential", "eps"]


def test_attempts_at_a_block_are_blocks_of_their_own_with_their_own_link() -> None:
    first = made_up_load("eps", 1, 1.0, 2.0)
    loads = replace(LOADS, runs=(first, replace(first, attempt=2)))
    assert loads.repeats("lcp_ms")["eps"] == [("1/1", 2.0), ("1/2", 2.0)]
    seed = loads.plan.blocks[1].link_seed
    assert loads.seeds("eps") == (seed, seed + 1)
