"""Rung `stack`: loads of a page of 1 MB in 30 responses at 4 Mbit/s, 60 ms, 2 % loss, one process."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks._command import run_alone
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.stack import play_stack
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.profile import Direction, Profile, RandomLoss
from mixedsched.model.scheme import configure
from mixedsched.world import catalog

TOTAL_BYTES = 1_000_000
HTML_BYTES = 20_000
RESPONSES = 30
LOADS = 8
ROUNDS = 3
SHOWN = ("sequential", "stock", "mixed", "firefox-tree")
DIRECTION = Direction(rate_bps=4_000_000, delay_us=30_000, loss=RandomLoss(0.02))
NETWORK = Profile("benchmark", "", "", DIRECTION, DIRECTION)


def page() -> Page:
    """A document that makes all the others known, one every 500 bytes."""
    others = RESPONSES - 1
    html = {"id": "html", "path": "/", "kind": "document", "body_bytes": HTML_BYTES}
    rest = [
        {
            "id": f"r{index}",
            "path": f"/r{index}",
            "kind": ("image", "script", "stylesheet", "font", "image")[index % 5],
            "body_bytes": (TOTAL_BYTES - HTML_BYTES) // others,
            "found_by": "html",
            "found_when": "bytes",
            "found_at_bytes": 500 * (index + 1),
        }
        for index in range(others)
    ]
    return Page.from_dict({"format": PAGE_FORMAT, "name": "benchmark", "resources": [html, *rest]})


def load_s(scheme: str, discoveries: Discoveries) -> float:
    """CPU time of one load, the mean of several seeds."""
    configured = configure(scheme, SCHEMES, catalog.load_mapping)
    started_s = time.process_time()
    for seed in range(LOADS):
        play_stack(discoveries, configured, NETWORK, seed=seed)
    return (time.process_time() - started_s) / LOADS


def run() -> Iterator[str]:
    discoveries = Discoveries.of(page())
    rounds = [[load_s(scheme, discoveries) for scheme in SHOWN] for _ in range(ROUNDS)]  # in turns
    for scheme, times_s in zip(SHOWN, zip(*rounds, strict=True), strict=True):
        yield f"{scheme:12} {1 / min(times_s):.1f} loads per second and core"


if __name__ == "__main__":
    run_alone("stack", __doc__, run)
