"""Which browser loads count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.advice.calibration import loads as loading
from mixedsched.advice.calibration.loads import counted, make_loads
from mixedsched.errors import MixedschedError
from mixedsched.lab.bench import unobserved
from mixedsched.lab.model import RunStatus
from mixedsched.lab.plan import arms_of
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


def test_loads_keep_how_a_network_of_ones_own_was_named_and_stay_in_the_folder_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads them finds the network again by that."""
    file, kept, said = tmp_path / "attic.toml", dict[str, Any](), list[str]()
    file.write_text('name = "../attic"\ndescription = "d"\nsource = "s"\nrate_down_bps = 2_000_000\nrtt_ms = 60\n')
    site = tmp_path / "tiny"
    site.mkdir()
    (site / "index.html").write_text("<!DOCTYPE html><title>t</title><p>hello")

    def no_browser(*_: object, **named: Any) -> None:
        kept.update(named)
        raise MixedschedError("there is no browser")

    monkeypatch.setattr(loading, "run_experiment", no_browser)
    arms, out = arms_of(["sequential", "stock", "eps"]), tmp_path / "out"
    made = make_loads(str(site), str(file), arms, 1, 1, "mobile", out, unobserved, said.append)
    assert kept["link_argument"] == str(file)
    assert made == (out / "tiny-..-attic", False)
    assert said == [f"{site}: there is no browser"]
