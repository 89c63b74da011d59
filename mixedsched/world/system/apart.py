"""Runs a command in a process group of its own, but in our session: python -I -S apart.py COURTESY NICENESS COMMAND...

setsid would put it into another scheduling group, which must not happen (see precedence.py). COURTESY: how it and its
descendants give way to others: none, nice or idle. They cannot take that back; as root, Chromium would, and put its main thread
ahead of all others. What the system refuses is skipped.

This file imports none of ours, to start fast.
"""

import contextlib
import os
import sys

_PR_CAPBSET_DROP = 24
_CAP_SYS_NICE = 23


def main(courtesy: str, niceness: str, *command: str) -> None:
    """Become the command."""
    with contextlib.suppress(OSError):  # it is the leader of one already
        os.setpgid(0, 0)
    if courtesy != "none":
        _give_way(courtesy, int(niceness))
    os.execvp(command[0], command)  # noqa: S606 - its purpose


def _give_way(courtesy: str, niceness: int) -> None:
    import ctypes
    import resource

    with contextlib.suppress(OSError, AttributeError):  # AttributeError: a system without SCHED_IDLE
        if courtesy == "nice":
            os.nice(niceness - os.nice(0))
        else:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with contextlib.suppress(OSError, ValueError, AttributeError):  # AttributeError: another system than Linux
        resource.setrlimit(resource.RLIMIT_NICE, (0, 0))
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_SYS_NICE, 0, 0, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
