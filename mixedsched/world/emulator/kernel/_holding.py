"""Namespaces of an owner without root: it alone holds them open, in a user namespace of its own, so they end when it ends.

What /run/netns is to root, the owner's folder in the registry is here: a link for each namespace, by its name, to what the
owner holds open, and one to its user namespace. The links of a dead owner lead nowhere.

A program that enters runs as the same user as before, and has no capability inside: it behaves as it does elsewhere, and a
browser has its sandbox.
"""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from mixedsched.world.emulator.kernel._network import inside, new_network, run
from mixedsched.world.emulator.kernel.registry import ProcessMark, mark_of, owner_folder
from mixedsched.world.system.programs import with_path

_USER = "user"  # the link to the user namespace
_SETTINGS = Path("/proc/sys/net/ipv4")  # of the network namespace that the reader is in


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
