"""While a page is measured its programs share one session, and the browser's side gives way to relay and server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.lab._lab import Lab, LabSetup
from mixedsched.lab.model import Arm
from mixedsched.sites.opening import open_site
from mixedsched.world import catalog
from mixedsched.world.system.precedence import NICENESS, Courtesy
from tests.small_site import write_small_site

pytestmark = pytest.mark.usefixtures("chromium")

# By the end of a word of their command; the browser is told by one of its renderers.
PROGRAMS = {
    "relay": "mixedsched.world.emulator.relay",
    "server": "mixedsched.world.server",
    "worker": "worker.mjs",
    "browser": "--type=renderer",
}


def test_relay_server_and_browser_are_in_our_session_and_only_the_browsers_side_gives_way(tmp_path: Path) -> None:
    seen, courtesy = asyncio.run(programs_during_a_load(tmp_path))
    assert seen.keys() == PROGRAMS.keys()
    assert {session for session, _ in seen.values()} == {os.getsid(0)}
    own = os.nice(0)
    assert seen["server"][1] == seen["relay"][1] == own
    if courtesy is Courtesy.NICE:
        assert seen["worker"][1] == seen["browser"][1] == max(own, NICENESS)


async def programs_during_a_load(folder: Path) -> tuple[dict[str, tuple[int, int]], Courtesy]:
    """Session and niceness of each program, as it was seen last; and how the browser was to give way."""
    site = open_site(str(write_small_site(folder / "small")), None, lambda _: None)
    profile = catalog.load_profile("fiber")
    seen: dict[str, tuple[int, int]] = {}
    async with Lab(
        LabSetup(profile, "mobile", {"eps": site}, metrics=QUICK_METRICS), [Arm("eps", "eps")], folder
    ) as lab:
        load = asyncio.create_task(lab.run(arm="eps", block=1, attempt=1, position=0, link_seed=1))
        while not load.done():
            seen |= sessions_and_niceness(psutil.Process().children(recursive=True))
            await asyncio.sleep(0.2)
        run = await load
        assert run.page_load, run.reason
        return seen, lab.precedence.browser


def sessions_and_niceness(processes: Iterable[psutil.Process]) -> dict[str, tuple[int, int]]:
    found = {}
    for process in processes:
        try:
            words = process.cmdline()
            name = next((name for name, word in PROGRAMS.items() if any(part.endswith(word) for part in words)), None)
            if name is not None:
                found[name] = (os.getsid(process.pid), process.nice())
        except (psutil.Error, ProcessLookupError):  # it has just ended
            continue
    return found
