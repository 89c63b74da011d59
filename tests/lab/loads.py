"""Loads as the browser tells of them, made up."""

from __future__ import annotations

from collections.abc import Mapping

from mixedsched.world.browser.pageload import BrowserLoad, LoadedRequest, Versions


def load_of(statuses: Mapping[str, int]) -> BrowserLoad:
    """With a request for each URL."""
    requests = tuple(
        LoadedRequest(url, "h3", "High", "Image", status, 1, 1, 0.0, 0.0, 1.0, finished=True)
        for url, status in statuses.items()
    )
    return BrowserLoad({"lcp_ms": 300}, requests, (), None, (), False, Versions("1", "1", "1"), 1000.0, {}, {})
