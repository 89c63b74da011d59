"""The bench: only what is missing is measured, within the time, and it can always be gone on with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mixedsched.errors import MixedschedError, UsageError
from mixedsched.lab.bench import Bench, Design, ServedArm, unobserved
from mixedsched.lab.engine import Laboratory, TimeIsUp
from mixedsched.lab.model import Arm, Plan, Run, RunStatus
from mixedsched.lab.results import ExperimentFacts, open_store, spent_before_s
from mixedsched.model.profile import Profile
from mixedsched.sites.opening import load_site
from mixedsched.sites.site import Site
from mixedsched.world import catalog
from tests.lab.scripted import InterruptedRunError, ScriptedLab

LINK = catalog.load_profile("4g")
WORK = {"audit": "0123"}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "index.html").write_text("<!DOCTYPE html><title>shop</title><p>hello")
    return load_site(tmp_path / "shop")


@pytest.fixture
def design(site: Site) -> Design:
    arms = tuple(ServedArm(Arm(label, "eps"), site, "digest") for label in "AB")
    return Design(arms, ("lcp_ms",), "mobile", seed=1)


class MadeUpBench(Bench):
    """A bench whose laboratory needs no browser."""

    lab: ScriptedLab
    versions = "1"

    async def _laboratory(self, network: Profile) -> tuple[Laboratory, ExperimentFacts]:
        return CostlyLab(self.lab), replace(self._facts, versions={"chromium": self.versions})


class CostlyLab:
    """Its loads take 10 s, of which the page's own time is 4 s."""

    def __init__(self, lab: ScriptedLab) -> None:
        self._lab = lab

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        run = await self._lab.run(arm=arm, block=block, attempt=attempt, position=position, link_seed=link_seed)
        return replace(run, cost_s=10.0, page_load={"observed": {"load_ms": 4000.0}})


def measured(
    design: Design,
    folder: Path,
    plan: Plan,
    lab: ScriptedLab,
    has_time: Callable[[], bool] | None = None,
    versions: str = "1",
) -> list[Run]:
    """What is stored once a bench was asked for a plan."""
    with open_store(folder) as store:
        bench = MadeUpBench(design, store, folder, ExperimentFacts(work=WORK), unobserved)
        bench.lab, bench.versions = lab, versions
        asyncio.run(bench.carry_out(plan, LINK, has_time))
        return bench.runs(plan)


def test_what_an_interrupted_start_has_measured_is_not_measured_again(design: Design, tmp_path: Path) -> None:
    plan = design.plan(LINK, 3)
    with pytest.raises(InterruptedRunError):
        measured(design, tmp_path, plan, ScriptedLab(interrupt_at=3))
    again, idle = ScriptedLab(), ScriptedLab()
    runs = measured(design, tmp_path, plan, again)
    assert len(again.made) == 3
    assert sorted((run.block, run.arm) for run in runs) == [(block, arm) for block in (1, 2, 3) for arm in "AB"]
    assert measured(design, tmp_path, plan, idle) == runs
    assert idle.made == []


def test_no_run_begins_when_the_time_is_up(design: Design, tmp_path: Path) -> None:
    left = iter([True] * 3 + [False] * 10)
    lab = ScriptedLab()
    with pytest.raises(TimeIsUp):
        measured(design, tmp_path, design.plan(LINK, 3), lab, lambda: next(left))
    assert len(lab.made) == 2  # asked once for the laboratory, then before each run


def test_time_makes_a_bench_patient_with_pages_that_fail(design: Design, tmp_path: Path) -> None:
    def fate(_arm: str, block: int, _attempt: int) -> RunStatus:
        return RunStatus.FAILED if block == 1 else RunStatus.OK

    plan = design.plan(LINK, 2)
    assert {run.block for run in measured(design, tmp_path, plan, ScriptedLab(fate), lambda: True)} == {1, 2}
    with pytest.raises(MixedschedError, match="the page cannot be loaded"):
        measured(design, tmp_path, replace(plan, seed=2), ScriptedLab(fate))


def test_what_a_load_costs_beyond_itself_is_stored_with_the_experiment(design: Design, tmp_path: Path) -> None:
    with pytest.raises(InterruptedRunError):
        measured(design, tmp_path, design.plan(LINK, 3), ScriptedLab(interrupt_at=3))
    with open_store(tmp_path) as store:
        (experiment,) = store.experiments()
    assert ExperimentFacts.from_dict(experiment.facts).overhead_s == 6.0


def test_time_of_earlier_starts_counts_and_foreign_loads_are_refused(design: Design, tmp_path: Path) -> None:
    measured(design, tmp_path, design.plan(LINK, 2), ScriptedLab())
    with open_store(tmp_path) as store:
        assert spent_before_s(store, WORK) == 40.0
        with pytest.raises(UsageError, match="something other than this audit"):
            spent_before_s(store, {"audit": "4567"})
        with pytest.raises(UsageError, match="something other than this tune"):
            spent_before_s(store, {"tune": "0123"})


def test_loads_of_other_versions_are_not_mixed(design: Design, tmp_path: Path) -> None:
    measured(design, tmp_path, design.plan(LINK, 1), ScriptedLab())
    with pytest.raises(UsageError, match="chromium 1 -> 2"):
        measured(design, tmp_path, design.plan(LINK, 2), ScriptedLab(), versions="2")


def test_arms_that_left_are_in_no_later_block(design: Design) -> None:
    left = {1: ("A", "B"), 2: ("B",)}
    plan = design.plan(LINK, 2, still_in=left.__getitem__)
    assert [set(block.order) for block in plan.blocks] == [{"A", "B"}, {"B"}]
    assert plan.digest == design.plan(LINK, 2).digest


def test_arms_that_serve_the_same_are_an_experiment_on_that_site(design: Design) -> None:
    assert design.plan(LINK, 1).site_digest == "digest"
    other = replace(design, arms=(design.arms[0], replace(design.arms[1], site_digest="other")))
    assert other.plan(LINK, 1).site_digest not in {"digest", "other"}


def test_a_table_of_its_own_is_named_by_its_file_only_to_the_server(site: Site) -> None:
    arm = ServedArm(Arm("tuned", "mixed", "tuned-0123", "0123"), site, "digest", Path("/runs/0123.toml"))
    assert Design((arm, ServedArm(Arm("B", "eps"), site, "digest")), (), "mobile", 1).plan(LINK, 1).arms[0] == arm.arm
    assert arm.for_server.mapping == "/runs/0123.toml"
