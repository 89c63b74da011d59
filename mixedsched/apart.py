"""Runs a command in a process group of its own, but in our session: python -I -S apart.py COURTESY NICENESS COMMAND...

setsid would put it into another scheduling group, which must not be (see precedence.py). COURTESY: how it and all that
it starts give way to others: none, nice or idle. What the system refuses is left out.

This file imports none of ours, to start fast.
"""

import contextlib
import os
import sys


def main(courtesy: str, niceness: str, *command: str) -> None:
    """Become the command."""
    with contextlib.suppress(OSError):  # it leads one already
        os.setpgid(0, 0)
    with contextlib.suppress(OSError, AttributeError):  # AttributeError: a system without SCHED_IDLE
        if courtesy == "nice":
            os.nice(int(niceness) - os.nice(0))
        elif courtesy == "idle":
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    os.execvp(command[0], command)  # noqa: S606 - that is what it is for


if __name__ == "__main__":
    main(*sys.argv[1:])
