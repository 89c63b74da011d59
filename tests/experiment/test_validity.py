"""When a page load counts, and why not."""

from __future__ import annotations

from typing import Any

import pytest

from mixedsched.browser import LoadedRequest, PageLoad, QoeMetrics, Versions
from mixedsched.experiment.lab import invalid_reason

HOSTS = ("shop.test",)
PUNCTUAL = {"punctuality": {"delivered": 1000, "late": 3, "worst_us": 1200}}


def load(*requests: tuple[str, str]) -> PageLoad:
    made = tuple(
        LoadedRequest(url, protocol, "High", "Image", 200, 1, 1, 0.0, 0.0, 1.0, True) for url, protocol in requests
    )
    return PageLoad(QoeMetrics(1, 1, 1, 1, 1, 1), made, (), None, (), Versions("1", "1", "1"), False, 1000.0, {}, {})


@pytest.mark.parametrize(
    ("requests", "relay", "says"),
    [
        ([("https://shop.test/", "h3"), ("data:image/png;base64,", "data")], PUNCTUAL, ""),
        ([("https://shop.test/", "h3"), ("https://gone.test/", "")], PUNCTUAL, ""),
        ([("https://shop.test/", "h3"), ("https://shop.test/a", "h2")], PUNCTUAL, "requests over h2"),
        ([("https://shop.test/", "h3"), ("https://other.test/a", "h3")], PUNCTUAL, "answers from other.test"),
        ([], PUNCTUAL, "no request was answered"),
        ([("https://shop.test/", "h3")], {"punctuality": {"delivered": 100, "late": 20}}, "20 of 100 packets"),
    ],
)
def test_a_load_counts_only_if_it_is_what_it_seems(
    requests: list[tuple[str, str]], relay: dict[str, Any], says: str
) -> None:
    reason = invalid_reason(load(*requests), HOSTS, relay)
    assert says in reason
    assert bool(reason) == bool(says)
