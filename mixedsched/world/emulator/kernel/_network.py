"""Network namespaces by the kernel's own calls: a new one, being in one for a while, and the commands that are run there.

A thread is in one network at a time, and so are the programs that it starts. A socket or device belongs for good to the network
in which it was opened. (Python has these calls from 3.12 on.)

Without root, the owner alone holds namespaces open, in a user namespace of its own, so they end when it ends. What /run/netns
is to root, the owner's folder in the registry is there: a link for each namespace, by its name, to what the owner holds open,
and one to its user namespace. The links of a dead owner lead nowhere. A program that enters runs as the same user as
before, and has no capability inside: it behaves as it does elsewhere, and a browser has its sandbox.
"""

import contextlib
import ctypes
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world.emulator.kernel.registry import ProcessMark, mark_of, owner_folder
from mixedsched.world.system.programs import find_program, run_program, with_path

_OWN_NETWORK = "/proc/thread-self/ns/net"
_CLONE_NEWNET = 0x40000000  # <linux/sched.h>
_COMMAND_LIMIT_S = 30.0
_USER = "user"  # the link to the user namespace
_SETTINGS = Path("/proc/sys/net/ipv4")  # of the network namespace that the reader is in


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
    if find_program(words[0]) is None:
        raise MissingPartError(f"there is no {words[0]} here", fix="install iproute2")
    done = run_program(words, _COMMAND_LIMIT_S, told=told)
    if done.complaint:
        raise MixedschedError(f"{' '.join(words)} failed", why=done.complaint)
    return done.output


@contextlib.contextmanager
def held_namespaces(owner: ProcessMark, names: Iterable[str]) -> Iterator[None]:
    """Make a namespace for each name, owned by this process, which must have been started in a user namespace of its own."""
    folder = owner_folder(owner)
    with ExitStack() as held:
        (folder / _USER).symlink_to(f"/proc/{owner.pid}/ns/user")
        for name in names:
            descriptor = new_network()
            held.callback(os.close, descriptor)
            (folder / name).symlink_to(f"/proc/{owner.pid}/fd/{descriptor}")
            with inside(folder / name):
                _furnish(owner)
        yield


def _furnish(owner: ProcessMark) -> None:
    """Mark the network as this owner's, and let the user ping and listen at any port, which otherwise only root may."""
    run("ip", "link", "add", "name", _device(owner.pid), "type", "bridge")
    settings = {"ping_group_range": f"{os.getgid()} {os.getgid()}", "ip_unprivileged_port_start": "0"}
    for setting, value in settings.items():
        with contextlib.suppress(OSError):  # not every kernel has it
            (_SETTINGS / setting).write_text(value, encoding="ascii")


def _device(owner_pid: int) -> str:
    """The name of a device, at most 15 characters, that is down; it only shows whose network it is in."""
    return f"mixlab-{owner_pid}"


def entering_words(link: Path) -> tuple[str, ...]:
    """Words before a command that is to run in the namespace that this link represents."""
    words = f"--user={link.parent / _USER}", "--preserve-credentials", f"--net={link}"
    return (*with_path(["nsenter"]), *words)


def processes_held(owner_pid: int) -> list[ProcessMark]:
    """What runs in the namespaces of this owner, even if the owner has ended."""
    wanted = re.compile(rf"^\s*{_device(owner_pid)}:", re.MULTILINE)
    pids = (int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit())
    marks = (mark_of(pid) for pid in pids if wanted.search(_devices_seen_by(pid)))
    return [mark for mark in marks if mark is not None]


def _devices_seen_by(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii", errors="replace")
    except OSError:  # it has ended, or may not be looked at
        return ""
