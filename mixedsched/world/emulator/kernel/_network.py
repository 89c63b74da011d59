"""Network namespaces by the kernel's own calls: a new one, being in one for a while, and the commands that are run there.

A thread is in one network at a time, and so are the programs that it starts. A socket or device belongs for good to the network
in which it was opened. (Python has these calls from 3.12 on.)
"""

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world.system.programs import with_path

_OWN_NETWORK = "/proc/thread-self/ns/net"
_CLONE_NEWNET = 0x40000000  # <linux/sched.h>
_COMMAND_LIMIT_S = 30.0


@contextlib.contextmanager
def inside(network: Path) -> Iterator[None]:
    """Move this thread into a network until the end of the `with`. network: the file that represents it."""
    with network.open("rb") as theirs, _back_afterwards():
        _call("setns", theirs.fileno(), _CLONE_NEWNET)
        yield


def new_network() -> int:
    """Make a network; returns a descriptor. It exists while that is open, or a process is inside."""
    with _back_afterwards():
        _call("unshare", _CLONE_NEWNET)
        return os.open(_OWN_NETWORK, os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def _back_afterwards() -> Iterator[None]:
    with Path(_OWN_NETWORK).open("rb") as ours:
        try:
            yield
        finally:
            _call("setns", ours.fileno(), _CLONE_NEWNET)


def _call(name: str, *arguments: int) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        why = os.strerror(ctypes.get_errno())
        raise MixedschedError("a network namespace cannot be made or entered", why=f"{name}: {why}")


def run(*words: str, told: str = "") -> str:
    """Run a command to its end and return what it printed. told: its standard input.

    Raises MixedschedError with its standard error if it fails.
    """
    try:
        done = subprocess.run(
            with_path(words), input=told, capture_output=True, text=True, check=False, timeout=_COMMAND_LIMIT_S
        )
    except FileNotFoundError as error:
        raise MissingPartError(f"there is no {words[0]} here", fix="install iproute2") from error
    except subprocess.TimeoutExpired as error:
        raise MixedschedError(f"{' '.join(words)} does not end") from error
    if done.returncode:
        raise MixedschedError(f"{' '.join(words)} failed", why=done.stderr.strip() or f"exit code {done.returncode}")
    return done.stdout
