"""When a page load counts, and why not."""

from __future__ import annotations

from typing import Any

import pytest

from mixedsched.browser import LoadedRequest, PageLoad, QoeMetrics, Versions
from mixedsched.experiment.lab import invalid_reason

HOSTS = ("shop.test",)
PUNCTUAL = {"punctuality": {"delivered": 1000, "late": 3, "worst_us": 1200}}


def load(*requests: tuple[str, str], finished: bool = True, warnings: tuple[str, ...] = ()) -> PageLoad:
    made = tuple(
        LoadedRequest(
            url=url,
            protocol=protocol,
            priority="High",
            resource_type="Image",
            status=200,
            transfer_bytes=1,
            resource_bytes=1,
            start_ms=0.0,
            request_ms=0.0,
            end_ms=1.0,
            finished=finished,
        )
        for url, protocol in requests
    )
    return PageLoad(
        metrics=QoeMetrics(1, 1, 1, 1, 1, 1),
        requests=made,
        frames=(),
        lcp_element=None,
        warnings=warnings,
        fallback_waits=False,
        versions=Versions("1", "1", "1"),
        benchmark_index=1000.0,
        observed={},
        timings_ms={},
    )


MAIN = ("https://shop.test/", "h3")


@pytest.mark.parametrize(
    ("page_load", "relay", "says"),
    [
        (load(MAIN, ("data:image/png;base64,", "data")), PUNCTUAL, ""),
        (load(MAIN, ("https://shop.test/a", "h2")), PUNCTUAL, "https://shop.test/a over h2"),
        (load(MAIN, ("https://other.test/a", "h3")), PUNCTUAL, "answers from other.test"),
        (load(), PUNCTUAL, "no request was answered"),
        (load(MAIN, finished=False), PUNCTUAL, "without a complete answer, for instance https://shop.test/"),
        (load(MAIN, warnings=("The page loaded too slowly to finish",)), PUNCTUAL, "too_slow"),
        (load(MAIN), {}, "link has stopped"),
        (load(MAIN), {"punctuality": {"delivered": 100, "late": 20}}, "20 of 100 packets"),
    ],
)
def test_a_load_counts_only_if_it_is_what_it_seems(page_load: PageLoad, relay: dict[str, Any], says: str) -> None:
    reason = invalid_reason(page_load, HOSTS, relay)
    assert says in reason
    assert bool(reason) == bool(says)
