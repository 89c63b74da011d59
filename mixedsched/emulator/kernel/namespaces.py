"""Network namespaces that never outlive their owner: made, entered, and swept when an owner died without goodbye.

Names are mixedsched-PID-ROLE, so that people see whose they are. Only namespaces of that name are ever touched, and those of a
living owner never.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mixedsched.emulator.kernel.registry import (
    Ownership,
    ProcessMark,
    forget,
    forget_unreadable,
    is_claimed,
    mark_of,
    own_mark,
    owner_folder,
    read_ownerships,
    registry_lock,
    write_ownership,
)
from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.programs import find_program, with_path

_NAME = re.compile(r"mixedsched-(\d+)-[a-z0-9-]+")
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21
_GRACE_S = 1.0  # for processes in a namespace that goes
_KILL_LIMIT_S = 3.0
_COMMAND_LIMIT_S = 30.0


@dataclass(slots=True)
class Claim:
    """The namespaces of this process. namespaces: name by role."""

    namespaces: Mapping[str, str]
    _ownership: Ownership

    @property
    def folder(self) -> Path:
        """For sockets and such files as must not outlive the owner."""
        return owner_folder(self._ownership.owner)

    def note_helper(self, pid: int) -> None:
        """A process outside the namespaces that must end with the claim, and that a later sweep ends if this process cannot."""
        mark = mark_of(pid)
        if mark is not None:
            self._ownership = replace(self._ownership, helpers=(*self._ownership.helpers, mark))
            write_ownership(self._ownership)


@contextlib.contextmanager
def claimed_namespaces(roles: Sequence[str], about: str = "") -> Iterator[Claim]:
    """Make a namespace per role, owned by this process; at the end they go with whatever still runs inside.

    What dead owners left is swept first. One claim per process at a time. about: for people, such as "netns 4g".
    Raises MissingPartError without the privilege or the tools, MixedschedError if a namespace cannot be made.
    """
    require_privilege()
    owner = own_mark()
    names = {role: f"mixedsched-{owner.pid}-{role}" for role in roles}
    with registry_lock():
        _sweep_locked()
        if is_claimed(owner):
            raise MixedschedError("this process has claimed namespaces already")
        claim = Claim(names, Ownership(owner, about, tuple(names.values())))
        write_ownership(claim._ownership)  # before anything exists, so that nothing can be left unnoted
    try:
        for name in names.values():
            run("ip", "netns", "add", name)
        yield claim
    finally:
        _tear_down(claim._ownership)


def enter(namespace: str) -> tuple[str, ...]:
    """Words before a command that shall run in a namespace."""
    return (*with_path(["ip"]), "netns", "exec", namespace)


def run(*words: str, told: str | None = None) -> str:
    """Run a command to its end and return what it printed. told: its standard input.

    Raises MixedschedError with what it said on standard error if it fails.
    """
    try:
        done = subprocess.run(
            with_path(words), input=told or "", capture_output=True, text=True, check=False, timeout=_COMMAND_LIMIT_S
        )
    except FileNotFoundError as error:
        raise MissingPartError(f"there is no {words[0]} here", fix="install iproute2") from error
    except subprocess.TimeoutExpired as error:
        raise MixedschedError(f"{' '.join(words)} does not come to an end") from error
    if done.returncode:
        raise MixedschedError(f"{' '.join(words)} failed", why=done.stderr.strip() or f"exit code {done.returncode}")
    return done.stdout


def require_privilege() -> None:
    """Raises MissingPartError if namespaces cannot be made here, with what would help."""
    missing = [tool for tool in ("ip", "tc") if find_program(tool) is None]
    if missing:
        raise MissingPartError(
            f"network namespaces need {' and '.join(missing)}", fix="install iproute2, or use --backend relay"
        )
    if not _may_make_namespaces():
        raise MissingPartError(
            "network namespaces need a privilege",
            why="this process has not got CAP_NET_ADMIN and CAP_SYS_ADMIN",
            fix="run as root, or in a user namespace: unshare --map-root-user --net --mount "
            "sh -c 'mount -t tmpfs tmpfs /run && exec mixedsched ...', or use --backend relay, which needs none",
        )


def _may_make_namespaces() -> bool:
    status = Path("/proc/self/status")
    if not status.exists():
        return False
    effective = int(re.findall(r"^CapEff:\s*([0-9a-f]+)$", status.read_text(encoding="utf-8"), re.MULTILINE)[0], 16)
    return all(effective >> capability & 1 for capability in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))


def sweep() -> list[str]:
    """Remove what dead owners left: processes, namespaces, files. Returns the names of the namespaces that went."""
    require_privilege()
    with registry_lock():
        return _sweep_locked()


def ownerships() -> list[Ownership]:
    """Who owns what at present; owners that are dead are still listed until a sweep."""
    return read_ownerships()


def existing_namespaces() -> list[str]:
    """Our namespaces that exist, whoever owns them, in order."""
    listed = (line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.strip())
    return sorted(name for name in listed if _NAME.fullmatch(name))


def _sweep_locked() -> list[str]:
    removed: list[str] = []
    known = read_ownerships()
    existing = set(existing_namespaces())
    for ownership in known:
        if not ownership.owner.is_alive:
            removed += [name for name in ownership.namespaces if name in existing]
            _tear_down(ownership)
    forget_unreadable()
    noted = {name for ownership in known for name in ownership.namespaces}
    for name in sorted(existing - noted):  # the note is gone, as when someone cleared /run
        match = _NAME.fullmatch(name)
        if match is not None and mark_of(int(match[1])) is None:
            _remove_namespace(name)
            removed.append(name)
    return removed


def _tear_down(ownership: Ownership) -> None:
    """Processes first, as a namespace lives as long as one of them; the note last, in case this is cut short."""
    _end_processes(list(ownership.helpers))
    for name in ownership.namespaces:
        _remove_namespace(name)
    forget(ownership)


def _remove_namespace(name: str) -> None:
    """Remove it with what runs in it; that it is not there is no error."""
    if name not in existing_namespaces():
        return
    deadline_s = time.monotonic() + _KILL_LIMIT_S
    while (inside := _processes_in(name)) and time.monotonic() < deadline_s:  # more than once: they may have children
        _end_processes(inside)
    with contextlib.suppress(MixedschedError):  # somebody else may have removed it
        run("ip", "netns", "delete", name)


def _processes_in(name: str) -> list[ProcessMark]:
    """What runs in the namespace, ourselves and those who started us left out."""
    try:
        pids = {int(pid) for pid in run("ip", "netns", "pids", name).split()}
    except MixedschedError:
        return []
    marks = (mark_of(pid) for pid in pids - _ancestors())
    return [mark for mark in marks if mark is not None]


def _ancestors() -> set[int]:
    pids, pid = set[int](), os.getpid()
    while pid > 1 and pid not in pids:
        pids.add(pid)
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        pid = int(re.findall(r"^PPid:\s*(\d+)$", status, re.MULTILINE)[0])
    return pids


def _end_processes(marks: Sequence[ProcessMark]) -> None:
    """Ask them to end, and kill those that have not after a moment."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        alive = [mark for mark in marks if mark.is_alive]
        for mark in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(mark.pid, number)
        deadline_s = time.monotonic() + _GRACE_S
        while any(mark.is_alive for mark in alive) and time.monotonic() < deadline_s:
            time.sleep(0.01)
