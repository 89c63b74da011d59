"""Keeps the processors of a virtual machine awake while a link is in use.

A virtual processor with nothing to do is put to sleep by its host, which takes milliseconds to wake it again when the host
is busy: a packet's time passes meanwhile, and so does the time of all else that waits, in the server and the browser.
So a program that does nothing naps on each processor, for 150 us at a time. Hosts look for work for some 200 us before they put
a processor to sleep (KVM's `halt_poll_ns`), and so never do. It has the one priority that gives way to all others
(SCHED_IDLE), and takes an eighth of a processor that is idle anyway. Timers of 4 ms expired 65 us late without it, 35 us with
it (medians on a virtual machine with two processors).

It must not simply run all the time, even though it gives way. While nothing else of our session runs on a processor, this
program alone stands for the session there, and Linux (seen on 6.18) may owe a session that has just been busy seconds of
processor time: programs of all other sessions, and threads of the kernel itself, waited for up to 5 s beside it, and so did
browsers, whose helpers have sessions of their own. With naps they wait for a tenth of a second at most.

Run as a program, this file is what runs on one processor. It ends with its standard input, and so also if we are killed. (It
is not a child of the common kind, children.py: it says nothing, and must start in a tenth of the time.)
"""

import contextlib
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_PROCESSOR_FACTS = Path("/proc/cpuinfo")
_MAX_PROCESSORS = 8  # of a larger machine some are always awake
_NAP_S = 150e-6
_NAPS = 50  # some ten milliseconds between two looks at standard input
_TIMER_SLACK = Path("/proc/self/timerslack_ns")  # by default, naps are 50 us longer


@contextmanager
def kept_awake(*, everywhere: bool = False) -> Iterator[int]:
    """Keep the processors from sleeping until the end of the `with`; yields how many of them.

    That is 0 where the machine is not virtual, unless `everywhere`, and where the system has no priority that gives way.
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
    with contextlib.suppress(OSError):
        _TIMER_SLACK.write_text("1", encoding="ascii")
    while not select.select([0], [], [], 0)[0]:
        for _ in range(_NAPS):
            time.sleep(_NAP_S)


if __name__ == "__main__":
    _stay_awake(int(sys.argv[1]))
