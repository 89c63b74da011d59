"""Loads whose work is slowed down, and loads whose metrics are those of Lighthouse's model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.world.browser.pageload import BrowserLoad
from mixedsched.world.browser.runner import LighthouseRunner
from tests.world.browser.h3_site import FixtureSite

pytestmark = pytest.mark.usefixtures("chromium", "real_time")

WAYS: dict[str, dict[str, Any]] = {
    "slowed": {"metrics": QUICK_METRICS, "cpu_slowdown": 6.0},
    "model": {"throttling": "simulate"},
    "model of a desktop": {"throttling": "simulate", "form_factor": "desktop"},
}


@pytest.fixture(scope="module")
def loads(site: FixtureSite, tmp_path_factory: pytest.TempPathFactory) -> dict[str, BrowserLoad]:
    """The same page, loaded in different ways."""

    async def run() -> dict[str, BrowserLoad]:
        async with LighthouseRunner(temp_dir=tmp_path_factory.mktemp("slowed")) as runner:
            return {way: await runner.run(site.job("/counting.html", **options)) for way, options in WAYS.items()}

    return asyncio.run(run())


def test_a_slower_processor_leaves_what_was_seen_and_the_network_alone(loads: dict[str, BrowserLoad]) -> None:
    """How much longer work takes is told by tests/sites/synth/test_behaviour.py."""
    load = loads["slowed"]
    assert load.largest_paint_ms == pytest.approx(load.metrics["lcp_ms"], abs=0.5)
    assert load.answered_without_h3() == ()


def test_the_model_gives_metrics_of_a_slow_network_beside_what_was_seen(loads: dict[str, BrowserLoad]) -> None:
    load = loads["model"]
    assert list(load.metrics) == ["fcp_ms", "lcp_ms", "si_ms", "tbt_ms", "cls", "tti_ms"]
    assert load.metrics["fcp_ms"] > 300 > 0, "two round trips of 150 ms at least"
    assert load.metrics["lcp_ms"] != load.observed["lcp_ms"]
    assert load.largest_paint_ms == load.observed["lcp_ms"]


def test_the_model_of_a_phone_is_slower_than_that_of_a_desktop(loads: dict[str, BrowserLoad]) -> None:
    phone, desktop = loads["model"].metrics, loads["model of a desktop"].metrics
    assert phone["fcp_ms"] > desktop["fcp_ms"]
    assert phone["tbt_ms"] > 2 * desktop["tbt_ms"] > 0, "four times as slow a processor, less 50 ms"
