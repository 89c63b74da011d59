"""Lighthouse and one real page load."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.lab.doctor._check import Check
from mixedsched.lab.doctor._punctual import BUSY_FIX, punctuality_check
from mixedsched.lab.engine import MAX_ATTEMPTS
from mixedsched.lab.lab import Lab, LabSetup
from mixedsched.lab.model import Arm, Run, RunStatus
from mixedsched.lab.validity import is_of_the_machine
from mixedsched.sites.site import Site
from mixedsched.world import catalog
from mixedsched.world.browser import LighthouseRunner, PageLoadFailed
from mixedsched.world.system.precedence import Precedence

_MAX_CONNECTIONS = 3  # Chromium's privacy modes: first party, third party, without credentials


async def prove_runner() -> str:
    try:
        async with LighthouseRunner() as runner:
            versions = await runner.versions()
    except PageLoadFailed as error:
        raise MissingPartError(
            "the lighthouse-runner does not answer", why=error.detail, fix="run `mixedsched setup`"
        ) from error
    return f"Lighthouse {versions.lighthouse}, Chromium {versions.chromium}, Node {versions.node}"


def prove_page_load(open_site: Callable[[], Site]) -> Iterator[Check]:
    """One real page load through server, relay and browser."""
    try:
        site = open_site()
        run, precedence = asyncio.run(_load(site))
    except MixedschedError as error:
        yield Check("page load", False, str(error), error.fix, isinstance(error, MissingPartError))
        return
    if run.status is RunStatus.FAILED:
        yield Check(
            "page load", False, run.reason, "read what Chromium says: start it by hand with --headless --dump-dom"
        )
        return
    metrics = run.page_load["metrics"]
    told = f"{site.name} with six metrics, LCP {metrics['lcp_ms']:.0f} ms, in {run.cost_s:.1f} s"
    if run.reason:
        told = f"{site.name} was loaded, but would not count: {run.reason}"
    if not run.page_load["sandboxed"]:
        told += "; without Chromium's sandbox"
    yield Check("page load", run.status is RunStatus.OK, told, BUSY_FIX)
    yield punctuality_check(run, precedence)
    requests = run.page_load["requests"]
    over_h3 = sum(1 for request in requests if request["protocol"] == "h3")
    yield Check(
        "HTTP/3 only",
        over_h3 == len(requests),
        f"{over_h3} of {len(requests)} requests over h3",
        "another program may answer for the site's host; close other proxies and VPNs",
    )
    yield Check(
        "connections",
        1 <= run.connections <= _MAX_CONNECTIONS,
        f"{run.connections} QUIC connection{'s' if run.connections != 1 else ''}",
        "see docs/measuring.md on how Chromium splits a page over connections",
    )


async def _load(site: Site) -> tuple[Run, Precedence]:
    """The first load that this machine does not spoil, of as many as an experiment would make."""
    arm = Arm("eps", "eps")
    setup = LabSetup(catalog.load_profile("cdn"), "mobile", {arm.label: site})
    with tempfile.TemporaryDirectory(prefix="mixedsched-doctor-") as folder:
        async with Lab(setup, [arm], Path(folder)) as lab:
            for attempt in range(1, MAX_ATTEMPTS + 1):
                run = await lab.run(arm=arm.label, block=1, attempt=attempt, position=0, link_seed=attempt)
                if not is_of_the_machine(run.reason):
                    break
            return run, lab.precedence
