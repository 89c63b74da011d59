"""A load in Firefox as a run: through server, emulated link and browser, and judged by what all of them saw."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from mixedsched.cli._sites import open_site
from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.lab._lab import Lab, LabSetup
from mixedsched.lab._validity import is_of_the_machine
from mixedsched.lab.model import AS_USUAL, Arm, Run, RunStatus
from mixedsched.world import catalog
from mixedsched.world.browser.kinds import Browser


@pytest.mark.usefixtures("firefox")
def test_a_load_in_firefox_is_a_run_like_any_other(tmp_path: Path) -> None:
    async def load() -> tuple[Run, dict[str, str]]:
        setup = LabSetup(
            catalog.load_profile("cable"),
            "desktop",
            {"eps": open_site("three-hosts")},
            metrics=QUICK_METRICS,
            conditions=replace(AS_USUAL, browser=Browser.FIREFOX),
        )
        async with Lab(setup, [Arm("eps", "eps")], tmp_path) as lab:
            return await lab.run(arm="eps", block=1, attempt=1, position=0, link_seed=1), await lab.versions()

    run, versions = asyncio.run(load())
    assert run.status is RunStatus.OK or is_of_the_machine(run.reason), run.reason  # machines that test are noisy
    assert set(run.page_load["metrics"]) == set(Browser.FIREFOX.metrics)
    assert run.connections == 4  # docs/measuring.md
    assert len(run.placements) >= len(run.page_load["requests"]) == 20
    assert {item["protocol"] for item in run.page_load["requests"]} == {"h3"}
    assert (run.arrivals, run.quic, run.hol_bytes) == ((), (), None)
    assert versions["firefox"] == run.page_load["versions"]["firefox"]
    assert "chromium" not in versions
