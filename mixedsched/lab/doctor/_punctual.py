"""Is this machine punctual while a browser works, what makes it so, and what one command would give more?"""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from mixedsched.lab.diagnostics import held_ms
from mixedsched.lab.doctor._check import Check
from mixedsched.lab.machine import processors
from mixedsched.lab.model import Run
from mixedsched.lab.validity import is_of_the_machine
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
    Courtesy.NONE: "the browser gives way to nobody",
    Courtesy.NICE: "the browser is nice",
    Courtesy.IDLE: "the browser has what others leave (SCHED_IDLE)",
}


def punctuality_check(run: Run, precedence: Precedence) -> Check:
    """What a load of a page tells of this machine."""
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
    """What would make the emulated network more punctual here, the greatest gain first."""
    more = []
    if network in {Promptness.SHORT_SLICES, Promptness.ORDINARY}:
        real_time = "gives the relay real-time priority"
        if any(mark.exists() for mark in _CONTAINER_MARKS):
            more.append(f"starting the container with --ulimit rtprio=1 {real_time}")
        line = f"echo '{_user()} - rtprio 1' | sudo tee /etc/security/limits.d/mixedsched.conf"
        more.append(f"`{line}`, and a new login, {real_time}")
        python = Path(sys.executable).resolve()
        more.append(f"`sudo setcap cap_sys_nice+ep {python}` does so, too, for all that this Python runs")
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
