"""The library: what docs/library.md shows is so, and importing it costs nothing."""

from __future__ import annotations

import asyncio
import doctest
import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import mixedsched as ms
from mixedsched.lab.engine import run_record
from mixedsched.lab.plan import attempt_seed
from mixedsched.world.store import Store
from mixedsched.world.system.loops import run_to_end
from tests.command import run
from tests.report.made_up_runs import MadeUp, made_up_plan

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.slow
def test_the_examples_of_its_page_run(tmp_path: Path) -> None:
    outcome = doctest.testfile(
        str(DOCS / "library.md"),
        module_relative=False,
        optionflags=doctest.REPORT_NDIFF,
        extraglobs={"folder": tmp_path},
    )
    assert outcome.attempted >= 10
    assert outcome.failed == 0


def test_every_listed_name_is_there_and_has_a_docstring() -> None:
    for name in ms.__all__:
        assert getattr(ms, name).__doc__, name


def test_a_name_that_is_not_listed_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = ms.simulat  # type: ignore[attr-defined]


def test_importing_it_imports_nothing_else_of_the_package() -> None:
    script = "import sys, mixedsched; print([name for name in sys.modules if name.startswith('mixedsched.')], dir(mixedsched))"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.startswith("[] ")
    assert "simulate" in printed


def test_a_simulated_load_is_what_the_command_prints() -> None:
    printed = run("simulate", "davies-meenan", "--scheme", "mixed:alpha=0.5", "--json").stdout
    load = ms.simulate("davies-meenan", "mixed:alpha=0.5")
    assert json.loads(printed) == json.loads(json.dumps(load.to_dict()))


def test_bad_arguments_are_refused_as_on_the_command_line() -> None:
    with pytest.raises(ms.MixedschedError, match="there is no scheme"):
        ms.simulate("davies-meenan", "mixt")
    with pytest.raises(ms.MixedschedError, match="there is no network profile"):
        ms.load_network("5g")
    with pytest.raises(ms.MixedschedError, match="there is no page"):
        ms.load_page("nowhere")


def test_results_are_one_row_a_run_of_plain_values(tmp_path: Path) -> None:
    plan = made_up_plan(blocks=2, arms=("sequential", "mixed"))
    runs = [replace(made, attempt=made.block + 1) for made in MadeUp(plan).runs()]
    with Store(f"sqlite:///{tmp_path / 'results.sqlite'}") as store:
        facts = {"machine": {"processor": "a fast one"}, "versions": {"chromium": "156"}}
        store.save_plan(plan.digest, plan.to_dict(), facts)
        for made in runs:
            store.add_run(plan.digest, made.block, made.attempt, made.arm, run_record(made))
    rows = ms.read_results(tmp_path)
    assert [row["warm_up"] for row in rows] == [True, True, False, False, False, False]
    assert {row["arm"] for row in rows} == {"sequential", "mixed"}
    blocks = {block.index: block for block in plan.blocks}
    for row, made in zip(rows, runs, strict=True):
        assert (row["block"], row["scheme"], row["status"]) == (made.block, made.arm, "ok")
        assert row["lcp_ms"] == made.metric("lcp_ms")
        assert row["seed"] == attempt_seed(blocks[made.block], made.attempt)
        assert (row["machine"], row["browser"], row["rung"]) == ("a fast one", "156", "browser")
        assert all(value is None or isinstance(value, str | int | float) for value in row.values())


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ms.MixedschedError, match="contains no results"):
        ms.read_results(tmp_path)


def test_a_comparison_is_refused_before_any_site_is_opened() -> None:
    with pytest.raises(ms.MixedschedError, match="there is no scheme"):
        ms.compare("nowhere", ["sequential", "mixt"])
    with pytest.raises(ms.MixedschedError, match="there is no metric"):
        ms.compare("nowhere", primary=["speed"])


def test_a_comparison_can_be_made_from_a_notebook_whose_loop_is_running() -> None:
    ran_in = []

    async def work() -> None:
        child = await asyncio.create_subprocess_exec("true")
        ran_in.append((await child.wait(), threading.current_thread() is threading.main_thread()))

    async def cell() -> None:
        run_to_end(work())

    asyncio.run(cell())
    run_to_end(work())
    assert ran_in == [(0, False), (0, True)]
