"""Rules of what could be saved: which of Lighthouse's findings count, and how a page is played without one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.changes.page_change import PageModel
from mixedsched.advice.changes.servers import web_server, web_server_of_field, web_servers
from mixedsched.advice.changes.waste import Moment, Waste, WastedFile, WasteKind, twins_of, wastes_of
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.errors import UsageError
from mixedsched.model.page import Page
from tests.advice.changes.shop import APP, BELOW, CSS, FONT, HERO, HOSTS, PAGE, RTT_MS

MODEL = PageModel(PAGE, {})
SMALLER = (
    WasteKind.COMPRESSION,
    WasteKind.IMAGE_FORMAT,
    WasteKind.IMAGE_SIZE,
    WasteKind.UNUSED_STYLES,
    WasteKind.UNUSED_SCRIPTS,
)


def item(path: str, **facts: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("total_bytes", "wasted_bytes", "wasted_ms", "cache_s"))
    return {**empty, "url": f"https://shop.test{path}", **facts}


def found(*, knows_caching: bool = True, **lists: list[dict[str, Any]] | None) -> tuple[Waste, ...]:
    return wastes_of(lists, PAGE, HOSTS, RTT_MS, knows_caching=knows_caching)


def wasted(*files: tuple[tuple[int, str], int]) -> tuple[WastedFile, ...]:
    return tuple(WastedFile(key, size) for key, size in files)


def body_bytes(page: Page) -> dict[str, int]:
    return {resource.id: resource.body_bytes for resource in page.resources}


# What counts


def test_files_of_one_finding_stand_together_the_worst_first() -> None:
    (waste,) = found(text_compression=[item("/site.css", wasted_bytes=6000), item("/app.js", wasted_bytes=40_000)])
    assert waste == Waste(WasteKind.COMPRESSION, wasted((APP, 40_000), (CSS, 6000)))
    assert waste.names == "app.js and site.css"


def test_of_two_ways_to_encode_an_image_the_better_counts() -> None:
    lists = {
        "image_format": [item("/hero.jpg", wasted_bytes=30_000)],
        "image_encoding": [item("/hero.jpg", wasted_bytes=9000)],
    }
    (waste,) = found(**lists)
    assert waste.files == wasted((HERO, 30_000))


def test_a_packet_more_or_less_is_no_finding() -> None:
    assert found(image_size=[item("/hero.jpg", wasted_bytes=1500)]) == ()


def test_no_file_is_smaller_than_nothing() -> None:
    (waste,) = found(unused_styles=[item("/site.css", wasted_bytes=80_000)])
    assert waste.wasted_bytes == 7999


@pytest.mark.parametrize("url", ["https://elsewhere.test/app.js", "https://shop.test/unknown.js"])
def test_what_is_not_of_the_page_does_not_count(url: str) -> None:
    assert found(text_compression=[{**item("/"), "url": url, "wasted_bytes": 9000}]) == ()


def test_what_lighthouse_could_not_tell_is_nothing() -> None:
    assert found(text_compression=None, caching=None) == ()
    assert wastes_of(None, PAGE, HOSTS, RTT_MS, knows_caching=True) == ()


def test_caching_is_judged_only_where_the_fields_are_the_real_servers() -> None:
    lists = {
        "caching": [item("/app.js", cache_s=600.0), item("/hero.jpg", cache_s=365 * 86400.0), item("/", cache_s=0.0)]
    }
    (waste,) = found(**lists)
    assert waste.files == (WastedFile(APP, 60_000, cache_s=600.0),), "a year is enough, and pages change"
    assert found(knows_caching=False, **lists) == ()


def test_the_round_trip_is_no_thinking_of_the_server() -> None:
    assert found(server_response=[item("/", wasted_ms=RTT_MS + 60)]) == ()
    (waste,) = found(server_response=[item("/", wasted_ms=RTT_MS + 400)])
    assert waste.files == (WastedFile((0, "/"), wait_ms=400.0),)


# The page without it


@given(st.sampled_from(SMALLER), st.integers(1, 200_000))
def test_fewer_bytes_are_all_that_a_smaller_file_changes(kind: WasteKind, size: int) -> None:
    twins = twins_of(MODEL, Waste(kind, wasted((HERO, size))))
    assert twins.before is MODEL
    before, after = body_bytes(twins.before.page), body_bytes(twins.after.page)
    assert after["/hero.jpg"] == max(1, before["/hero.jpg"] - size)
    assert {**after, "/hero.jpg": 0} == {**before, "/hero.jpg": 0}


def test_what_a_smaller_document_names_is_found_after_fewer_bytes() -> None:
    twins = twins_of(MODEL, Waste(WasteKind.COMPRESSION, wasted(((0, "/"), 200))))
    before, after = (
        [resource.found_at_bytes for resource in page.resources] for page in (twins.before.page, twins.after.page)
    )
    assert after == [at_bytes // 2 for at_bytes in before]


def test_text_waits_for_its_font_or_for_the_first_paint_alone() -> None:
    twins = twins_of(MODEL, Waste(WasteKind.BLOCKING_FONT, wasted((FONT, 0))))
    assert PaintNeeds.of(twins.before.page).largest == ("/text.woff2",)
    assert PaintNeeds.of(twins.after.page).largest == ()
    assert Waste(WasteKind.BLOCKING_FONT, ()).moment is Moment.TEXT


def test_a_next_visit_asks_for_what_was_not_kept_and_knows_it_from_what_was() -> None:
    twins = twins_of(MODEL, Waste(WasteKind.CACHING, wasted((FONT, 20_000), (BELOW, 80_000))))
    asked = {resource.id: resource for resource in twins.before.page.resources}
    assert list(asked) == ["html", "/below.jpg", "/text.woff2"]
    assert asked["/text.woff2"].found_by == "html", "its style sheet is in the cache"
    assert asked["/text.woff2"].found_at_bytes == PAGE.by_id()["/site.css"].found_at_bytes
    assert [resource.id for resource in twins.after.page.resources] == ["html"]


def test_a_server_that_thinks_delays_the_document() -> None:
    twins = twins_of(MODEL, Waste(WasteKind.FIRST_BYTE, (WastedFile((0, "/"), wait_ms=300.0),)))
    assert [page.main.delay_ms for page in (twins.before.page, twins.after.page)] == [300.0, 0.0]


@given(st.sampled_from(WasteKind), st.lists(st.sampled_from([HERO, BELOW, APP, CSS, FONT]), unique=True, min_size=1))
def test_every_twin_is_a_page_that_can_be_played(kind: WasteKind, keys: list[tuple[int, str]]) -> None:
    twins = twins_of(MODEL, Waste(kind, tuple(WastedFile(key, 5000, 200.0) for key in keys)))
    for model in (twins.before, twins.after):
        page = Page.from_dict(model.page.model_dump(mode="json"))
        assert page.main.id == "html"
        assert set(model.hero_needs) <= set(page.by_id())


# Servers


@pytest.mark.parametrize(
    ("field", "name"),
    [("nginx/1.31.4", "nginx"), ("openresty", "nginx"), ("Apache/2.4.57 (Debian)", "apache"), ("Caddy", "caddy"),
     ("h2o/2.3.0-DEV", "h2o"), ("LiteSpeed", "litespeed"), ("cloudflare", "cloudflare")],
)  # fmt: skip
def test_a_server_is_known_by_its_field(field: str, name: str) -> None:
    server = web_server_of_field(field)
    assert server is not None
    assert server.name == name


@pytest.mark.parametrize("field", ["", "SimpleHTTP/0.6 Python/3.11", "gws"])
def test_others_are_not_taken_for_one_that_is_known(field: str) -> None:
    assert web_server_of_field(field) is None


def test_each_server_has_a_remedy_for_what_is_its_affair_and_no_other() -> None:
    servers = {WasteKind.COMPRESSION, WasteKind.CACHING, WasteKind.FIRST_BYTE}
    for server in web_servers():
        assert {kind for kind in WasteKind if server.remedy(kind)} == servers


def test_only_servers_that_merge_the_field_are_said_to_act_on_it() -> None:
    assert [server.name for server in web_servers() if server.priority == "acts"] == ["h2o", "cloudflare"]


def test_an_unknown_server_is_refused_with_the_nearest_name() -> None:
    assert web_server("other") is None
    with pytest.raises(UsageError) as raised:
        web_server("ngnix")
    assert "nginx" in raised.value.fix
