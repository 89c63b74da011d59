"""A load as charts see it: which response holds the largest paint."""

from __future__ import annotations

from typing import Any

import pytest

from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.page_view import hero_of, responses_of

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
