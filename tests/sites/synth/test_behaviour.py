"""Work in the scripts of synthesised sites, and layout shifts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.lab._lab import Lab, LabSetup
from mixedsched.lab.model import Arm, Conditions, Run, RunStatus
from mixedsched.model.page import Page
from mixedsched.sites.opening import load_site
from mixedsched.sites.site import Site
from mixedsched.sites.synth import synthesise
from mixedsched.sites.synth._behaviour import LARGEST_SHIFT, TURNS_PER_MS, Shifts, work_text
from mixedsched.world import catalog
from tests.sites.synth.pages import page, resource


def made(target: Path, *resources: dict[str, Any], size_bytes: int = 8000) -> tuple[Page, dict[str, str], Any]:
    """The page, its files as text by id, and the synthesis."""
    of = page(size_bytes, *resources)
    synthesis = synthesise(of, target)
    site = load_site(target)
    texts = {item.id: site.files[item.host, item.path].read_bytes().decode("latin-1") for item in site.page.resources}
    return site.page, texts, synthesis


def test_a_script_counts_as_long_as_it_says_before_it_asks_for_anything(tmp_path: Path) -> None:
    busy = resource("busy", "script", 2000, work_ms=120, chromium_priority="High")
    child = resource("child", "image", 900, found_by="busy", found_when="complete", delay_ms=20)
    read, texts, synthesis = made(tmp_path / "site", busy, child)
    assert texts["busy"].startswith(f"for(let x=1,i={120 * TURNS_PER_MS};i--;)")
    assert texts["busy"].index("i--") < texts["busy"].index("$(")
    assert read.by_id()["busy"].work_ms == 120
    assert len(texts["busy"]) == 2000
    assert synthesis.deviations == ()


def test_a_script_that_finds_nothing_works_too_and_one_without_work_is_as_before(tmp_path: Path) -> None:
    _, texts, _ = made(tmp_path / "site", resource("busy", "script", 200, work_ms=60), resource("idle", "script", 200))
    assert texts["busy"].startswith("for(")
    assert "for(let x=1" not in texts["idle"]


def test_work_and_shifts_without_room_are_told(tmp_path: Path) -> None:
    _, _, synthesis = made(
        tmp_path / "site",
        resource("busy", "script", 20, work_ms=60),
        resource("late", "image", 900, late_shift=0.1),
        size_bytes=400,
    )
    assert {(one.id, one.what) for one in synthesis.deviations} == {("busy", "work_ms"), ("late", "late_shift")}


def test_a_page_that_shifts_has_a_stripe_for_each_resource_that_does(tmp_path: Path) -> None:
    late = resource("late", "image", 900, late_shift=0.1)
    read, texts, synthesis = made(tmp_path / "site", late, resource("other", "image", 900))
    assert texts["html"].count("<i id=y") == 1
    assert 'V({"made-up.test/late":"y0"})' in texts["html"]
    assert read.by_id()["late"].late_shift == 0.1
    assert synthesis.deviations == ()


@given(st.lists(st.floats(0.001, 0.3), min_size=1, max_size=6))
def test_the_scores_of_stripes_are_those_of_the_resources_and_all_stay_on_the_screen(scores: list[float]) -> None:
    shifts = Shifts.of([(f"k{index}", score) for index, score in enumerate(scores)])
    move = float(shifts.style.partition(".m{top:")[2].partition("vmax")[0]) / 100
    widths = [float(mark.partition(";width:")[2].partition("vw")[0]) / 100 for mark in shifts.marks.split("<i ")[1:]]
    scale = min(1.0, LARGEST_SHIFT / sum(scores))
    assert [width * move for width in widths] == pytest.approx([score * scale for score in scores], rel=1e-4)
    assert sum(widths) <= 1 + 1e-4
    assert move <= LARGEST_SHIFT


def test_more_shift_than_a_screen_has_room_for_is_told(tmp_path: Path) -> None:
    late = [resource(f"late{index}", "image", 900, late_shift=0.4) for index in range(2)]
    _, _, synthesis = made(tmp_path / "site", *late)
    assert [(one.what, one.made) for one in synthesis.deviations] == [("late_shift", "0.25")] * 2


@given(st.floats(1, 1000), st.integers(0, 200))
def test_work_never_needs_more_bytes_than_a_script_has(work_ms: float, size_bytes: int) -> None:
    item = page(500, resource("busy", "script", size_bytes, work_ms=work_ms)).by_id()["busy"]
    assert len(work_text(item)) <= size_bytes


# In Chromium

LATE = {"found_by": "html", "found_when": "complete", "delay_ms": 700, "chromium_priority": "Low"}
BUSY = [
    resource("work", "script", 900, work_ms=250, **LATE),
    resource("banner", "image", 900, late_shift=0.08, **LATE),
    resource("early", "image", 900, late_shift=0.04, **LATE),
]


async def loaded(site: Site, folder: Path, conditions: Conditions) -> Run:
    profile = catalog.load_profile("fiber")
    setup = LabSetup(profile, "mobile", {"eps": site}, metrics=QUICK_METRICS, conditions=conditions)
    async with Lab(setup, [Arm("eps", "eps")], folder) as lab:
        return await lab.run(arm="eps", block=1, attempt=1, position=0, link_seed=1)


@pytest.mark.usefixtures("chromium", "real_time")
def test_chromium_sees_the_work_and_the_shifts_and_work_grows_with_a_slower_processor(tmp_path: Path) -> None:
    synthesise(page(8000, *BUSY), tmp_path / "site")
    site = load_site(tmp_path / "site")
    usual = asyncio.run(loaded(site, tmp_path, Conditions()))
    slowed = asyncio.run(loaded(site, tmp_path, Conditions(cpu_slowdown=4.0)))
    assert (usual.status, slowed.status) == (RunStatus.OK, RunStatus.OK)
    assert usual.metric("cls") == pytest.approx(0.12, abs=0.004)
    assert usual.metric("tbt_ms") > 20
    assert slowed.metric("tbt_ms") > 2 * usual.metric("tbt_ms")
