"""Arms that are servers of other people's, loaded in Chromium: they count like ours, and one that dies voids its block."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.lab._lab import Lab, LabSetup
from mixedsched.lab.engine import missing_blocks
from mixedsched.lab.experiment import compare
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.plan import arm_of
from mixedsched.report.compare import write_comparison
from mixedsched.sites.opening import open_site
from mixedsched.world import catalog
from mixedsched.world.browser.pageload import PageLoadJob
from tests.small_site import write_small_site
from tests.world.servers.sites import installed

pytestmark = pytest.mark.usefixtures("chromium")

OTHERS = ("gtlsserver", "caddy")
LINK = "fiber"
NEVER_HANGS_S = 60.0


@pytest.mark.usefixtures("unhurried")
def test_servers_of_other_people_are_arms_like_ours(tmp_path: Path) -> None:
    arms = ["eps", *(f"@{name}" for name in OTHERS if installed(name).is_usable)]
    site = write_small_site(tmp_path / "small")
    found = compare(str(site), arms, link=LINK, blocks=1, metrics=("lcp", "fcp"), folder=tmp_path / "results")
    assert [arm.scheme for arm in found.plan.arms] == arms
    assert missing_blocks(found.plan, found.runs) == ()
    good = {run.arm: run for run in found.runs if run.status is RunStatus.OK}
    assert set(good) == set(arms)
    for arm in arms:
        assert [item.host for item in good[arm].quic] == ["small.test"]
        assert {arrival.path for arrival in good[arm].arrivals} >= {"/a.css", "/a.js"}
    assert found.facts.versions["@caddy"] == installed("caddy").version.name  # type: ignore[union-attr]
    assert good["@caddy"].waited_ms["server"] is None, "one of its threads sends, and the system tells of the first"
    assert good["@gtlsserver"].waited_ms["server"] is not None
    report = tmp_path / "report.html"
    notes = ("@caddy: something is different",)
    write_comparison(found.comparison, found.runs, {**found.facts.to_dict(), "server_notes": notes}, report)
    assert notes[0] in report.read_text()


def test_a_load_ends_with_its_server_however_long_the_browser_would_wait_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed("quic-go")
    site = open_site(str(write_small_site(tmp_path / "small")), None, lambda _: None)
    arm = arm_of("@quic-go")
    setup = LabSetup(catalog.load_profile(LINK), "mobile", {arm.label: site}, metrics=QUICK_METRICS)

    async def load() -> Run:
        async with Lab(setup, [arm], tmp_path) as lab:

            async def wait_for_ever(_job: PageLoadJob) -> None:
                os.kill(lab._servers[arm.label].pid, signal.SIGKILL)
                await asyncio.Event().wait()

            monkeypatch.setattr(lab._runner, "run", wait_for_ever)
            loading = lab.run(arm=arm.label, block=1, attempt=1, position=0, link_seed=1)
            return await asyncio.wait_for(loading, NEVER_HANGS_S)

    assert asyncio.run(load()).reason.startswith("server: @quic-go has stopped by itself: signal 9")


def test_a_server_that_dies_voids_its_load_with_its_last_words_and_is_started_again(tmp_path: Path) -> None:
    installed("quic-go")
    site = open_site(str(write_small_site(tmp_path / "small")), None, lambda _: None)
    arm = arm_of("@quic-go")
    setup = LabSetup(catalog.load_profile(LINK), "mobile", {arm.label: site}, metrics=QUICK_METRICS, limit_s=60.0)

    async def loads() -> list[Run]:
        async with Lab(setup, [arm], tmp_path) as lab:
            os.kill(lab._servers[arm.label].pid, signal.SIGKILL)
            first = await lab.run(arm=arm.label, block=1, attempt=1, position=0, link_seed=1)
            return [first, await lab.run(arm=arm.label, block=1, attempt=2, position=0, link_seed=2)]

    dead, again = asyncio.run(loads())
    assert dead.status is RunStatus.FAILED
    assert dead.reason.startswith("server: @quic-go has stopped by itself: signal 9")
    assert again.page_load
