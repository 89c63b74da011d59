"""What a page load in real Chromium gives: metrics, requests, frames, NetLog."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mixedsched.core.metrics import LIGHTHOUSE_METRICS, QUICK_METRICS
from mixedsched.world.browser.netlog import NetLog, OpenReason, arrival_order, read_netlog
from mixedsched.world.browser.pageload import BrowserLoad, Versions
from mixedsched.world.browser.runner import LighthouseRunner
from tests.world.browser.h3_site import FixtureSite

pytestmark = pytest.mark.usefixtures("chromium")


# Options of loads by path: of those with all metrics, and of those that nobody asks for TTI.
WHOLE: dict[str, dict[str, Any]] = {"/": {"netlog": "main.json"}, "/busy.html": {"frames": False}}
QUICK: dict[str, dict[str, Any]] = {
    "/": {},
    "/busy.html": {},
    "/animated.html": {},
    "/anonymous.html": {"netlog": "anonymous.json"},
}


@dataclass(frozen=True)
class LoadsOfChromium:
    """What one runner made of page after page, by path."""

    whole: dict[str, BrowserLoad]
    quick: dict[str, BrowserLoad]
    versions: Versions
    temp_dir: Path

    def log_file(self, name: str) -> Path:
        return self.temp_dir / "logs" / name


@dataclass(frozen=True)
class Loaded:
    """The load of the page that has everything."""

    load: BrowserLoad
    log: NetLog


@pytest.fixture(scope="module")
def loads(site: FixtureSite, tmp_path_factory: pytest.TempPathFactory) -> LoadsOfChromium:
    temp_dir = tmp_path_factory.mktemp("loads")

    async def load(runner: LighthouseRunner, path: str, netlog: str | None = None, **more: Any) -> BrowserLoad:
        return await runner.run(site.job(path, netlog=netlog and temp_dir / "logs" / netlog, **more))

    async def run() -> LoadsOfChromium:
        async with LighthouseRunner(temp_dir=temp_dir) as runner:
            whole = {path: await load(runner, path, **more) for path, more in WHOLE.items()}
            fast = {"metrics": QUICK_METRICS, "frames": False}
            quick = {path: await load(runner, path, **fast, **more) for path, more in QUICK.items()}
            return LoadsOfChromium(whole, quick, await runner.versions(), temp_dir)

    return asyncio.run(run())


@pytest.fixture(scope="module")
def loaded(loads: LoadsOfChromium) -> Loaded:
    return Loaded(loads.whole["/"], read_netlog(loads.log_file("main.json")))


@pytest.fixture(scope="module")
def quick(loads: LoadsOfChromium) -> dict[str, BrowserLoad]:
    return loads.quick


def test_a_load_gives_all_six_metrics_in_their_natural_order(loaded: Loaded) -> None:
    metrics = loaded.load.metrics
    assert list(metrics) == [metric.key for metric in LIGHTHOUSE_METRICS]
    assert 0 < metrics["fcp_ms"] <= metrics["lcp_ms"]
    assert metrics["fcp_ms"] <= metrics["tti_ms"]
    assert metrics["si_ms"] > 0
    assert metrics["tbt_ms"] > 0  # the script keeps the main thread for 80 ms, 30 ms too long
    assert metrics["cls"] >= 0


def moment_ms(load: BrowserLoad, name: str) -> float:
    found = load.observed[name]
    assert found is not None
    return found


def test_a_load_without_tti_has_all_other_metrics_and_the_score(quick: dict[str, BrowserLoad], loaded: Loaded) -> None:
    load = quick["/"]
    assert list(load.metrics) == list(QUICK_METRICS)
    assert 0 < load.metrics["fcp_ms"] <= load.metrics["lcp_ms"]
    assert load.metrics["si_ms"] > 0
    assert load.lcp_element == loaded.load.lcp_element
    assert load.warnings == ()
    assert all(item.finished for item in load.requests if item.status > 0)
    for either in (load, loaded.load):
        assert either.score is not None
        assert 0 < either.score <= 100


def test_a_load_without_tti_ends_when_the_page_has_stood_still_for_a_second(quick: dict[str, BrowserLoad]) -> None:
    for load in quick.values():
        assert moment_ms(load, "trace_end_ms") >= moment_ms(load, "load_ms") + 1000


def test_a_load_without_tti_waits_for_long_tasks_and_counts_them(quick: dict[str, BrowserLoad]) -> None:
    assert moment_ms(quick["/busy.html"], "trace_end_ms") > 4500  # the page works for 3.5 s
    assert quick["/busy.html"].metrics["tbt_ms"] > 300


def test_a_load_without_tti_waits_for_animations_but_not_for_those_without_end(quick: dict[str, BrowserLoad]) -> None:
    assert moment_ms(quick["/animated.html"], "trace_end_ms") > 2000
    assert quick["/animated.html"].metrics["si_ms"] > quick["/animated.html"].metrics["fcp_ms"] + 500


def test_every_answer_came_over_http3(loaded: Loaded) -> None:
    answered = [item for item in loaded.load.requests if item.status > 0]
    assert {item.url for item in answered} == {
        "https://site.test/",
        "https://site.test/style.css",
        "https://site.test/app.js",
        "https://site.test/hero.png",
        "https://other.test/small.png",
    }
    assert {item.protocol for item in answered} == {"h3"}
    assert loaded.load.answered_without_h3() == ()


def test_requests_carry_chromium_priority_and_ordered_times(loaded: Loaded) -> None:
    document = loaded.load.requests[0]
    assert (document.url, document.priority, document.resource_type) == ("https://site.test/", "VeryHigh", "Document")
    for item in loaded.load.requests:
        assert item.start_ms is not None
        assert item.request_ms is not None
        assert item.end_ms is not None
        assert 0 <= item.start_ms <= item.request_ms <= item.end_ms


def test_hosts_that_are_not_the_pages_lead_nowhere(loaded: Loaded, loads: LoadsOfChromium) -> None:
    strays = [item for item in loaded.load.requests if "stray.example" in item.url or "localhost" in item.url]
    assert len(strays) == 2
    assert all(item.status == -1 and item.transfer_bytes == 0 for item in strays)
    # Beside the page's connections the browser connected to nothing at all, its background services included.
    events = json.loads(loads.log_file("main.json").read_text())
    names = {number: name for name, number in events["constants"]["logEventTypes"].items()}
    connects = [event for event in events["events"] if names[event["type"]] == "TCP_CONNECT"]
    assert connects == []
    assert {session.host for session in loaded.log.sessions} <= {"site.test", "other.test"}


def test_no_switch_is_given_twice_in_a_way_that_matters(loaded: Loaded) -> None:
    assert loaded.log.command_line.count("--disable-features=") == 1
    assert loaded.log.command_line.count("--host-resolver-rules=") == 1


def test_the_filmstrip_starts_blank_and_ends_with_the_page(loaded: Loaded) -> None:
    frames = loaded.load.frames
    assert 2 <= len(frames) <= 40
    assert [frame.at_ms for frame in frames] == sorted(frame.at_ms for frame in frames)
    assert all(frame.jpeg.startswith(b"\xff\xd8") for frame in frames)
    assert len(frames[-1].jpeg) > len(frames[0].jpeg)


def test_a_run_knows_what_measured_it(loaded: Loaded, loads: LoadsOfChromium) -> None:
    assert loaded.load.versions == loads.versions
    assert loads.versions.lighthouse == "12.8.2"
    assert loaded.log.chromium_version == loads.versions.chromium
    assert loaded.load.benchmark_index > 0
    assert loaded.load.lcp_element is not None
    assert loaded.load.lcp_element.startswith("<img")
    assert loaded.load.sandboxed is (os.geteuid() != 0)
    assert loaded.load.warnings == ()


def test_a_run_tells_what_it_cost(loaded: Loaded) -> None:
    cost = loaded.load.timings_ms
    assert set(cost) == {"chrome_start", "lighthouse", "total"}
    assert 0 < cost["chrome_start"] + cost["lighthouse"] <= cost["total"] + 1  # each is rounded to whole ms


def test_the_profiles_are_removed(loads: LoadsOfChromium) -> None:
    assert list(loads.temp_dir.glob("mixedsched-browser-*")) == []


def test_a_stored_load_reads_back_the_same(loaded: Loaded) -> None:
    assert BrowserLoad.from_dict(json.loads(json.dumps(loaded.load.to_dict()))) == loaded.load


def test_the_netlog_is_whole_and_has_one_connection(loaded: Loaded) -> None:
    assert not loaded.log.truncated
    assert [(item.host, item.privacy_mode) for item in loaded.log.connections] == [("site.test", "disabled")]
    assert loaded.log.connections[0].reason is OpenReason.FIRST
    # A busy machine may drop a datagram even on loopback (its receive buffer was full), so none lost is not promised.
    lost, seen = loaded.log.packets_lost, loaded.log.packets_seen or 0
    assert seen > 100
    assert lost is not None
    assert lost < seen / 10
    assert loaded.log.hol_bytes == 0 or lost > 0, "nothing blocks where nothing was lost"
    assert loaded.log.unavailable == (), "this Chromium has all the events that figures come from"


def test_the_netlog_tells_why_a_second_connection_was_opened(loads: LoadsOfChromium) -> None:
    log = read_netlog(loads.log_file("anonymous.json"))
    document, anonymous = log.connections
    assert (document.reason, anonymous.reason) == (OpenReason.FIRST, OpenReason.CREDENTIALS)
    assert (document.privacy_mode, anonymous.privacy_mode) == ("disabled", "enabled")
    assert {item.session for item in log.requests if item.path == "/small.png"} == {anonymous.source_id}
    # Both hosts share it: whoever was asked second joined, or came too early and was closed for the first.
    assert all(
        item.pooled_with == anonymous.source_id for item in log.sessions if not item.is_used and item.established
    )


def test_the_netlog_shows_each_request_with_its_signals(loaded: Loaded) -> None:
    signals = {item.path: (item.authority, item.priority, item.priority_updates) for item in loaded.log.requests}
    assert signals["/"] == ("site.test", "u=0, i", ("u=0, i",))
    assert signals["/style.css"] == ("site.test", "u=0", ("u=0",))
    assert signals["/small.png"][0] == "other.test"
    assert set(signals) == {"/", "/style.css", "/app.js", "/hero.png", "/small.png"}


def test_arrival_order_starts_with_the_document_and_accounts_for_every_body_byte(
    loaded: Loaded, site: FixtureSite
) -> None:
    order = arrival_order(loaded.log)
    assert order[0].path == "/"
    size_bytes: Counter[str] = Counter()
    for run in order:
        size_bytes[run.path] += run.size_bytes
    for path in ("/", "/style.css", "/app.js", "/hero.png", "/small.png"):
        # Beyond the body: HTTP/3 headers and frame headers, and what the server sent twice.
        assert site.sizes[path] < size_bytes[path] < site.sizes[path] * 3 + 1000
    assert sum(run.frames for run in order) == sum(frame.length_bytes > 0 for frame in loaded.log.arrivals)


def test_a_page_with_late_long_tasks_is_watched_until_its_tti_is_final(loads: LoadsOfChromium) -> None:
    load = loads.whole["/busy.html"]
    assert load.metrics["tti_ms"] > 3000  # the page itself works for so long
    assert load.metrics["tbt_ms"] > 300
    assert moment_ms(load, "trace_end_ms") > load.metrics["tti_ms"] + 5000
    assert load.frames == ()


def test_a_page_leaves_no_file_with_whoever_measures_it(
    site: FixtureSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))

    async def run() -> BrowserLoad:
        async with LighthouseRunner(temp_dir=tmp_path / "work") as runner:
            return await runner.run(site.job("/saving.html", frames=False, metrics=QUICK_METRICS))

    (tmp_path / "work").mkdir()
    assert asyncio.run(run()).metrics["fcp_ms"] > 0
    assert list(tmp_path.rglob("left-behind*")) == []
