"""Pages that misbehave, and loads that are given up: a usable part with what is missing, or a reason; and nothing stays."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Iterator
from pathlib import Path

import pytest

from mixedsched.world.browser.observation import Observation, ObservationJob
from mixedsched.world.browser.observe import Observer
from mixedsched.world.browser.pageload import PageLoadFailed
from tests.world.browser.h3_site import NEVER_HANGS_S, BrowserProcesses, FixtureSite
from tests.world.browser.observed_site import ObservedSite, observed_site

pytestmark = pytest.mark.usefixtures("chromium")

_Outcome = Observation | PageLoadFailed


@pytest.fixture(scope="module")
def served() -> Iterator[ObservedSite]:
    with observed_site() as served:
        yield served


@pytest.fixture(scope="module")
def outcomes(served: ObservedSite, tmp_path_factory: pytest.TempPathFactory) -> dict[str, _Outcome]:
    """One observer, and one bad page after the other."""
    paths = ("never-quiet", "reloading", "windows", "worker-page", "dense", "custom", "broken", "login", "loop")

    async def run() -> dict[str, _Outcome]:
        found: dict[str, _Outcome] = {}
        async with Observer(temp_dir=tmp_path_factory.mktemp("trouble")) as observer:
            for path in paths:
                # Time enough for a slow machine to get there, where the load would go on for ever.
                limit_s = 4.0 if path == "never-quiet" else 60.0
                job = ObservationJob(
                    served.url(path), quiet_s=0.5, limit_s=limit_s, screenshot=False, scroll=path == "never-quiet"
                )
                try:
                    found[path] = await observer.observe(job)
                except PageLoadFailed as error:
                    found[path] = error
        return found

    return asyncio.run(run())


def seen(outcomes: dict[str, _Outcome], path: str) -> Observation:
    outcome = outcomes[path]
    assert isinstance(outcome, Observation), outcome
    return outcome


def test_a_page_that_is_never_quiet_is_stopped_and_kept(outcomes: dict[str, _Outcome]) -> None:
    load = seen(outcomes, "never-quiet")
    assert load.ended == "limit"
    assert len(load.requests) > 3
    assert any("quiet in time, and was not scrolled" in note for note in load.notes)
    assert not any(item.after_scroll for item in load.requests)


def test_a_response_without_an_end_has_no_body_but_a_problem(outcomes: dict[str, _Outcome]) -> None:
    load = seen(outcomes, "never-quiet")
    [trickle] = [item for item in load.requests if item.url.endswith("/trickle")]
    assert (trickle.status, trickle.body, trickle.complete_ms) == (200, None, None)
    assert trickle.problem == "it had not ended when the watching did"


def test_a_page_that_reloads_for_ever_is_stopped(outcomes: dict[str, _Outcome]) -> None:
    load = seen(outcomes, "reloading")
    assert load.ended == "limit"
    assert any("again and again" in note for note in load.notes)


def test_dialogs_are_dismissed_and_noted(outcomes: dict[str, _Outcome]) -> None:
    load = seen(outcomes, "windows")
    assert load.ended == "quiet"
    assert sum("dialog" in note for note in load.notes) == 2


def test_a_service_worker_is_noted_and_left_out_with_all_that_it_asks_for(outcomes: dict[str, _Outcome]) -> None:
    load = seen(outcomes, "worker-page")
    assert any("service worker, which was left out" in note for note in load.notes)
    assert {item.url.rpartition("/")[2] for item in load.requests} - {"favicon.ico"} == {"worker-page"}


def test_what_a_browser_asks_for_while_it_sheds_its_device_is_no_part_of_the_page(
    served: ObservedSite, outcomes: dict[str, _Outcome]
) -> None:
    names = {item.url.rpartition("/")[2] for item in seen(outcomes, "dense").requests}
    assert names - {"favicon.ico"} == {"dense", "hero.png"}


def test_watching_runs_no_code_of_the_page_once_more(outcomes: dict[str, _Outcome]) -> None:
    load = seen(outcomes, "custom")
    assert sum(item.url.endswith("?made") for item in load.requests) == 1
    assert load.lcp_element == '<own-text style="display: block; font-size: 80px">'


def test_an_answer_with_a_bad_status_is_a_page_with_a_note(outcomes: dict[str, _Outcome]) -> None:
    load = seen(outcomes, "broken")
    assert load.requests[0].status == 500
    assert load.notes[0] == "the page itself was answered with status 500"


@pytest.mark.parametrize(
    ("path", "reason", "word"),
    [
        ("login", "navigation:ERR_INVALID_AUTH_CREDENTIALS", "login"),
        ("loop", "navigation:ERR_TOO_MANY_REDIRECTS", "loop"),
    ],
)
def test_what_is_no_page_says_why(outcomes: dict[str, _Outcome], path: str, reason: str, word: str) -> None:
    outcome = outcomes[path]
    assert isinstance(outcome, PageLoadFailed)
    assert outcome.reason == reason
    assert word in outcome.detail


def test_a_load_that_is_stopped_gives_what_came_so_far_and_nothing_if_it_had_not_begun(
    served: ObservedSite, tmp_path: Path
) -> None:
    job = ObservationJob(served.url("never-quiet"), limit_s=60.0, screenshot=False)

    async def refused(load: Awaitable[Observation]) -> str:
        with pytest.raises(PageLoadFailed) as caught:
            await load
        return caught.value.reason

    async def run() -> tuple[list[str], int, Observation]:
        async with Observer(temp_dir=tmp_path) as observer:
            observer.stop()
            before = await refused(observer.observe(job))
            starting = asyncio.create_task(observer.observe(job))
            await asyncio.sleep(0)  # it has begun, but the browser has not
            observer.stop()
            reasons = [before, await refused(starting)]
            asked = served.asked["/never-quiet"]
            load = asyncio.create_task(observer.observe(job))
            await served.until_asked("/data.json", times=3)
            observer.stop()
            return reasons, served.asked["/never-quiet"] - asked, await load

    asked_before = served.asked["/never-quiet"]
    reasons, asked, load = asyncio.run(run())
    assert reasons == ["navigation:INTERRUPTED"] * 2
    assert load.ended == "interrupted"
    assert load.requests[0].status == 200
    assert (asked, served.asked["/never-quiet"]) == (1, asked_before + 1)
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_load_leaves_nothing(served: ObservedSite, tmp_path: Path, browsers: BrowserProcesses) -> None:
    async def run() -> None:
        async with Observer(temp_dir=tmp_path) as observer:
            job = ObservationJob(served.url("never-quiet"), limit_s=60.0, bodies_dir=tmp_path / "bodies")
            load = asyncio.create_task(observer.observe(job))
            await served.until_asked("/data.json", times=3)
            load.cancel()
            with pytest.raises(asyncio.CancelledError):
                await load

    asyncio.run(run())
    assert browsers.wait_for_none() == []
    assert list(tmp_path.iterdir()) == []


def test_a_browser_that_dies_is_the_reason_although_its_connection_breaks_first(
    site: FixtureSite, tmp_path: Path, browsers: BrowserProcesses
) -> None:
    async def run() -> None:
        async with Observer(temp_dir=tmp_path) as observer:
            hosts, keys = {"site.test": site.port}, (site.spki_sha256,)
            job = ObservationJob("https://site.test/never/document", hosts, spki_sha256=keys, screenshot=False)
            load = asyncio.create_task(observer.observe(job))
            for pid in await asyncio.to_thread(browsers.wait_until_at_work):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.wait_for(load, NEVER_HANGS_S)

    with pytest.raises(PageLoadFailed) as caught:
        asyncio.run(run())
    assert caught.value.reason == "chrome_died"
    assert list(tmp_path.iterdir()) == []


def test_a_page_whose_process_dies_is_a_failure_and_the_next_load_works(
    served: ObservedSite, tmp_path: Path, browsers: BrowserProcesses
) -> None:
    def kill_renderers() -> None:
        for pid in browsers.pids():
            with contextlib.suppress(OSError):  # it ended meanwhile
                if b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)

    async def run() -> tuple[str, Observation]:
        async with Observer(temp_dir=tmp_path) as observer:
            job = ObservationJob(served.url("never-quiet"), limit_s=60.0, screenshot=False)
            load = asyncio.create_task(observer.observe(job))
            await served.until_asked("/data.json", times=3)
            kill_renderers()
            with pytest.raises(PageLoadFailed) as caught:
                await load
            next_job = ObservationJob(served.url("data.json"), quiet_s=0.5, screenshot=False)
            return caught.value.reason, await observer.observe(next_job)

    reason, load = asyncio.run(run())
    assert reason == "page_crashed"
    assert load.ended == "quiet"
