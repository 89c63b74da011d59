"""Every tool's HAR of the same page says the same of it, as far as it tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.har import pages_of, read_har
from mixedsched.sites.recorded.coding import decode_body
from tests.sites.har.hars import (
    DIALECTS,
    PAGE,
    PARTS,
    Part,
    by_url,
    changed,
    chrome,
    entry_of,
    load,
    mitmproxy,
    save,
    sitespeed,
    webpagetest,
    wire_bytes,
)

KINDS = dict(
    zip(
        [part.url for part in PARTS],
        [Kind.DOCUMENT, Kind.STYLESHEET, Kind.SCRIPT, Kind.IMAGE, Kind.FONT, Kind.XHR, Kind.IMAGE],
        strict=True,
    )
)
TELL_PRIORITIES = ["chrome", "sitespeed", "webpagetest"]
WITH_BODIES = ["chrome", "firefox", "sitespeed", "mitmproxy"]


@pytest.fixture(params=list(DIALECTS))
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_request_of_the_page_is_there_in_order_with_its_kind(tmp_path: Path, dialect: str) -> None:
    page = load(tmp_path, DIALECTS[dialect]())
    assert [item.url for item in page.exchanges] == [part.url for part in PARTS]
    assert {item.url: item.kind for item in page.exchanges} == KINDS
    assert page.facts.url == PAGE
    assert not page.facts.left_out


def test_times_are_those_of_the_page(tmp_path: Path, dialect: str) -> None:
    for part, item in zip(PARTS, load(tmp_path, DIALECTS[dialect]()).exchanges, strict=True):
        assert item.asked_ms == pytest.approx(part.at_ms), "when the page asked, not when a queue let it go"
        assert item.first_byte_ms is not None
        assert item.complete_ms is not None
        assert 20 <= item.first_byte_ms - part.at_ms <= 30
        assert item.first_byte_ms < item.complete_ms <= part.at_ms + 60


@pytest.mark.parametrize("name", TELL_PRIORITIES)
def test_priorities_are_those_with_which_requests_left(tmp_path: Path, name: str) -> None:
    for part, item in zip(PARTS, load(tmp_path, DIALECTS[name]()).exchanges, strict=True):
        assert item.priority == ChromiumPriority(part.initial), f"{part.url}: not {part.final}, which came later"


@pytest.mark.parametrize("name", ["firefox", "mitmproxy"])
def test_who_tells_no_priorities_leaves_them_to_be_derived(tmp_path: Path, name: str) -> None:
    """Firefox's urgencies are of another scale, so they are not taken for Chromium's."""
    assert {item.priority for item in load(tmp_path, DIALECTS[name]()).exchanges} == {None}


@pytest.mark.parametrize("name", TELL_PRIORITIES)
def test_initiators_are_kept(tmp_path: Path, name: str) -> None:
    found = by_url(load(tmp_path, DIALECTS[name]()))
    assert [found[part.url].found_by_url for part in PARTS] == [part.by for part in PARTS]
    assert found["https://shop.test/text.woff2"].found_how == "style"
    assert found["https://shop.test/data.json"].found_how == "script"
    assert found["https://shop.test/hero.png"].found_how == "parser"


@pytest.mark.parametrize("name", WITH_BODIES)
def test_bodies_come_back_in_their_coding_to_the_byte(tmp_path: Path, name: str) -> None:
    page = load(tmp_path, DIALECTS[name]())
    for part, item in zip(PARTS, page.exchanges, strict=True):
        assert item.encoding == part.coding
        assert decode_body(item.body, item.encoding) == part.body
        assert item.body_origin == "recorded"
    assert (page.recorded, page.synthesised) == (len(PARTS), 0)


@pytest.mark.parametrize("name", ["sitespeed", "mitmproxy"])
def test_the_level_is_taken_whose_size_comes_nearest(tmp_path: Path, name: str) -> None:
    for part, item in zip(PARTS, load(tmp_path, DIALECTS[name]()).exchanges, strict=True):
        assert abs(len(item.body) - wire_bytes(part)) <= 12


def test_webpagetest_has_sizes_as_sent_which_synthesised_bodies_have_exactly(tmp_path: Path) -> None:
    page = load(tmp_path, webpagetest())
    for part, item in zip(PARTS, page.exchanges, strict=True):
        assert (len(item.body), item.encoding, item.body_origin) == (wire_bytes(part), None, "synthesised")
    assert page.facts.notes == ("7 of 7 bodies are not in the HAR and were synthesised at their sizes",)


@pytest.mark.parametrize("name", WITH_BODIES)
def test_documents_tell_how_resources_sit_in_the_page(tmp_path: Path, name: str) -> None:
    found = by_url(load(tmp_path, DIALECTS[name]()))
    assert found["https://shop.test/style.css"].flags == {Flag.IN_HEAD, Flag.CRITICAL}
    assert found["https://cdn.shop.test/app.js"].flags == {Flag.IN_HEAD, Flag.ASYNC}
    assert found["https://shop.test/low.png"].flags == {Flag.LAZY}


@pytest.mark.parametrize("name", TELL_PRIORITIES)
def test_an_image_that_layout_raised_was_on_the_first_screen(tmp_path: Path, name: str) -> None:
    found = by_url(load(tmp_path, DIALECTS[name]()))
    assert Flag.ABOVE_FOLD in found["https://shop.test/hero.png"].flags
    assert Flag.ABOVE_FOLD not in found["https://shop.test/low.png"].flags


def test_without_bodies_the_priority_explains_how_a_resource_sits_in_the_page(tmp_path: Path) -> None:
    found = by_url(load(tmp_path, chrome(bodies=False)))
    assert found["https://shop.test/style.css"].flags == {Flag.IN_HEAD, Flag.CRITICAL}
    assert found["https://cdn.shop.test/app.js"].flags == {Flag.ASYNC}


def test_netlog_words_in_capitals_are_of_another_scale_than_those_of_the_panel(tmp_path: Path) -> None:
    har = webpagetest(runs=1)
    words = {"hero.png": "MEDIUM", "low.png": "LOWEST", "app.js": "Lowest", "data.json": "LOW", "style.css": "HIGHEST"}
    for ending, word in words.items():
        entry_of(har, ending).update({"_priority": word, "_initial_priority": word})
    levels = {item.url.rpartition("/")[2]: item.priority for item in load(tmp_path, har).exchanges}
    assert {ending: levels[ending] for ending in words} == {
        "hero.png": ChromiumPriority.HIGH,
        "low.png": ChromiumPriority.LOW,
        "app.js": ChromiumPriority.VERY_LOW,
        "data.json": ChromiumPriority.MEDIUM,
        "style.css": ChromiumPriority.VERY_HIGH,
    }


def test_a_header_without_the_field_means_low_unless_it_is_only_provisional(tmp_path: Path) -> None:
    har = chrome()
    provisional = entry_of(har, "data.json")
    provisional["request"]["headers"] = [{"name": "User-Agent", "value": "Chrome/156.0.0.0"}]
    provisional["_priority"] = "VeryLow"
    found = by_url(load(tmp_path, har))
    assert found["https://cdn.shop.test/app.js"].priority is ChromiumPriority.LOW
    assert found["https://shop.test/data.json"].priority is ChromiumPriority.VERY_LOW


def test_the_incremental_parameter_is_that_of_the_field(tmp_path: Path) -> None:
    found = by_url(load(tmp_path, chrome()))
    assert found[PAGE].incremental is True
    assert found["https://shop.test/style.css"].incremental is False
    assert load(tmp_path, sitespeed()).exchanges[0].incremental is None


def test_the_first_run_is_taken_and_others_can_be_chosen(tmp_path: Path) -> None:
    har = webpagetest(runs=3)
    har["log"]["entries"] = [item for item in har["log"]["entries"] if item["_run"] != 2 or item["_number"] < 4]
    pages = pages_of(read_har(save(tmp_path, har)))
    assert [(page.number, page.id, len(page.entries)) for page in pages] == [
        (1, "page_1_0_1", 7),
        (2, "page_2_0_1", 3),
        (3, "page_3_0_1", 7),
    ]
    assert len(load(tmp_path, har, "2").exchanges) == len(load(tmp_path, har, "page_2_0_1").exchanges) == 3


def test_a_proxy_lists_no_pages_so_navigations_part_them(tmp_path: Path) -> None:
    second = replace(PARTS[0], url="https://next.test/", at_ms=9000)
    early = Part(
        "https://update.test/check", "fetch", "empty", "application/json", b"{}", "High", "High", None, None, "other"
    )
    har = mitmproxy((early, *PARTS, second))
    for entry in har["log"]["entries"]:
        if entry["request"]["url"] in {PAGE, second.url}:
            fetch = {"sec-fetch-dest": "document", "sec-fetch-mode": "navigate"}
            entry["request"]["headers"] += [{"name": name, "value": value} for name, value in fetch.items()]
    page = load(tmp_path, har)
    assert [item.url for item in page.exchanges] == [part.url for part in PARTS]
    assert [(item.url, item.why) for item in page.facts.left_out] == [
        ("https://update.test/check", "it was asked for before the page")
    ]
    assert [item.url for item in load(tmp_path, har, "2").exchanges] == [second.url]


def test_a_redirect_to_the_page_is_of_the_page(tmp_path: Path) -> None:
    har = chrome()
    hop = changed(har["log"]["entries"][0])
    hop["request"]["url"] = "https://shop.test/old"
    hop["startedDateTime"] = "2026-11-22T02:58:40.950Z"
    hop["response"].update({"status": 302, "redirectURL": PAGE, "content": {"size": 0, "mimeType": "x-unknown"}})
    hop["response"]["headers"] = [{"name": "Location", "value": "/"}]
    har["log"]["pages"][0]["title"] = "https://shop.test/old"
    har["log"]["entries"].insert(0, hop)
    first, document = load(tmp_path, har).exchanges[:2]
    assert (first.url, first.status, first.asked_ms) == ("https://shop.test/old", 302, 0.0)
    assert (document.found_by_url, document.found_how, document.asked_ms) == ("https://shop.test/old", "redirect", 50.0)
