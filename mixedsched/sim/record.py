"""A simulated load as machines are told of it: one JSON object, the same keys for both rungs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from mixedsched.metrics.byte_index import byte_index_ms
from mixedsched.metrics.paint import PaintNeeds
from mixedsched.page import Page, Resource
from mixedsched.sim.load import PageLoad

Weighting = Literal["bytes", "count"]

DECIMALS = 3  # of milliseconds: simulated time is whole microseconds, more digits would be dust of floats


@dataclass(frozen=True, slots=True)
class ByteIndexes:
    """The index over all resources and over the above-the-fold set, in ms."""

    all_ms: float
    atf_ms: float


def byte_indexes(load: PageLoad, weighting: Weighting = "bytes", sample_ms: float | None = None) -> ByteIndexes:
    """ByteIndex of a load. sample_ms: None = unsampled.

    Weight of a resource: header_bytes + body_bytes, or 1 for weighting `count`. A set without any bytes falls back on counts.
    Raises ValueError for an interval below a nanosecond.
    """
    resources = load.page.by_id()
    above_fold = above_fold_ids(load.page)
    everything: list[tuple[float, float]] = []
    above: list[tuple[float, float]] = []
    for times in load.resources:
        pair = (weight_of(resources[times.id], weighting), times.complete_ms)
        everything.append(pair)
        if times.id in above_fold:
            above.append(pair)
    return ByteIndexes(byte_index_ms(everything, sample_ms), byte_index_ms(above, sample_ms))


def weight_of(resource: Resource, weighting: Weighting = "bytes") -> int:
    """What a resource counts in the index."""
    return resource.header_bytes + resource.body_bytes if weighting == "bytes" else 1


def above_fold_ids(page: Page) -> frozenset[str]:
    """The above-the-fold set: main document, critical, hero, and every font."""
    return frozenset(item.id for item in page.resources if item.is_above_fold) | {page.main.id}


def to_record(load: PageLoad, weighting: Weighting = "bytes", sample_ms: float | None = None) -> dict[str, Any]:
    """The JSON object of `simulate --json`. Times in ms, to the microsecond; `order` is run-length coded.

    Beyond the keys that design promises: `estimate_ms`, the estimated paints, and the facts of the rung under their own keys.
    """
    indexes = byte_indexes(load, weighting, sample_ms)
    paints = PaintNeeds.of(load.page).estimate(
        {item.id: item.first_byte_ms for item in load.resources},
        {item.id: item.complete_ms for item in load.resources},
    )
    return {
        "page": load.page.name,
        "scheme": load.scheme,
        "rung": load.rung,
        "send_buffer_bytes": load.send_buffer_bytes,
        "finished_ms": round(load.finished_ms, DECIMALS),
        "byte_index_ms": {"all": round(indexes.all_ms, DECIMALS), "atf": round(indexes.atf_ms, DECIMALS)},
        "estimate_ms": {"fcp": round(paints.fcp_ms, DECIMALS), "lcp": round(paints.lcp_ms, DECIMALS)},
        "hol_bytes": load.hol_bytes,
        "packets": load.packets,
        **load.facts,
        "resources": [
            {
                "id": item.id,
                "requested_ms": round(item.requested_ms, DECIMALS),
                "first_byte_ms": round(item.first_byte_ms, DECIMALS),
                "complete_ms": round(item.complete_ms, DECIMALS),
            }
            for item in load.resources
        ],
        "order": load.order,
    }
