"""What a page load in real Firefox gives, and that nothing of it stays."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mixedsched.lab._validity import LoadEvidence, why_invalid
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.browser.pageload import BrowserLoad, PageLoadFailed
from mixedsched.world.browser.runner import LighthouseRunner
from tests.world.browser.h3_site import NEVER_HANGS_S, BrowserProcesses, FixtureSite

pytestmark = pytest.mark.usefixtures("firefox")

HERO = "https://site.test/hero.png"


@dataclass(frozen=True)
class LoadsOfFirefox:
    """What one runner made of page after page."""

    by_path: dict[str, BrowserLoad]
    failures: dict[str, PageLoadFailed]
    left: list[Path]
    """Of what it had in its folder."""


@pytest.fixture(scope="module")
def loads(site: FixtureSite, tmp_path_factory: pytest.TempPathFactory) -> LoadsOfFirefox:
    folder = tmp_path_factory.mktemp("firefox")
    quick = site.job("/", browser=Browser.FIREFOX, metrics=("lcp_ms",), max_wait_s=3.0)
    failing = {"absent": "https://nowhere.test/", "silent": "https://site.test/never/document"}

    async def run() -> tuple[dict[str, BrowserLoad], dict[str, PageLoadFailed]]:
        async with LighthouseRunner(temp_dir=folder, browser=Browser.FIREFOX) as runner:
            versions = await runner.versions()
            found, failures = {}, {}
            for path in ("/", "/asking.html"):
                job = site.job(path, browser=Browser.FIREFOX, metrics=Browser.FIREFOX.metrics)
                found[path] = await runner.run(job)
            for name, url in failing.items():
                with pytest.raises(PageLoadFailed) as caught:
                    await runner.run(replace(quick, url=url))
                failures[name] = caught.value
        assert {load.versions for load in found.values()} == {versions}
        return found, failures

    return LoadsOfFirefox(*asyncio.run(run()), list(folder.glob("mixedsched-*")))


@pytest.fixture(scope="module")
def load(loads: LoadsOfFirefox) -> BrowserLoad:
    return loads.by_path["/"]


def test_it_has_the_paints_and_speed_index(load: BrowserLoad) -> None:
    assert list(load.metrics) == ["fcp_ms", "lcp_ms", "si_ms"]
    assert 0 < load.metrics["fcp_ms"] <= load.metrics["lcp_ms"]
    first_ms, last_ms = load.observed["first_visual_change_ms"], load.observed["last_visual_change_ms"]
    assert first_ms is not None
    assert last_ms is not None
    assert first_ms <= load.metrics["si_ms"] < last_ms + 1  # Lighthouse's library cuts both moments to whole ms
    assert "hero.png" in (load.lcp_element or "")
    assert load.versions.firefox
    assert load.versions.chromium == ""


def test_the_sites_hosts_answer_over_http3_and_all_others_are_out_of_reach(
    load: BrowserLoad, site: FixtureSite
) -> None:
    answered = {item.url: item for item in load.requests if item.status > 0}
    assert set(answered) == {
        f"https://{host}/{name}"
        for host, names in (("site.test", ("", "style.css", "hero.png", "app.js")), ("other.test", ("small.png",)))
        for name in names
    }
    assert {item.protocol for item in answered.values()} == {"h3"}
    for url, item in answered.items():
        assert item.finished
        assert item.transfer_bytes >= site.sizes[f"/{url.split('/', 3)[3]}"]
        assert item.start_ms is not None
        assert item.end_ms is not None
        assert 0 <= item.start_ms <= item.end_ms
    strays = [item for item in load.requests if item.url not in answered]
    assert {item.url for item in strays} == {"https://stray.example/x.png", "https://localhost/y.png"}
    assert all(item.failure for item in strays)


def test_requests_have_the_priorities_that_firefox_signals(load: BrowserLoad) -> None:
    signals = {item.url.rpartition("/")[2]: (item.resource_type, item.priority) for item in load.requests}
    assert signals[""] == ("Document", "u=0, i")
    assert signals["style.css"] == ("Stylesheet", "u=2")
    assert signals["hero.png"] == ("Image", "u=5, i")


def test_the_film_begins_with_nothing_and_ends_with_the_page(load: BrowserLoad) -> None:
    first, *_, last = load.frames
    assert first.at_ms == 0
    assert last.at_ms >= load.metrics["fcp_ms"]
    assert len(last.jpeg) > 2 * len(first.jpeg)  # noise is in it


def test_nobody_need_answer_what_a_page_asks_and_no_window_but_its_own_loads(loads: LoadsOfFirefox) -> None:
    asking = loads.by_path["/asking.html"]
    assert [item.url for item in asking.requests] == ["https://site.test/asking.html"]
    assert asking.warnings == ()


def test_it_survives_storage_and_counts_without_a_log_of_the_browsers(load: BrowserLoad) -> None:
    assert BrowserLoad.from_dict(load.to_dict()) == load
    evidence = LoadEvidence(load, ("site.test", "other.test"), None, None, {"punctuality": {}})
    assert why_invalid(evidence) == ""
    assert "without a complete answer" in why_invalid(
        LoadEvidence(cut_off(load), ("site.test", "other.test"), None, None, {})
    )


def cut_off(load: BrowserLoad) -> BrowserLoad:
    """The same load, had the hero's connection been reset."""
    data = load.to_dict()
    for item in data["requests"]:
        if item["url"] == HERO:
            item["failure"] = "NS_ERROR_NET_RESET"
    return BrowserLoad.from_dict(data)


def test_a_browser_that_is_killed_fails_the_load_and_the_next_one_works(
    site: FixtureSite, tmp_path: Path, browsers: BrowserProcesses
) -> None:
    async def run() -> tuple[PageLoadFailed, BrowserLoad]:
        job = site.job("/", browser=Browser.FIREFOX, metrics=("lcp_ms",), form_factor="desktop", frames=False)
        async with LighthouseRunner(temp_dir=tmp_path, browser=Browser.FIREFOX) as runner:
            first = asyncio.create_task(runner.run(job))
            killed: list[int] = []
            while not killed:  # while it becomes another program, a process has no command line
                killed = await asyncio.to_thread(browsers.wait_until, lambda found: len(found) > 1, NEVER_HANGS_S)
            for pid in killed:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with pytest.raises(PageLoadFailed) as caught:
                await asyncio.wait_for(first, NEVER_HANGS_S)
            return caught.value, await runner.run(job)

    failure, second = asyncio.run(run())
    assert failure.reason in {"firefox_died", "firefox_start"}
    assert second.metrics["lcp_ms"] > 0
    assert second.frames == ()
    assert browsers.wait_for_none() == []
    assert list(tmp_path.glob("mixedsched-*")) == []


def test_a_page_that_is_not_there_is_a_failed_load(loads: LoadsOfFirefox) -> None:
    assert loads.failures["absent"].reason.startswith("navigation:NS_ERROR_")
    assert loads.left == []


def test_a_page_that_never_answers_is_told_from_one_that_is_slow(loads: LoadsOfFirefox) -> None:
    silent = loads.failures["silent"]
    assert (silent.reason, silent.detail) == ("navigation:NO_ANSWER", "the page did not answer within 3 s")
