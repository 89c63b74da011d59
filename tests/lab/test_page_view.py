"""A load as charts see it: which response holds the largest paint, who asked for what, and what held it up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mixedsched.lab.model import Arrival, Run, RunStatus
from mixedsched.lab.page_view import SeenResponse, hero_of, responses_of
from mixedsched.report._waterfall import hint_of

URLS = {name: f"https://shop.test/{name}" for name in ("a.jpg", "b.jpg", "app.js")}


def load(observed: dict[str, Any], *declared: str) -> Run:
    """A page whose images were loaded from 100 to 200 ms and from 300 to 500 ms."""
    times = {"a.jpg": (100.0, 200.0, "Image"), "b.jpg": (300.0, 500.0, "Image"), "app.js": (300.0, 500.0, "Script")}
    requests = [
        {"url": URLS[name], "request_ms": begin, "start_ms": begin, "end_ms": end, "resource_type": kind}
        for name, (begin, end, kind) in times.items()
    ]
    heroes = tuple(URLS[name] for name in declared)
    return Run(1, 1, "arm", 0, RunStatus.OK, page_load={"requests": requests, "observed": observed}, heroes=heroes)


def hero(run: Run) -> str | None:
    found = hero_of(run, responses_of(run))
    return found.path if found is not None else None


LATER = {"lcp_load_start_ms": 320.0, "lcp_load_end_ms": 480.0}


def test_the_hero_is_the_image_that_was_loaded_when_the_largest_paints_was() -> None:
    assert hero(load(LATER)) == "/b.jpg"
    assert hero(load(LATER, "a.jpg")) == "/b.jpg", "the load knows better than the manifest"


def test_where_no_image_was_loaded_just_then_the_manifest_says_which_it_is() -> None:
    elsewhere = {"lcp_load_start_ms": 900.0, "lcp_load_end_ms": 990.0}
    assert hero(load(elsewhere, "a.jpg")) == "/a.jpg"
    assert hero(load(elsewhere)) is None


@pytest.mark.parametrize("observed", [{}, {"lcp_load_start_ms": None, "lcp_load_end_ms": None}])
def test_a_page_whose_largest_paint_is_text_has_no_hero(observed: dict[str, Any]) -> None:
    assert hero(load(observed, "a.jpg")) is None


# Who asked, and what held it up


def asked(**fields: Any) -> Run:
    """A document, and a picture that was requested at 100 ms and whose first byte came at 300 ms."""
    requests = [
        {"url": "https://shop.test/", "request_ms": 0.0, "start_ms": 0.0, "end_ms": 90.0},
        {"url": "https://shop.test/app.js", "request_ms": 50.0, "start_ms": 50.0, "end_ms": 250.0},
        {"url": URLS["a.jpg"], "request_ms": 100.0, "start_ms": 80.0, "end_ms": 400.0, **fields},
    ]
    arrivals = (
        Arrival("/", 60.0, 90.0, 3, 3_000),
        Arrival("/app.js", 110.0, 250.0, 9, 12_000),
        Arrival("/", 260.0, 270.0, 1, 500),
        Arrival("/a.jpg", 300.0, 400.0, 10, 14_000),
        Arrival("/app.js", 420.0, 430.0, 1, 1_000),
    )
    return Run(1, 1, "arm", 0, RunStatus.OK, page_load={"requests": requests}, arrivals=arrivals)


def picture(run: Run) -> SeenResponse:
    return next(item for item in responses_of(run) if item.path == "/a.jpg")


def test_what_came_between_request_and_first_byte_was_ahead_of_it() -> None:
    assert picture(asked()).ahead == (("/app.js", 12_000), ("/", 500))


def test_what_was_asked_for_twice_was_ahead_all_the_same() -> None:
    run = asked()
    again = {"url": "https://shop.test/app.js", "request_ms": 500.0, "start_ms": 500.0, "end_ms": 510.0}
    twice = replace(run, page_load={"requests": [*run.page_load["requests"], again]})
    assert picture(twice).ahead == (("/app.js", 12_000), ("/", 500))


def test_without_a_network_log_nobody_knows_what_was_ahead() -> None:
    assert picture(replace(asked(), arrivals=())).ahead == ()


def test_what_never_left_is_where_the_page_asked_for_it() -> None:
    requests = [
        {"url": "https://elsewhere.test/x.png", "request_ms": None, "start_ms": 40.0, "end_ms": 41.0},
        {"url": "https://shop.test/", "request_ms": 5.0, "start_ms": 2.0, "end_ms": 30.0},
    ]
    seen = responses_of(Run(1, 1, "arm", 0, RunStatus.OK, page_load={"requests": requests}))
    assert [(item.name, item.start_ms, item.request_ms) for item in seen] == [
        ("/", 2.0, 5.0),
        ("elsewhere.test/x.png", 40.0, 40.0),
    ]


def test_one_path_on_two_hosts_is_two_responses() -> None:
    hosts = ("shop.test", "cdn.test")
    requests = [
        {"url": f"https://{host}/", "request_ms": at_ms, "start_ms": at_ms, "end_ms": 90.0}
        for host, at_ms in zip(hosts, (0.0, 20.0), strict=True)
    ]
    came_ms = zip(hosts, (50, 30), strict=True)
    arrivals = [Arrival("/", at_ms, at_ms + 5, 1, 100, authority=f"{host}:443") for host, at_ms in came_ms]
    placements = [{"authority": host, "path": "/", "placement": f"as {host}"} for host in reversed(hosts)]
    run = Run(
        *(1, 1, "arm", 0, RunStatus.OK),
        page_load={"requests": requests},
        arrivals=tuple(arrivals),
        placements=tuple(placements),
    )
    seen = [(item.name, item.placement, [part.from_ms for part in item.arrivals]) for item in responses_of(run)]
    assert seen == [("/", "as shop.test", [50]), ("cdn.test/", "as cdn.test", [30])]
    unnamed = replace(run, arrivals=tuple(replace(item, authority="") for item in arrivals))
    assert sum(len(item.arrivals) for item in responses_of(unnamed)) == 2, "as stored by earlier versions"


def test_what_comes_after_an_address_was_asked_for_again_is_of_that_request() -> None:
    requests = [
        {"url": "https://shop.test/news", "request_ms": at_ms, "start_ms": at_ms, "end_ms": at_ms + 90}
        for at_ms in (100.0, 500.0)
    ]
    since_first_ms = (430.0, 50.0, 80.0)
    arrivals = tuple(Arrival("/news", at_ms, at_ms + 5, 1, 10) for at_ms in since_first_ms)
    run = Run(1, 1, "arm", 0, RunStatus.OK, page_load={"requests": requests}, arrivals=arrivals)
    assert [[part.from_ms for part in item.arrivals] for item in responses_of(run)] == [[150, 180], [530]]


def test_who_asked_is_told_by_the_name_that_its_row_has() -> None:
    named = picture(asked(asked_by="https://shop.test/app.js?v=2", asked_how="script"))
    assert (named.asked_by, named.asked_how) == ("/app.js?v=2", "script")
    assert picture(asked(asked_by="https://cdn.test/x.css", asked_how="parser")).asked_by == "cdn.test/x.css"
    assert picture(asked(asked_by=None, asked_how=None)).asked_by == ""


def test_a_hint_says_who_asked_why_then_and_what_held_it_up() -> None:
    hint = hint_of(picture(asked(asked_by="https://shop.test/app.js", asked_how="script")))
    assert "asked for by /app.js at 80 ms, held back by the browser for 20 ms" in hint
    assert "while it waited for its first byte there came /app.js 12 kB, / 500 B" in hint
    assert "while it waited" not in hint_of(picture(replace(asked(), arrivals=())))
