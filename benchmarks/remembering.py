"""What a memory of 10,000 pages takes: bytes on disk, in the server, and the time of a visit. Some seconds.

python -m benchmarks.remembering
"""

from __future__ import annotations

import contextlib
import gc
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks._command import run_alone
from mixedsched.core.learning.learned import LearnedPage
from mixedsched.core.learning.plan import SAFE
from mixedsched.core.learning.proposals import OrderRecipe, next_round, plan_of
from mixedsched.core.learning.state import MAX_PLANS, PageState, Proposal
from mixedsched.core.learning.visit import Beacon, SeenNetwork, SeenRequest, Visit
from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.world.server._learning import PAGES_AT_HAND, Learning
from mixedsched.world.store import open_memory

PAGES, VISITS, REQUESTS = 10_000, 4, 70
DISK_MB, SERVER_MB = 200.0, 50.0
TIMED = 50
_KINDS = (Kind.STYLESHEET, Kind.SCRIPT, Kind.SCRIPT, Kind.IMAGE, Kind.IMAGE, Kind.IMAGE, Kind.FONT, Kind.XHR)


def visit(page: int, order: str = SAFE) -> Visit:
    """Of a page with as many requests as the median page of the web."""
    requests = [SeenRequest(f"/page/{page}", Kind.DOCUMENT, "text/html", 30_000, ChromiumPriority.VERY_HIGH, True, 0.0)]
    for number in range(1, REQUESTS):
        kind = _KINDS[number % len(_KINDS)]
        path = f"/assets/{page}/{kind}/{number * 7919 % 1000:03d}.{kind}"
        priority = tuple(ChromiumPriority)[number % 5]
        requests.append(SeenRequest(path, kind, f"{kind}/x", 1000 + number * 997, priority, True, 100.0 + number))
    for number, item in enumerate(requests):
        item.first_byte_ms, item.last_byte_ms = item.requested_ms + 10, item.requested_ms + 50 + number
    network = SeenNetwork(20.0 if page % 2 else 150.0, 10e6 if page % 2 else 1.6e6)
    progress = tuple((float(at), at * 300) for at in range(0, 101, 5))
    beacon = Beacon(900.0, 1900.0, requests[4].path)
    return Visit(tuple(requests), progress, network, order, beacon)


def taught(page: int) -> PageState:
    """A page after some visits, with all the orders that there is room for."""
    state = PageState.of(f"/page/{page}")
    for _ in range(VISITS):
        state.learn(visit(page))
    learned = LearnedPage.of(state.memory)
    assert learned is not None
    recipes = next_round(OrderRecipe("staged", "value"), is_told=True)[:MAX_PLANS]
    state.propose([Proposal(plan_of(recipe, learned), 1.0, 0.9) for recipe in recipes])
    return state


def run() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.sqlite"
        model = taught(0)
        with open_memory(file) as store:
            store.change("/page/0", time.time(), lambda fresh: _take_over(fresh, model))
        _multiply(file)
        disk_mb = sum(item.stat().st_size for item in Path(folder).iterdir()) / 1e6
        what = f"{PAGES} pages of {REQUESTS} requests and {MAX_PLANS} orders"
        yield f"on disk: {disk_mb:.0f} MB for {what}{_over(disk_mb, DISK_MB)}"
        gc.collect()
        before = psutil.Process().memory_info().rss
        began_s = time.process_time()
        learning = Learning(file, sys.stderr.write, frozen=True)
        took_s = time.process_time() - began_s
        server_mb = (psutil.Process().memory_info().rss - before) / 1e6
        kept = f"the {PAGES_AT_HAND} pages visited last, read in {took_s:.2f} s"
        yield f"in the server: {server_mb:.0f} MB, {kept}{_over(server_mb, SERVER_MB)}"
        learning.stop()
        with open_memory(file) as store:
            began_s = time.process_time()
            for _ in range(TIMED):
                store.change("/page/7", time.time(), lambda state: state.learn(visit(7)))
            each_ms = (time.process_time() - began_s) / TIMED * 1000
            began_s = time.process_time()
            for _ in range(TIMED):
                store.versions(PAGES_AT_HAND)
            look_ms = (time.process_time() - began_s) / TIMED * 1000
        yield f"a visit: {each_ms:.1f} ms of a thread; a look for what others have learned: {look_ms:.1f} ms, once a second"


def _multiply(file: Path) -> None:
    """The page under as many paths as there is room for, in one transaction: each alone would wait for the disk."""
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.executemany(
            "INSERT INTO page_memory (path, seen_s, version, wants_thought, state) "
            "SELECT ?, seen_s, version, wants_thought, state FROM page_memory WHERE path = '/page/0'",
            [(f"/page/{page}",) for page in range(1, PAGES)],
        )


def _take_over(fresh: PageState, state: PageState) -> None:
    fresh.memory, fresh.classes, fresh.proposals = state.memory, state.classes, state.proposals
    fresh.guard, fresh.told, fresh.thought = state.guard, state.told, state.thought


def _over(found: float, wanted: float) -> str:
    return f" (below {wanted:.0f})" if found < wanted else f"  (too much: {wanted:.0f})"


if __name__ == "__main__":
    run_alone("remembering", __doc__, run)
