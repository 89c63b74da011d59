"""Who runs first on this machine while a page is measured: the network, then the server, then the browser.

Relay and server stand for other machines, and must not wait for a browser that keeps all processors busy. So:

1. Everything stays in one session. Linux gives each session a group of its own (autogroup, sched(7)) and first shares the
   processors among groups: niceness and SCHED_IDLE have no effect between groups. Process groups, which Ctrl-C and kill use,
   work within a session.
2. The browser and its worker give way to relay and server, by niceness.
3. The relay is a real-time process if it may be, and otherwise asks for short slices of time (emulator/relay/_promptness.py).
4. What keeps processors awake gives way to all others, and sleeps nearly all the time (emulator/awake.py).

None of this needs a privilege. Linux 6.6 to 6.11 lets a process finish the slice that it has begun, however nice it is, and has
no short slices: there the browser gives way by SCHED_IDLE, which makes room at once.
"""

import os
import platform
import re
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

NICENESS = 10

# From the first of these on, a waking process waits for the end of a slice, until short slices came with the second.
_SLICES_ARE_FINISHED = (6, 6)
_SLICES_CAN_BE_SHORT = (6, 12)

_APART = Path(__file__).with_name("apart.py")


class Courtesy(StrEnum):
    """How a program gives way to others."""

    NONE = "none"
    NICE = "nice"
    IDLE = "idle"


class Promptness(StrEnum):
    """How the emulated network runs ahead of other programs, the best way first."""

    KERNEL = "kernel"
    REAL_TIME = "real-time"
    SHORT_SLICES = "short-slices"
    ORDINARY = "ordinary"


@dataclass(frozen=True, slots=True)
class Precedence:
    """Who runs first in a measurement; the same for all loads that are compared."""

    network: Promptness
    """What the emulated network has."""
    browser: Courtesy
    """How the browser and its worker give way."""
    awake: int
    """How many processors are kept from sleeping."""

    def __str__(self) -> str:
        return f"network {self.network}, browser {self.browser}, {self.awake} processors kept awake"


def browser_courtesy(network: Promptness, release: tuple[int, int] | None) -> Courtesy:
    """How the browser should give way. release: the Linux kernel's; None for another system."""
    if release is None:
        return Courtesy.NICE
    finishes_slices = _SLICES_ARE_FINISHED <= release < _SLICES_CAN_BE_SHORT
    return Courtesy.IDLE if finishes_slices and network is not Promptness.REAL_TIME else Courtesy.NICE


def kernel_release() -> tuple[int, int] | None:
    """Major and minor number of the Linux kernel, such as (6, 12); None for another system."""
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(found[1]), int(found[2])) if sys.platform == "linux" and found else None


def words_before(courtesy: Courtesy = Courtesy.NONE) -> tuple[str, ...]:
    """Words before a command that make it the leader of a process group in our session, giving way like this."""
    return (sys.executable, "-I", "-S", os.fspath(_APART), courtesy.value, str(NICENESS))
