"""Network namespaces that never outlive their owner: made, entered, and swept when an owner was killed.

They are named mixedsched-PID-ROLE, so that people see whose they are. Root's are kept by `ip netns` until they are removed;
those of other users by their owner (_network.py). Only namespaces of such names are touched, and only if their owner is dead.
"""

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mixedsched.errors import MixedschedError
from mixedsched.world.emulator.kernel._network import entering_words, held_namespaces, inside, processes_held, run
from mixedsched.world.emulator.kernel.privilege import NAMES_FOLDER, Privilege, may_name_namespaces
from mixedsched.world.emulator.kernel.registry import (
    Ownership,
    ProcessMark,
    forget,
    forget_unreadable,
    is_claimed,
    mark_of,
    own_mark,
    owner_folder,
    read_ownerships,
    registry_folder,
    registry_lock,
    write_ownership,
)
from mixedsched.world.system.programs import with_path

_NAME = re.compile(r"mixedsched-(\d+)-[a-z0-9-]+")
_GRACE_S = 1.0  # for processes in a namespace that goes
_KILL_LIMIT_S = 3.0


@dataclass(slots=True)
class Claim:
    """The namespaces of this process."""

    namespaces: Mapping[str, str]
    """Name by role."""
    _ownership: Ownership

    @property
    def folder(self) -> Path:
        """For sockets and files that must not outlive the owner."""
        return owner_folder(self._ownership.owner)

    def note_helper(self, pid: int) -> None:
        """Record a process outside the namespaces that must end with the claim; a later sweep ends it if need be."""
        mark = mark_of(pid)
        if mark is not None:
            self._ownership = replace(self._ownership, helpers=(*self._ownership.helpers, mark))
            write_ownership(self._ownership)


@contextlib.contextmanager
def claimed_namespaces(roles: Sequence[str], about: str = "", privilege: Privilege = Privilege.ROOT) -> Iterator[Claim]:
    """Make a namespace per role, owned by this process. At the end they are removed, and what still runs inside is ended.

    What dead owners left is swept first. A process can hold one claim at a time. about: for people, such as "netns 4g".
    privilege: what this process has; it must have been started with its prefix. Raises MixedschedError if a namespace cannot be
    made.
    """
    owner = own_mark()
    names = {role: f"mixedsched-{owner.pid}-{role}" for role in roles}
    is_held = privilege is Privilege.USER_NAMESPACE
    with registry_lock():
        _sweep_locked()
        if is_claimed(owner):
            raise MixedschedError("this process has claimed namespaces already")
        claim = Claim(names, Ownership(owner, about, tuple(names.values()), is_held=is_held))
        write_ownership(claim._ownership)  # before anything exists, so that nothing is left unrecorded
    try:
        with (held_namespaces if is_held else _named_namespaces)(owner, tuple(names.values())):
            yield claim
    finally:
        _tear_down(claim._ownership)


@contextlib.contextmanager
def _named_namespaces(_: ProcessMark, names: Sequence[str]) -> Iterator[None]:
    """As root makes them; they outlast the `with`."""
    for name in names:
        run("ip", "netns", "add", name)
    yield


def enter(namespace: str) -> tuple[str, ...]:
    """Words before a command that is to run in a namespace."""
    link = _link_of_owner(namespace)
    return (*with_path(["ip"]), "netns", "exec", namespace) if link is None else entering_words(link)


@contextlib.contextmanager
def network_of(namespace: str) -> Iterator[None]:
    """Devices and sockets that this thread opens meanwhile belong to the namespace for good. For its owner."""
    with inside(network_path(namespace)):
        yield


def network_path(namespace: str) -> Path:
    """The file that represents it."""
    return _link_of_owner(namespace) or NAMES_FOLDER / namespace


def run_in(namespace: str, *words: str, told: str = "") -> str:
    """Like `run`, inside a namespace. For its owner."""
    with network_of(namespace):
        return run(*words, told=told)


def _link_of_owner(namespace: str) -> Path | None:
    """The file by which an owner without root lets others enter; None for root's namespaces."""
    match = _NAME.fullmatch(namespace)
    if match is None:
        return None
    link = registry_folder() / match[1] / namespace
    return link if link.is_symlink() else None


def sweep() -> list[str]:
    """Remove what dead owners left: processes, namespaces, files. Returns the names of the namespaces removed."""
    with registry_lock():
        return _sweep_locked()


def existing_namespaces() -> list[str]:
    """Our namespaces that exist, of all owners, in order."""
    held = (item for item in read_ownerships() if item.is_held)
    there = (item for item in held if item.owner.is_alive or processes_held(item.owner.pid))
    return sorted({*_named(), *(name for item in there for name in item.namespaces)})


def _named() -> list[str]:
    """Root's namespaces, if this process may manage them."""
    if not may_name_namespaces():
        return []
    listed = (line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.strip())
    return [name for name in listed if _NAME.fullmatch(name)]


def _sweep_locked() -> list[str]:
    removed: list[str] = []
    known = read_ownerships()
    existing = set(existing_namespaces())
    for ownership in known:
        if not ownership.owner.is_alive and (ownership.is_held or may_name_namespaces()):
            removed += [name for name in ownership.namespaces if name in existing]
            _tear_down(ownership)
    forget_unreadable()
    recorded = {name for ownership in known for name in ownership.namespaces}
    for name in sorted(existing - recorded):  # the record is gone, as when someone cleared /run
        match = _NAME.fullmatch(name)
        if match is not None and mark_of(int(match[1])) is None:
            _remove_namespace(name)
            removed.append(name)
    return removed


def _tear_down(ownership: Ownership) -> None:
    """Processes first, as a namespace lives as long as one of them; the record last, in case this is interrupted."""
    _end_processes(list(ownership.helpers))
    if ownership.is_held:
        _empty(lambda: processes_held(ownership.owner.pid))
    else:
        for name in ownership.namespaces:
            _remove_namespace(name)
    forget(ownership)


def _remove_namespace(name: str) -> None:
    """Remove it with what runs in it, if it exists."""
    if name not in _named():
        return
    _empty(lambda: _processes_in(name))
    with contextlib.suppress(MixedschedError):  # another process may have removed it
        run("ip", "netns", "delete", name)


def _empty(found_inside: Callable[[], list[ProcessMark]]) -> None:
    """End what runs inside, but not us or our ancestors; repeatedly, because processes may have children."""
    import psutil  # here, because it takes a while to load, and mostly there is nothing to end

    deadline_s = time.monotonic() + _KILL_LIMIT_S
    ours = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    while (found := [mark for mark in found_inside() if mark.pid not in ours]) and time.monotonic() < deadline_s:
        _end_processes(found)


def _processes_in(name: str) -> list[ProcessMark]:
    try:
        marks = (mark_of(int(pid)) for pid in run("ip", "netns", "pids", name).split())
    except MixedschedError:
        return []
    return [mark for mark in marks if mark is not None]


def _end_processes(marks: Sequence[ProcessMark]) -> None:
    """Ask them to end; kill those that have not ended after a moment."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        alive = [mark for mark in marks if mark.is_alive]
        for mark in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended, or is another user's
                os.kill(mark.pid, number)
        deadline_s = time.monotonic() + _GRACE_S
        while any(mark.is_alive for mark in alive) and time.monotonic() < deadline_s:
            time.sleep(0.01)
