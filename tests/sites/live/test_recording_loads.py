"""The loads of a recording: what ends it, what is only missing, and what is written of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mixedsched.errors import MixedschedError
from mixedsched.model.request import Kind
from mixedsched.sites.live import Loads, RecordingPlan, observe_all, write_loads
from mixedsched.sites.recorded.names import site_name_of_url
from mixedsched.world.browser.observation import Observation
from mixedsched.world.browser.pageload import PageLoadFailed
from tests.sites.live.made import SHOP, Scripted, body, document, load, request


def loads_of(tmp_path: Path, *answers: Observation | Exception, **plan: Any) -> Loads:
    observer = Scripted(*answers)
    return asyncio.run(observe_all(observer, RecordingPlan(SHOP, **plan), tmp_path, lambda *_: None))


def refusal(tmp_path: Path, answer: Observation | Exception) -> MixedschedError:
    with pytest.raises(MixedschedError) as caught:
        loads_of(tmp_path, answer)
    assert SHOP in caught.value.what
    return caught.value


def test_form_factors_take_turns_and_each_load_has_its_own_bodies(tmp_path: Path) -> None:
    observer = Scripted(*[load(document())] * 4)
    found = asyncio.run(observe_all(observer, RecordingPlan(SHOP, loads=2), tmp_path, lambda *_: None))
    assert [job.form_factor for job in observer.jobs] == ["mobile", "desktop", "mobile", "desktop"]
    assert [item.form_factor for item in found.observations] == ["mobile", "mobile", "desktop", "desktop"]
    assert len({job.bodies_dir for job in observer.jobs}) == 4
    assert [job.scroll for job in observer.jobs] == [True, True, False, False]
    assert found.missing == ()


def test_a_later_load_that_fails_is_only_missing(tmp_path: Path) -> None:
    failed = PageLoadFailed("page_crashed", "out of memory")
    found = loads_of(tmp_path, load(document()), failed, load(document(status=503)), load(document()), loads=2)
    assert len(found.observations) == 2
    assert len(found.missing) == 2
    assert "out of memory" in found.missing[0]
    assert "status 503" in found.missing[1]


def test_a_form_factor_is_scrolled_until_that_has_worked_once(tmp_path: Path) -> None:
    failed = PageLoadFailed("page_crashed", "out of memory")
    observer = Scripted(load(document()), failed, load(document()), load(document()))
    asyncio.run(observe_all(observer, RecordingPlan(SHOP, loads=2), tmp_path, lambda *_: None))
    assert [job.scroll for job in observer.jobs] == [True, True, False, True]


def test_a_load_that_did_not_become_quiet_was_not_scrolled(tmp_path: Path) -> None:
    observer = Scripted(load(document(), ended="limit"), load(document()), load(document()), load(document()))
    asyncio.run(observe_all(observer, RecordingPlan(SHOP, loads=2), tmp_path, lambda *_: None))
    assert [job.scroll for job in observer.jobs] == [True, True, True, False]


def test_an_interruption_leaves_what_there_is(tmp_path: Path) -> None:
    observer = Scripted(load(document()), load(document()))
    found = asyncio.run(
        observe_all(observer, RecordingPlan(SHOP, loads=3), tmp_path, lambda *_: None, lambda: len(observer.jobs) == 2)
    )
    assert len(found.observations) == 2
    assert found.missing == ("interrupted: 4 of 6 loads are missing",)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (load(document(status=500)), "status 500"),
        (load(document(status=401)), "login"),
        (load(document(status=404)), "status 404"),
        (load(document(status=403)), "the server refuses it (status 403)"),
        (load(document(status=302)), "redirects"),
        (load(document(status=0, problem="blocked")), "blocked"),
        (load(document(problem="it had not ended")), "had not ended"),
        (load(document(kind=Kind.IMAGE, mime="image/png")), "image/png"),
        (load(request(SHOP, how="other"), notes=("nothing came",)), "nothing came"),
        (PageLoadFailed("navigation:ERR_TOO_MANY_REDIRECTS", "x"), "circle"),
        (PageLoadFailed("navigation:ERR_NAME_NOT_RESOLVED", "x"), "no such host"),
        (PageLoadFailed("navigation:ERR_CERT_AUTHORITY_INVALID", "x"), "certificate"),
        (PageLoadFailed("page_crashed", "out of memory"), "out of memory"),
    ],
)
def test_a_page_that_cannot_be_had_is_refused_in_plain_words(
    tmp_path: Path, answer: Observation | Exception, why: str
) -> None:
    error = refusal(tmp_path, answer)
    assert why in error.why
    assert error.exit_code == 1


def test_redirects_are_followed_to_the_document(tmp_path: Path) -> None:
    way = request("http://shop.test/", Kind.DOCUMENT, how="navigation", by=None, status=301)
    found = loads_of(
        tmp_path, load(way, document(redirected_from=0, how="redirect")), loads=1, form_factors=("mobile",)
    )
    assert len(found.observations) == 1


def test_the_site_says_how_it_was_recorded(tmp_path: Path) -> None:
    bodies = tmp_path / "bodies"
    bodies.mkdir()
    page = document(body=body(bodies, "<img src=a.png>"))
    found = Loads((load(page, request(f"{SHOP}a.png", body=body(bodies, "png"))),), ("load 2 (desktop) failed: x",))
    summary = write_loads(tmp_path / "shop", found, name="shop", recorded_on="2026-01-02", licence="CC0-1.0")
    manifest = json.loads((tmp_path / "shop/page.json").read_text())
    assert manifest["title"] == "A shop"
    assert manifest["licence"] == "CC0-1.0"
    assert manifest["source"] == "recorded from https://shop.test/ on 2026-01-02"
    assert manifest["record"] == {
        "url": SHOP,
        "date": "2026-01-02",
        "browser": "Chromium 156.0",
        "asked_for": SHOP,
        "loads": {"mobile": 1},
        "viewport_px": {"mobile": [412, 823]},
        "median_ms": {"mobile": {"fcp": 100.0, "lcp": 200.0, "load": 300.0}},
        "notes": ["load 2 (desktop) failed: x"],
    }
    assert summary.resources == 2


@pytest.mark.parametrize(
    ("url", "name"), [("https://www.shop.test/a", "shop-test"), ("http://127.0.0.1:8081/", "127-0-0-1-8081")]
)
def test_a_site_is_named_after_its_host(url: str, name: str) -> None:
    assert site_name_of_url(url) == name
