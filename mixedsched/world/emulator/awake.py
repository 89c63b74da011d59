"""Keeps the processors of a virtual machine awake while a link is in use.

A virtual processor with nothing to do is put to sleep by its host, which takes milliseconds to wake it again when the host
is busy: a packet's time passes meanwhile, and so does the time of all else that waits, in the server and the browser.
So a program that does nothing runs on each processor, at the one priority that gives way to all others (SCHED_IDLE).
Measured on a virtual machine with two processors, davies-meenan over sander-loss2: 8 to 19 % of the packets left the link
over 1 ms late without, 0.1 to 1 % with it.

It also yields all the time. Even SCHED_IDLE is entitled to a small share, and now and then keeps a program that has just
woken up waiting until the next tick, up to 4 ms later; a program that has yielded is entitled to nothing. And it stays in our
session: in a scheduling group of its own it would have half of the processor, whatever its priority (precedence.py).

Run as a program, this file is what runs on one processor. It ends with its standard input, and so also if we are killed. (It
is not a child of the common kind, children.py: it says nothing, and must start in a tenth of the time.)
"""

import contextlib
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_PROCESSOR_FACTS = Path("/proc/cpuinfo")
_MAX_PROCESSORS = 8  # of a larger machine some are always awake
_TURNS = 200  # some microseconds of work between two yields
_YIELDS = 50  # less than a millisecond between two looks at standard input


@contextmanager
def kept_awake(*, everywhere: bool = False) -> Iterator[int]:
    """Keep the processors from sleeping until the end of the `with`; yields how many.

    None if the machine is not virtual, unless `everywhere`, and none if the system has no priority that gives way.
    """
    watchers = [_start(processor) for processor in processors_to_keep_awake(everywhere=everywhere)]
    try:
        yield len(watchers)
    finally:
        for watcher in watchers:
            watcher.kill()
        # What gives way to all others needs a processor even to end: with four busy programs beside it, that took 0.6 to 1.9 s.
        threading.Thread(target=_wait_for, args=(watchers,), daemon=True).start()


def _wait_for(watchers: Sequence[subprocess.Popen[bytes]]) -> None:
    for watcher in watchers:
        watcher.communicate()


def processors_to_keep_awake(*, everywhere: bool = False) -> list[int]:
    """Their numbers; see kept_awake."""
    wanted = (everywhere or is_virtual()) and hasattr(os, "SCHED_IDLE")
    return sorted(os.sched_getaffinity(0))[:_MAX_PROCESSORS] if wanted else []


def is_virtual() -> bool:
    """Whether this is a virtual machine, according to its processors."""
    try:
        facts = _PROCESSOR_FACTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any("hypervisor" in line.split() for line in facts.splitlines() if line.startswith("flags"))


def _start(processor: int) -> subprocess.Popen[bytes]:
    # By its file and without site packages: it starts in a tenth of the time, and needs nothing of them.
    command = [sys.executable, "-I", "-S", __file__, str(processor)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _stay_awake(processor: int) -> None:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with contextlib.suppress(OSError):  # not allowed: then wherever the system puts us
        os.sched_setaffinity(0, {processor})
    while not select.select([0], [], [], 0)[0]:
        for _ in range(_YIELDS):
            for _ in range(_TURNS):
                pass
            os.sched_yield()


if __name__ == "__main__":
    _stay_awake(int(sys.argv[1]))
