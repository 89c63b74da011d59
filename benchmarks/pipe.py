"""Rung `pipe`: packets scheduled in a second of one core, playback and metrics included, for every scheme."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

from benchmarks._command import run_alone
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.record import Recorder
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.scheme import configure
from mixedsched.world import catalog

PAGES = 12
ROUNDS = 5
BUFFERS_BYTES = (0, 14_000, 280_000, 1_000_000)
KINDS = ("image",) * 9 + ("script",) * 6 + ("stylesheet", "xhr", "xhr", "font")


def made_up_page(seed: int) -> Page:
    """75 resources and 2 MB, the averages of recorded pages; most of them small, a few large."""
    rng = random.Random(seed)
    resources = [{"id": "html", "path": "/", "kind": "document", "body_bytes": 40_000, "flags": ["main", "critical"]}]
    for index in range(74):
        by_html = rng.random() < 0.6
        found = (
            {"found_by": "html", "found_when": "bytes", "found_at_bytes": rng.randrange(40_000)}
            if by_html or not index
            else {"found_by": f"r{rng.randrange(index)}", "found_when": "complete", "delay_ms": rng.randrange(300)}
        )
        size_bytes = min(400_000, round(rng.lognormvariate(9.2, 1.4)))
        flags = ["in_head"] if rng.random() < 0.2 else ["async"] if rng.random() < 0.3 else []
        resources.append(
            {
                "id": f"r{index}",
                "path": f"/{index}",
                "kind": rng.choice(KINDS),
                "body_bytes": size_bytes,
                "flags": flags,
                **found,
            }
        )
    return Page.from_dict({"format": PAGE_FORMAT, "name": f"made-up-{seed}", "resources": resources})


def cost(name: str, pages: Sequence[Discoveries]) -> tuple[float, int]:
    """(CPU time in s, packets) of all pages with all buffers."""
    scheme = configure(name, SCHEMES, catalog.load_mapping)
    packets, started_s = 0, time.process_time()
    for page in pages:
        for buffer_bytes in BUFFERS_BYTES:
            load = play_pipe(page, scheme, PipeOptions(send_buffer_bytes=buffer_bytes))
            packets += Recorder(page.page).record(load)["packets"]
    return time.process_time() - started_s, packets


def run() -> Iterator[str]:
    pages = [Discoveries.of(made_up_page(seed)) for seed in range(PAGES)]
    rounds = [[cost(name, pages) for name in SCHEMES] for _ in range(ROUNDS)]  # in turns: a slow moment meets all alike
    best = [min(costs) for costs in zip(*rounds, strict=True)]
    for name, (spent_s, packets) in zip(SCHEMES, best, strict=True):
        yield f"{name:12} {packets / spent_s / 1e6:5.2f} million packets/s"
    all_s, all_packets = (sum(column) for column in zip(*best, strict=True))
    loads = len(SCHEMES) * len(pages) * len(BUFFERS_BYTES)
    yield f"{'all':12} {all_packets / all_s / 1e6:5.2f} million packets/s, {loads / all_s * 60:.0f} page loads a minute"


if __name__ == "__main__":
    run_alone("pipe", __doc__, run)
