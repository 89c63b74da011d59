"""The browser, one real page load, and whether this machine is punctual while a browser works; if not, what would help."""

import asyncio
import getpass
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.lab._lab import Lab, LabSetup
from mixedsched.lab._validity import is_of_the_machine
from mixedsched.lab.diagnostics import held_ms
from mixedsched.lab.doctor._check import Check
from mixedsched.lab.engine import MAX_ATTEMPTS
from mixedsched.lab.machine import processors
from mixedsched.lab.model import AS_USUAL, Arm, Run, RunStatus
from mixedsched.sites.site import Site
from mixedsched.units import counted
from mixedsched.world import catalog
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.browser.pageload import PageLoadFailed
from mixedsched.world.browser.runner import LighthouseRunner
from mixedsched.world.system.precedence import Courtesy, Precedence, Promptness

BUSY_FIX = "end what else is running on this machine, and try again; the host of a virtual machine may be busy, too"
_CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))

_NETWORK: Mapping[Promptness, str] = {
    Promptness.KERNEL: "the kernel emulates the network",
    Promptness.REAL_TIME: "the relay has real-time priority",
    Promptness.SHORT_SLICES: "the relay runs in short slices",
    Promptness.ORDINARY: "the relay runs as any program",
}
_BROWSER: Mapping[Courtesy, str] = {
    Courtesy.NONE: "the browser gives way to no program",
    Courtesy.NICE: "the browser has a lower priority (nice)",
    Courtesy.IDLE: "the browser runs when nothing else does (SCHED_IDLE)",
}
_BY_HAND: Mapping[Browser, str] = {
    Browser.CHROMIUM: "start it by hand with --headless --dump-dom",
    Browser.FIREFOX: "start it by hand with --headless --screenshot",
}
_MAX_CONNECTIONS = 3  # Chromium's privacy modes: first party, third party, without credentials


async def prove_runner(browser: Browser) -> str:
    try:
        async with LighthouseRunner(browser=browser) as runner:
            versions = await runner.versions()
    except PageLoadFailed as error:
        raise MissingPartError(
            "the lighthouse-runner does not answer", why=error.detail, fix="run `mixedsched setup`"
        ) from error
    return ", ".join(f"{name.capitalize()} {version}" for name, version in versions.to_dict().items())


def prove_page_load(open_site: Callable[[], Site], browser: Browser) -> Iterator[Check]:
    """One real page load through server, relay and browser."""
    try:
        site = open_site()
        run, precedence = asyncio.run(_load(site, browser))
    except MixedschedError as error:
        yield Check("page load", False, str(error), error.fix, isinstance(error, MissingPartError))
        return
    if run.status is RunStatus.FAILED:
        yield Check("page load", False, run.reason, f"read what {browser.brand} says: {_BY_HAND[browser]}")
        return
    metrics = run.page_load["metrics"]
    detail = f"{site.name} with {len(metrics)} metrics, LCP {metrics['lcp_ms']:.0f} ms, in {run.cost_s:.1f} s"
    if run.reason:
        detail = f"{site.name} was loaded, but would not count: {run.reason}"
    if run.page_load["sandboxed"] is False:
        detail += "; without Chromium's sandbox"
    yield Check("page load", run.status is RunStatus.OK, detail, BUSY_FIX)
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
        counted(run.connections, "QUIC connection"),
        "see docs/measuring.md on how browsers split a page over connections",
    )


async def _load(site: Site, browser: Browser) -> tuple[Run, Precedence]:
    """The first load that this machine does not spoil, of as many as an experiment would make."""
    arm = Arm("eps", "eps")
    conditions = replace(AS_USUAL, browser=browser)
    setup = LabSetup(
        catalog.load_profile("cdn"), "mobile", {arm.label: site}, metrics=QUICK_METRICS, conditions=conditions
    )
    with tempfile.TemporaryDirectory(prefix="mixedsched-doctor-") as folder:
        async with Lab(setup, [arm], Path(folder)) as lab:
            for attempt in range(1, MAX_ATTEMPTS + 1):
                run = await lab.run(arm=arm.label, block=1, attempt=attempt, position=0, link_seed=attempt)
                if not is_of_the_machine(run.reason):
                    break
            return run, lab.precedence


def punctuality_check(run: Run, precedence: Precedence) -> Check:
    """Whether this machine was punctual during a page load."""
    lcp_ms = run.metric("lcp_ms")
    account = run.relay.get("punctuality", {})
    waited = [f"{who} waited {ms:.0f} ms for a processor" for who, ms in run.waited_ms.items() if ms is not None]
    told = [
        f"packets were held up for {held_ms(account, lcp_ms):.0f} of the {lcp_ms:.0f} ms before the largest paint",
        f"{account.get('late', 0)} of {account.get('delivered', 0)} left over 1 ms late",
        *waited,
        _NETWORK[precedence.network],
        _BROWSER[precedence.browser],
        f"{precedence.awake} processors are kept awake" if precedence.awake else "",
    ]
    detail = "; ".join(part for part in told if part)
    return Check("punctuality", not is_of_the_machine(run.reason), detail, BUSY_FIX, advice=advice(precedence.network))


def advice(network: Promptness) -> tuple[str, ...]:
    """Ways to make the emulated network more punctual here, the greatest gain first."""
    more = []
    if network in {Promptness.SHORT_SLICES, Promptness.ORDINARY}:
        real_time = "gives the relay real-time priority"
        if any(mark.exists() for mark in _CONTAINER_MARKS):
            more.append(f"starting the container with --ulimit rtprio=1 {real_time}")
        line = f"echo '{_user()} - rtprio 1' | sudo tee /etc/security/limits.d/mixedsched.conf"
        more.append(f"`{line}`, and a new login, {real_time}")
        python = Path(sys.executable).resolve()
        more.append(f"`sudo setcap cap_sys_nice+ep {python}` also does so, for everything that this Python runs")
    if processors() < 2:
        more.append(
            "a second processor lets the browser work while packets are delivered; this process may use only one"
        )
    return tuple(more)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # KeyError before Python 3.13: a user that the system has no name for
        return str(os.getuid())
