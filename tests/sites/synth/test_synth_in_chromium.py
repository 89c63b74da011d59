"""Chromium does with a synthesised site what its page description says: every kind and every priority that it can give."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mixedsched.lab.fidelity import Fidelity, check_site
from mixedsched.sites.opening import load_site
from mixedsched.sites.synth import synthesise
from tests.sites.synth.pages import page, resource

pytestmark = pytest.mark.usefixtures("chromium")


def parsed(name: str, kind: str, priority: str, **more: Any) -> dict[str, Any]:
    return resource(name, kind, more.pop("size_bytes", 900), chromium_priority=priority, **more)


def called(name: str, kind: str, priority: str, parent: str = "app", **more: Any) -> dict[str, Any]:
    found = {"found_by": parent, "found_when": "complete", "delay_ms": 1200, **more}
    return resource(name, kind, found.pop("size_bytes", 900), chromium_priority=priority, **found)


TAGS = [
    parsed("main-style", "stylesheet", "VeryHigh", flags=["in_head"]),
    parsed("low-style", "stylesheet", "High", flags=["in_head"]),
    parsed("app", "script", "High", flags=["in_head"], size_bytes=4000),
    parsed("preloaded-font", "font", "High", flags=["preload"]),
    parsed("async", "script", "Low", flags=["async"]),
    parsed("hero", "image", "High", flags=["hero"], size_bytes=20_000),
    parsed("medium-image", "image", "Medium", flags=["above_fold"]),
    parsed("low-image", "image", "Low", flags=["above_fold"], host=1),
    parsed("late-script", "script", "Medium"),
    parsed("late-high-script", "script", "High"),
    parsed("late-style", "stylesheet", "Medium"),
    parsed("print-style", "stylesheet", "VeryLow"),
    parsed("film", "media", "Low", size_bytes=3000),
    parsed("frame", "document", "VeryHigh", host=1),
]
CALLS = [
    called("style-image", "image", "Low", "main-style", delay_ms=0),
    called("style-font", "font", "VeryHigh", "main-style", delay_ms=0),
    called("in-frame", "image", "Low", "frame", found_when="bytes", delay_ms=0),
    called("inserted", "script", "Low", size_bytes=30),
    called("inserted-high", "script", "High"),
    called("inserted-style", "stylesheet", "VeryHigh"),
    called("inserted-font", "font", "VeryHigh", host=1),
    called("inserted-image", "image", "High", flags=["above_fold"]),
    called("inserted-medium", "image", "Medium"),
    called("inserted-medium-script", "script", "Medium"),
    called("inserted-medium-style", "stylesheet", "Medium"),
    called("data", "xhr", "High", host=1),
    called("low-data", "xhr", "Low"),
    called("sync-data", "xhr", "VeryHigh"),
    called("prefetched", "xhr", "VeryLow"),
    called("icon", "image", "High", "html"),
    called("app-manifest", "other", "Medium", "html", incremental=False),
    called("grandchild", "image", "Low", "data"),
    called("of-a-tiny-script", "xhr", "High", "inserted"),
]


@pytest.fixture(scope="module")
def fidelity(tmp_path_factory: pytest.TempPathFactory) -> Fidelity:
    made = synthesise(page(8000, *TAGS, *CALLS), tmp_path_factory.mktemp("made-up") / "site")
    assert not made.deviations, "Chromium can do all of this"
    return asyncio.run(check_site(load_site(made.target)))


def test_chromium_asks_for_everything(fidelity: Fidelity) -> None:
    assert [one.id for one in fidelity.findings if one.what in {"request", "status", "extra"}] == []


def test_kinds_and_priorities_are_those_of_the_page(fidelity: Fidelity) -> None:
    off = [
        (one.id, one.wanted, one.got) for one in fidelity.findings if one.what in {"kind", "priority", "incremental"}
    ]
    # A parser that comes to a late script before its request has left makes it more urgent: a race inside Chromium.
    assert [one for one in off if one[0] not in {"late-script", "late-style"}] == []


def test_the_order_is_that_of_the_page_and_the_sizes_are_exact(fidelity: Fidelity) -> None:
    assert fidelity.order_correlation is not None
    assert fidelity.order_correlation >= 0.9
    assert fidelity.has_exact_sizes


def test_the_first_screen_is_that_of_the_page(fidelity: Fidelity) -> None:
    assert [one for one in fidelity.findings if one.what in {"hero", "above_fold"}] == []
