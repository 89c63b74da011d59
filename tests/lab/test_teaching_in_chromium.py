"""Lessons of an arm that learns, in a real browser."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.errors import MixedschedError
from mixedsched.lab import _teaching as teaching
from mixedsched.lab._lab import Lab, LabSetup
from mixedsched.lab.plan import arm_of
from mixedsched.sites.opening import open_site
from mixedsched.world import catalog
from mixedsched.world.browser.pageload import PageLoadJob
from mixedsched.world.browser.runner import LighthouseRunner
from mixedsched.world.store import open_memory
from tests.small_site import write_small_site

NEVER_HANGS_S = 60.0


@pytest.mark.usefixtures("chromium")
def test_an_arm_with_beacons_learns_from_paints_that_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teaching, "VISITS", 1)
    site = open_site(str(write_small_site(tmp_path / "small")), None, lambda _: None)
    arm = arm_of("adaptive:beacons=yes")
    setup = LabSetup(catalog.load_profile("fiber"), "mobile", {arm.label: site}, metrics=QUICK_METRICS, limit_s=60.0)
    served: list[bool] = []

    async def teach() -> None:
        async with Lab(setup, [arm], tmp_path) as lab:
            served.append(lab._memories[arm.label].beacons)

    asyncio.run(teach())
    (file,) = tmp_path.glob("adaptive-*.sqlite")
    with open_memory(file) as store:
        state = store.page("/")
    assert state is not None
    assert state.memory.visits == state.told.visits == 1
    assert 0 < state.told.fcp_ms <= state.told.lcp_ms
    assert served == [False], "loads that are measured have the page as it is"


@pytest.mark.usefixtures("chromium")
def test_lessons_end_with_their_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait_for_ever(_runner: LighthouseRunner, _job: PageLoadJob) -> None:
        for process in psutil.Process().children():
            if "mixedsched.world.server" in process.cmdline():
                process.kill()
        await asyncio.Event().wait()

    async def teach() -> None:
        async with Lab(setup, [arm], tmp_path):
            pytest.fail("nothing was learned")

    monkeypatch.setattr(LighthouseRunner, "run", wait_for_ever)
    site = open_site(str(write_small_site(tmp_path / "small")), None, lambda _: None)
    arm = arm_of("adaptive")
    setup = LabSetup(catalog.load_profile("fiber"), "mobile", {arm.label: site}, metrics=QUICK_METRICS)
    with pytest.raises(MixedschedError, match="the server for adaptive has stopped"):
        asyncio.run(asyncio.wait_for(teach(), NEVER_HANGS_S))
