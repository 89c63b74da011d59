"""What tests of network namespaces share. They run where the privilege is, and say why they do not elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from mixedsched.errors import MissingPartError
from mixedsched.model.profile import Profile
from mixedsched.world.emulator.kernel._network import processes_held, run
from mixedsched.world.emulator.kernel.privilege import Privilege, require_privilege
from mixedsched.world.emulator.kernel.registry import registry_folder


def _why_not_root() -> str:
    try:
        return "" if require_privilege() is Privilege.ROOT else "network namespaces with names need root"
    except MissingPartError as error:
        return str(error)


def _why_no_user_namespace() -> str:
    script = "from mixedsched.world.emulator.kernel.privilege import require_privilege; print(require_privilege())"
    words = [*without_privilege, sys.executable, "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return (
        ""
        if done.stdout == f"{Privilege.USER_NAMESPACE}\n"
        else f"no user namespaces here: {done.stderr.strip()[-300:]}"
    )


_no_root = _why_not_root()

# Words before a command that shall do without, where there is something to do without. Root needs CAP_SETFCAP to have a user
# namespace, which nobody else does.
without_privilege = () if _no_root else ("setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all")

_no_user_namespace = _why_no_user_namespace()

# tests/conftest.py skips what is marked so where something is missing.
needs_namespaces = pytest.mark.namespaces(missing=_no_root)
needs_user_namespaces = pytest.mark.namespaces(missing=_no_user_namespace)
EITHER_PRIVILEGE = (
    pytest.param(Privilege.ROOT, marks=needs_namespaces, id="root"),
    pytest.param(Privilege.USER_NAMESPACE, marks=needs_user_namespaces, id="user namespace"),
)
with_either_privilege = pytest.mark.parametrize("privilege", EITHER_PRIVILEGE)


def owner_words(privilege: Privilege) -> tuple[str, ...]:
    """Words before the command of an owner that shall have this privilege and no other."""
    return () if privilege is Privilege.ROOT else (*without_privilege, *privilege.owner_prefix)


def namespaces_of(pid: int) -> list[str]:
    """The namespaces with names that exist and were made by this process."""
    return [
        line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.startswith(f"mixedsched-{pid}-")
    ]


def ownerless_namespaces() -> list[str]:
    """Those of ours whose maker is no more; others may be at work here."""
    names = [line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.startswith("mixedsched-")]
    return [name for name in names if not psutil.pid_exists(int(name.split("-")[1]))]


def has_left_nothing(pid: int) -> bool:
    """No namespace, nothing in one that has no name, no note."""
    return not namespaces_of(pid) and not processes_held(pid) and not (registry_folder() / str(pid)).exists()


Testbed = tuple[subprocess.Popen[str], dict[str, Any]]


@contextmanager
def netns_testbed(network: Profile, privilege: Privilege = Privilege.ROOT) -> Iterator[Testbed]:
    """The child process of the netns back end, and what it said when it was ready."""
    words = [*owner_words(privilege), sys.executable, "-m", "mixedsched.world.emulator.netns"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            ready = ask(process, {"profile": network.facts(), "name": network.name, "privilege": privilege})
            yield process, ready["ready"]
        finally:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(20) in {0, -9}


def ask(process: subprocess.Popen[str], order: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer
