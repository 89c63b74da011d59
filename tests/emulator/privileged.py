"""What tests of network namespaces share. They run where the privilege is, and say why they do not elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from mixedsched.emulator.kernel.namespaces import require_privilege, run
from mixedsched.emulator.kernel.registry import registry_folder
from mixedsched.errors import MissingPartError
from mixedsched.profile import Profile


def _why_not() -> str:
    try:
        require_privilege()
    except MissingPartError as error:
        return str(error)
    return ""


# Words before a command that shall do without, where there is something to do without.
without_privilege = () if _why_not() else ("setpriv", "--bounding-set=-all", "--inh-caps=-all")

needs_namespaces = pytest.mark.skipif(bool(_why_not()), reason=_why_not() or "none")


def namespaces_of(pid: int) -> list[str]:
    """The namespaces that exist and were made by this process."""
    return [
        line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.startswith(f"mixedsched-{pid}-")
    ]


def ownerless_namespaces() -> list[str]:
    """Those of ours whose maker is no more; others may be at work here."""
    names = [line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.startswith("mixedsched-")]
    return [name for name in names if not psutil.pid_exists(int(name.split("-")[1]))]


def has_left_nothing(pid: int) -> bool:
    """No namespace, no note. That no process is left is seen by its namespace being gone."""
    return not namespaces_of(pid) and not (registry_folder() / str(pid)).exists()


def eventually(condition: Callable[[], bool], limit_s: float = 15.0) -> bool:
    deadline_s = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def netns_testbed(network: Profile) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The child process of the netns back end, and what it said when it was ready."""
    with subprocess.Popen(
        [sys.executable, "-m", "mixedsched.emulator.netns"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            ready = ask(process, {"profile": network.facts(), "name": network.name})
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
