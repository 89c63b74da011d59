"""What a watched load tells of a page that has everything, from a server that is not ours."""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.world.browser.observation import Observation, ObservationJob, ObservedRequest
from mixedsched.world.browser.observe import Observer
from tests.world.browser.h3_site import FixtureSite
from tests.world.browser.observed_site import OTHER_HOST, ObservedSite, encoded, observed_site

pytestmark = pytest.mark.usefixtures("chromium")


@dataclass(frozen=True)
class Watched:
    seen: Observation
    contents: dict[str, bytes]
    temp_dir: Path

    def request(self, name: str, method: str = "GET") -> ObservedRequest:
        [request] = [item for item in self.seen.requests if item.method == method and path_of(item) == f"/{name}"]
        return request

    def flags(self, name: str) -> set[str]:
        return {flag.value for flag in self.request(name).flags}


def path_of(request: ObservedRequest) -> str:
    return "/" + request.url.split("/", 3)[3].partition("?")[0]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    temp_dir = tmp_path_factory.mktemp("watched")

    async def run(served: ObservedSite) -> Observation:
        job = ObservationJob(
            served.url(""),
            resolve={OTHER_HOST: f"127.0.0.1:{served.port}"},
            form_factor="desktop",
            quiet_s=1.0,
            bodies_dir=temp_dir / "bodies",
            scroll=True,
        )
        async with Observer(temp_dir=temp_dir) as observer:
            return await observer.observe(job)

    with observed_site() as served:
        return Watched(asyncio.run(run(served)), served.contents, temp_dir)


def test_the_load_ends_when_the_page_is_quiet_although_streams_stay_open(watched: Watched) -> None:
    assert watched.seen.ended == "quiet"
    assert watched.seen.title == "All kinds"
    assert watched.seen.viewport_px == (1350, 940)


def test_everything_that_was_asked_is_there_once(watched: Watched) -> None:
    asked = sorted(path_of(item) for item in watched.seen.requests if item.method != "OPTIONS")
    never_asked = {"/never-quiet", "/reloading", "/windows", "/worker-page", "/dense", "/custom"}
    assert asked == sorted((watched.contents.keys() - never_asked) | {"/moved.png", "/events", "/favicon.ico"})


def test_what_is_lazy_is_asked_for_by_scrolling_which_comes_last(watched: Watched) -> None:
    *page, lazy = watched.seen.requests
    assert (path_of(lazy), lazy.after_scroll, lazy.flags) == ("/lazy.png", True, {Flag.LAZY})
    assert lazy.body is not None
    assert not any(item.after_scroll for item in page)
    assert watched.seen.load_ms is not None
    assert watched.seen.load_ms < lazy.asked_ms


def test_bodies_are_kept_as_they_were_sent(watched: Watched) -> None:
    kept = [item for item in watched.seen.requests if item.body is not None and path_of(item) in watched.contents]
    assert {item.encoding for item in kept} == {None, "gzip", "br"}
    for item in kept:
        assert item.body is not None
        plain = watched.contents[path_of(item)]
        assert item.body.read_bytes() == encoded(plain, item.encoding)
        assert (item.sent_bytes, item.decoded_bytes) == (item.body.stat().st_size, len(plain))
    without = {path_of(item) for item in watched.seen.requests if item.body is None}
    assert without == {"/moved.png", "/beacon", "/events"}


def test_every_kind_is_told_also_without_fetch_destinations(watched: Watched) -> None:
    kinds = {path_of(item).rpartition(".")[2]: item.kind for item in watched.seen.requests if "." in item.url}
    assert kinds["css"] is Kind.STYLESHEET
    assert kinds["js"] is Kind.SCRIPT
    assert kinds["png"] is kinds["ico"] is Kind.IMAGE
    assert kinds["woff2"] is Kind.FONT
    assert kinds["html"] is Kind.DOCUMENT
    assert watched.request("data.json").kind is Kind.XHR
    assert watched.request("app.json").kind is Kind.OTHER


def test_priorities_are_those_of_blink(watched: Watched) -> None:
    priorities = {name: watched.request(name).priority for name in ("style.css", "head.js", "async.js", "print.css")}
    assert list(priorities.values()) == [
        ChromiumPriority.VERY_HIGH,
        ChromiumPriority.HIGH,
        ChromiumPriority.LOW,
        ChromiumPriority.VERY_LOW,
    ]


def test_flags_tell_how_scripts_and_sheets_sit_in_the_page(watched: Watched) -> None:
    assert watched.flags("") == {"main", "critical"}
    assert watched.flags("style.css") == {"in_head", "critical"}
    assert watched.flags("print.css") == {"in_head"}
    assert watched.flags("late.css") == {"late_body"}
    assert watched.flags("head.js") == {"in_head", "critical"}
    assert watched.flags("defer.js") == watched.flags("module.js") == {"in_head", "defer"}
    assert watched.flags("async.js") == {"in_head", "async"}
    assert watched.flags("body.js") == {"late_body", "after_first_image"}
    assert watched.flags("inserted.js") == {"async"}  # although its element is gone at once


def test_flags_tell_what_the_first_screen_needs(watched: Watched) -> None:
    assert watched.flags("hero.png") == {"in_head", "preload", "above_fold", "hero"}
    assert watched.flags("back.png") == {"above_fold"}  # a background
    assert watched.flags("moved.png") == watched.flags("final.png") == {"above_fold"}
    assert watched.flags("below.png") == set()
    assert watched.flags("ours.woff2") == {"critical"}  # the heading is drawn with it
    assert watched.seen.lcp_url == watched.request("hero.png").url
    assert watched.seen.lcp_element is not None
    assert watched.seen.lcp_element.startswith("<img")


def test_initiators_say_who_asked_and_where(watched: Watched) -> None:
    main, style, body = (watched.request(name).url for name in ("", "style.css", "body.js"))
    assert watched.request("").initiator.type == "navigation"
    head = watched.request("head.js").initiator
    lines = watched.contents["/"].decode().split("\n")
    assert (head.type, head.url) == ("parser", main)
    assert head.line is not None
    assert lines[head.line][: head.column].endswith('<script src="/head.js">')
    assert (watched.request("back.png").initiator.type, watched.request("back.png").initiator.url) == ("parser", style)
    inserted = watched.request("inserted.js").initiator
    assert (inserted.type, inserted.url, inserted.line) == ("script", body, 3)
    assert watched.request("of-worker.json").initiator.url == watched.request("worker.js").url


def test_a_redirect_is_a_request_of_its_own(watched: Watched) -> None:
    moved, final = watched.request("moved.png"), watched.request("final.png")
    assert (moved.status, moved.body, moved.problem) == (302, None, None)
    assert final.redirected_from == moved.index
    assert (final.initiator.type, final.initiator.url) == ("redirect", moved.url)


def test_a_preflight_comes_before_what_it_asks_for(watched: Watched) -> None:
    preflight, put = watched.request("cors.json", "OPTIONS"), watched.request("cors.json", "PUT")
    assert (preflight.resource_type, preflight.initiator.type) == ("Preflight", "preflight")
    assert preflight.index < put.index


def test_header_lines_stay_apart(watched: Watched) -> None:
    main = watched.request("")
    assert [value for name, value in main.response_headers if name == "set-cookie"] == ["one=1", "two=2"]
    assert dict(main.request_headers)["user-agent"].startswith("Mozilla/5.0 (Macintosh")


def test_times_are_in_their_natural_order(watched: Watched) -> None:
    seen = watched.seen
    sent = [item.sent_ms for item in seen.requests if item.sent_ms is not None]
    assert sent == sorted(sent)
    for item in seen.requests:
        if item.first_byte_ms is not None and item.complete_ms is not None:
            assert 0 <= item.asked_ms <= item.first_byte_ms <= item.complete_ms
    assert seen.fcp_ms is not None
    assert seen.lcp_ms is not None
    assert seen.load_ms is not None
    assert 0 < seen.fcp_ms <= seen.lcp_ms


def test_what_a_copy_cannot_have_is_noted(watched: Watched) -> None:
    notes = " | ".join(watched.seen.notes)
    assert "web socket" in notes
    assert "2 requests sent data" in notes
    assert "1 request opened a stream of events" in notes


def test_the_first_screen_is_a_picture_of_the_viewport(watched: Watched) -> None:
    assert watched.seen.screenshot is not None
    with Image.open(io.BytesIO(watched.seen.screenshot)) as image:
        assert image.size == (1350, 940)


def test_nothing_stays_but_the_bodies(watched: Watched) -> None:
    assert [path.name for path in watched.temp_dir.iterdir()] == ["bodies"]


def test_over_http3_the_order_and_the_signals_are_those_of_the_wire(site: FixtureSite, tmp_path: Path) -> None:
    hosts = {"site.test": site.port, "other.test": site.port}
    job = ObservationJob("https://site.test/", hosts, spki_sha256=(site.spki_sha256,), quiet_s=0.5, screenshot=False)

    async def run() -> Observation:
        async with Observer(temp_dir=tmp_path) as observer:
            return await observer.observe(job)

    seen = asyncio.run(run())
    answered = [item for item in seen.requests if item.status]
    assert {item.protocol for item in answered} == {"h3"}
    assert [(item.urgency, item.incremental) for item in answered[:2]] == [(0, True), (0, False)]
    for item in answered:
        assert item.urgency == item.priority.rank
    hero = next(item for item in answered if item.url.endswith("hero.png"))
    assert Flag.HERO in hero.flags
    stray = next(item for item in seen.requests if "stray.example" in item.url)
    assert (stray.status, stray.problem) == (0, "it failed: net::ERR_NAME_NOT_RESOLVED")
    assert (seen.screenshot, [item.body for item in answered]) == (None, [None] * len(answered))
