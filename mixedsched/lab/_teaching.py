"""Lessons: visits in the laboratory from which `adaptive` learns before it is measured."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from mixedsched.core.learning.describing import describe
from mixedsched.lab._arms import ArmServer
from mixedsched.lab.learning.thinking import think_once
from mixedsched.model.profile import Profile
from mixedsched.sites.site import Site
from mixedsched.world.store import open_memory

VISITS = 5
LINK_SEEDS_FROM = 900_000  # apart from those of blocks

OpenServer = Callable[[], AbstractAsyncContextManager[ArmServer]]
MakeVisit = Callable[[ArmServer, int], Awaitable[None]]


def lesson_file(folder: Path, site: Site, network: Profile, form_factor: str, *, beacons: bool = False) -> Path:
    """The memory of one page on one network; what is in it was learned there alone. beacons: by their help."""
    facts = json.dumps([site.name, site.page.fingerprint, network.facts(), form_factor, beacons], sort_keys=True)
    return folder / f"adaptive-{hashlib.sha256(facts.encode()).hexdigest()[:10]}.sqlite"


async def teach(file: Path, server: OpenServer, visit: MakeVisit, say: Callable[[str], None]) -> None:
    """Make visits, as many as are missing, let the orders be searched, and say what was learned.

    server: one that learns. visit: loads the page from it once; its second argument is a seed of the link.
    """
    made = await asyncio.to_thread(_visits, file)
    if made < VISITS:
        say(f"adaptive: learning from {VISITS - made} visits, which are not measured")
        async with server() as running:
            for number in range(made, VISITS):
                await visit(running, LINK_SEEDS_FROM + number)
    await asyncio.to_thread(_think, file)  # an earlier start may have ended between its last visit and this
    for line in await asyncio.to_thread(_told, file):
        say(f"adaptive: {line}")


def _visits(file: Path) -> int:
    with open_memory(file) as store:
        states = [store.page(path) for path in store.versions()]
    return max((state.memory.visits for state in states if state is not None), default=0)


def _think(file: Path) -> None:
    with open_memory(file) as store:
        think_once(store)


def _told(file: Path) -> list[str]:
    with open_memory(file) as store:
        known = [describe(state) for path in store.versions() if (state := store.page(path)) is not None]
    return [
        f"{item['path']}: {item['visits']} visits have taught the order {item['order']['name']}: {item['order']['why']}"
        for item in known
    ] or ["no visit was complete, so that the safe order is measured"]
