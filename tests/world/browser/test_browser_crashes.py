"""Whatever dies or hangs: the load fails with a reason, no browser and no profile stays, and the next load works."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable
from pathlib import Path

import pytest

from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.world.browser.find import find_chromium, find_node, find_package
from mixedsched.world.browser.observation import ObservationJob
from mixedsched.world.browser.observe import Observer
from mixedsched.world.browser.pageload import BrowserLoad, PageLoadFailed, PageLoadJob
from mixedsched.world.browser.runner import LighthouseRunner, Worker
from tests.families import has_ended
from tests.patience import wait_until
from tests.world.browser.h3_site import NEVER_HANGS_S, BrowserProcesses, FixtureSite

pytestmark = pytest.mark.usefixtures("chromium")


def profiles(directory: Path) -> list[Path]:
    return list(directory.glob("mixedsched-browser-*"))


def signal_all(pids: list[int], number: signal.Signals) -> None:
    """To each that still lives: a browser's helpers come and go."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def test_a_page_that_never_answers_is_a_timeout_and_the_next_load_works(
    site: FixtureSite, tmp_path: Path, browsers: BrowserProcesses
) -> None:
    async def run() -> tuple[PageLoadFailed, list[int], BrowserLoad]:
        async with LighthouseRunner(temp_dir=tmp_path) as runner:
            with pytest.raises(PageLoadFailed) as caught:
                await runner.run(site.job("/never/document", limit_s=5.0))
            left = browsers.wait_for_none()
            return caught.value, left, await runner.run(site.job("/", form_factor="desktop", metrics=QUICK_METRICS))

    failure, left, load = asyncio.run(run())
    assert failure.reason == "timeout"
    assert left == []
    assert load.metrics["lcp_ms"] > 0
    assert profiles(tmp_path) == []


def test_a_page_that_gives_no_result_fails_with_lighthouses_code(site: FixtureSite, tmp_path: Path) -> None:
    async def run() -> None:
        async with LighthouseRunner(temp_dir=tmp_path) as runner:
            await runner.run(site.job("/missing.html", limit_s=30.0))

    with pytest.raises(PageLoadFailed) as caught:
        asyncio.run(run())
    assert caught.value.reason == "runtime_error:ERRORED_DOCUMENT_REQUEST"
    assert "404" in caught.value.detail


def test_a_stopped_browser_is_a_timeout_and_is_killed(
    site: FixtureSite, tmp_path: Path, browsers: BrowserProcesses
) -> None:
    async def run() -> None:
        async with LighthouseRunner(temp_dir=tmp_path) as runner:
            load = asyncio.create_task(runner.run(site.job("/", limit_s=6.0)))
            signal_all(await asyncio.to_thread(browsers.wait_until_at_work), signal.SIGSTOP)
            await load

    with pytest.raises(PageLoadFailed) as caught:
        asyncio.run(run())
    assert caught.value.reason == "timeout"
    assert browsers.wait_for_none() == []
    assert profiles(tmp_path) == []


def test_a_browser_that_is_killed_fails_the_load_at_once(
    site: FixtureSite, tmp_path: Path, browsers: BrowserProcesses
) -> None:
    async def run() -> None:
        async with LighthouseRunner(temp_dir=tmp_path) as runner:
            load = asyncio.create_task(runner.run(site.job("/")))
            signal_all(await asyncio.to_thread(browsers.wait_until_at_work), signal.SIGKILL)
            await asyncio.wait_for(load, NEVER_HANGS_S)  # less than the job's own limit: the death is noticed

    with pytest.raises(PageLoadFailed) as caught:
        asyncio.run(run())
    assert caught.value.reason == "chrome_died"
    assert profiles(tmp_path) == []


def test_killing_the_worker_kills_the_browser_and_the_runner_starts_another(
    site: FixtureSite, tmp_path: Path, browsers: BrowserProcesses
) -> None:
    async def run() -> tuple[PageLoadFailed, list[int], int, int | None]:
        async with LighthouseRunner(temp_dir=tmp_path) as runner:
            killed = runner.worker_pid
            assert killed is not None
            load = asyncio.create_task(runner.run(site.job("/")))
            await asyncio.to_thread(browsers.wait_until_at_work)
            os.kill(killed, signal.SIGKILL)
            with pytest.raises(PageLoadFailed) as caught:
                await load
            left = await asyncio.to_thread(browsers.wait_for_none)
            await runner.versions()
            return caught.value, left, killed, runner.worker_pid

    failure, left, killed, successor = asyncio.run(run())
    assert failure.reason == "worker_died"
    assert left == []
    assert successor not in {killed, None}
    assert profiles(tmp_path) == []


def test_a_cancelled_load_leaves_nothing(site: FixtureSite, tmp_path: Path, browsers: BrowserProcesses) -> None:
    async def run() -> list[int]:
        async with LighthouseRunner(temp_dir=tmp_path) as runner:
            load = asyncio.create_task(runner.run(site.job("/")))
            await asyncio.to_thread(browsers.wait_until_at_work)
            load.cancel()
            with pytest.raises(asyncio.CancelledError):
                await load
            return await asyncio.to_thread(browsers.wait_for_none)

    assert asyncio.run(run()) == []
    assert profiles(tmp_path) == []


# A worker whose job fails, and whose browser writes to its profile when that has been removed.
LATE_WRITER = """#!/bin/sh
[ "$1" = --version ] && exec echo v20.0.0
read -r job
profile=$(echo "$job" | sed 's/.*"profile_dir": "\\([^"]*\\)".*/\\1/')
echo '{"id": 1, "ok": false, "reason": "internal", "detail": "..."}'
read -r end_of_input
(while [ -e "$profile" ]; do sleep 0.05; done; mkdir "$profile"; touch "${0%/*}/written") > /dev/null 2>&1 &
"""


@pytest.mark.parametrize("kind", ["run", "observe"])
def test_what_a_killed_browser_writes_last_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    node = tmp_path / "node"
    node.write_text(LATE_WRITER)
    node.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "profiles").mkdir()

    async def fails(load: Awaitable[object]) -> None:
        with pytest.raises(PageLoadFailed, match="internal"):
            await load
        assert wait_until((tmp_path / "written").exists)

    async def run() -> None:
        if kind == "run":
            async with LighthouseRunner(temp_dir=tmp_path / "profiles") as runner:
                await fails(runner.run(PageLoadJob("https://site.test/", {}, ())))
        else:
            async with Observer(temp_dir=tmp_path / "profiles") as observer:
                await fails(observer.observe(ObservationJob("https://site.test/")))

    asyncio.run(run())
    assert profiles(tmp_path / "profiles") == []


PARENT = """
import asyncio, sys
from pathlib import Path
from mixedsched.world.browser.pageload import PageLoadJob
from mixedsched.world.browser.runner import LighthouseRunner

async def main():
    async with LighthouseRunner(temp_dir=Path(sys.argv[1])) as runner:
        print(runner.worker_pid, flush=True)
        await runner.run(PageLoadJob("https://site.test/", {"site.test": int(sys.argv[2])}, (sys.argv[3],)))

asyncio.run(main())
"""


def test_killing_the_python_process_ends_worker_and_browser_and_removes_the_profile(
    site: FixtureSite, tmp_path: Path, browsers: BrowserProcesses
) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path), str(site.port), site.spki_sha256]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        browsers.wait_until_at_work()
        parent.kill()
    assert browsers.wait_for_none() == []
    assert wait_until(lambda: has_ended(worker))
    assert profiles(tmp_path) == []


def test_a_bad_job_is_refused_with_its_field_and_the_worker_goes_on() -> None:
    async def run() -> tuple[list[PageLoadFailed], bool]:
        worker = await Worker.start(find_node(), find_package(), find_chromium())
        good = {"op": "run", "url": "https://site.test/", "profile_dir": "/tmp/mixedsched-browser-never-made"}
        failures = []
        for change in (
            {"op": "dance"},
            {"url": "http://site.test/"},
            {"hosts": {"site.test, MAP * 192.0.2.1": 443}},
            {"hosts": {"site.test": 70000}},
            {"spki_sha256": ["--proxy-server=x"]},
            {"limit_s": "long"},
            {"profile_dir": "mixedsched-browser-relative"},
            {"profile_dir": "/tmp/mixedsched-browser-x/.."},
        ):
            with pytest.raises(PageLoadFailed) as caught:
                await worker.ask({**good, **change}, NEVER_HANGS_S)
            failures.append(caught.value)
        alive = (await worker.ask({"op": "ping"}, NEVER_HANGS_S))["ok"]
        await worker.close()
        return failures, alive

    failures, alive = asyncio.run(run())
    assert {failure.reason for failure in failures} == {"bad_job"}
    assert [failure.detail.split()[0].strip(":") for failure in failures] == [
        "op",
        "url",
        "hosts",
        "hosts",
        "spki_sha256",
        "limit_s",
        "profile_dir",
        "profile_dir",
    ]
    assert alive
