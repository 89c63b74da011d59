"""Namespaces of who is not root: held open by their owner, entered without any privilege, and gone with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mixedsched.world.emulator.kernel._network import processes_held
from mixedsched.world.emulator.kernel.namespaces import enter, existing_namespaces, sweep
from mixedsched.world.emulator.kernel.privilege import Privilege
from mixedsched.world.emulator.kernel.registry import (
    Ownership,
    ProcessMark,
    owner_folder,
    read_ownerships,
    write_ownership,
)
from tests.families import has_ended
from tests.patience import wait_until
from tests.world.emulator.privileged import has_left_nothing, needs_user_namespaces, owner_words, without_privilege

pytestmark = needs_user_namespaces

OWNER = """
import sys
from mixedsched.world.emulator.kernel.namespaces import claimed_namespaces
from mixedsched.world.emulator.kernel.privilege import Privilege
with claimed_namespaces(["client", "server"], "a test", Privilege.USER_NAMESPACE):
    print("up", flush=True)
    sys.stdin.read()
"""
NEXT_START = """
from mixedsched.world.emulator.kernel.namespaces import claimed_namespaces
from mixedsched.world.emulator.kernel.privilege import Privilege
with claimed_namespaces(["client"], "", Privilege.USER_NAMESPACE):
    pass
"""
# Forks away from whoever watches it, as a daemon does, and says so.
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.close(1)
        os.close(2)
        time.sleep(600)
"""


@contextmanager
def owner() -> Iterator[subprocess.Popen[str]]:
    """A process that owns two namespaces until its standard input ends."""
    words = [*owner_words(Privilege.USER_NAMESPACE), sys.executable, "-c", OWNER]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        try:
            yield process
        finally:
            process.stdin.close()  # type: ignore[union-attr]
            process.wait(20)
            sweep()


def client(process: subprocess.Popen[str]) -> list[str]:
    """Words before a command that an ordinary user shall run in the client's namespace."""
    return [*without_privilege, *enter(f"mixedsched-{process.pid}-client")]


def in_client(process: subprocess.Popen[str], *words: str) -> str:
    return subprocess.run([*client(process), *words], capture_output=True, text=True, check=True).stdout


def start_next() -> None:
    subprocess.run([*owner_words(Privilege.USER_NAMESPACE), sys.executable, "-c", NEXT_START], check=True)


def daemon(process: subprocess.Popen[str]) -> int:
    """The process ID of one that runs in the client's namespace, and that nobody waits for."""
    return int(in_client(process, sys.executable, "-c", DAEMON))


def test_who_enters_is_the_user_that_it_was_in_a_network_of_its_own() -> None:
    with owner() as process:
        uid, network = in_client(process, "sh", "-c", "id -u; readlink /proc/self/ns/net").split()
        assert uid == str(os.geteuid())
        assert network != str(Path("/proc/self/ns/net").readlink())
        other = [*without_privilege, *enter(f"mixedsched-{process.pid}-server"), "readlink", "/proc/self/ns/net"]
        assert subprocess.run(other, capture_output=True, text=True, check=True).stdout.strip() != network


def test_who_enters_has_no_capability_and_yet_may_ping_and_listen_at_any_port() -> None:
    script = """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).close()  # as ping opens it
socket.create_server(("127.0.0.1", 443)).close()
"""
    no_longer_root = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    with owner() as process:
        assert in_client(process, *no_longer_root, "grep", "CapEff", "/proc/self/status").split()[1] == "0" * 16
        in_client(process, *no_longer_root, sys.executable, "-c", script)


def test_they_are_listed_by_their_names_while_they_are_there() -> None:
    with owner() as process:
        names = {f"mixedsched-{process.pid}-{role}" for role in ("client", "server")}
        assert names <= set(existing_namespaces())
        assert any(item.owner.pid == process.pid and item.about == "a test" for item in read_ownerships())
    assert not names & set(existing_namespaces())
    assert has_left_nothing(process.pid)


def test_what_runs_inside_goes_with_them_also_what_nobody_waits_for() -> None:
    with owner() as process:
        stubborn = subprocess.Popen([*client(process), "sh", "-c", "trap '' TERM; sleep 600 & wait"])
        lost = daemon(process)
        assert wait_until(lambda: len(processes_held(process.pid)) == 3)
    assert stubborn.wait(10) == -signal.SIGKILL
    assert wait_until(lambda: has_ended(lost))
    assert has_left_nothing(process.pid)


def test_after_kill_9_nothing_but_processes_can_be_left_and_the_next_start_ends_them() -> None:
    with owner() as process:
        lost = daemon(process)
        process.kill()
        process.wait()
        link = owner_folder(ProcessMark(process.pid, 0)) / "user"
        assert (link.is_symlink(), link.exists()) == (True, False)  # it leads nowhere
        assert f"mixedsched-{process.pid}-client" in existing_namespaces()  # with somebody inside
        start_next()
        assert wait_until(lambda: has_ended(lost))
        assert has_left_nothing(process.pid)


def test_a_sweep_after_kill_9_says_what_went() -> None:
    with owner() as process:
        daemon(process)
        process.kill()
        process.wait()
        assert f"mixedsched-{process.pid}-client" in sweep()
        assert has_left_nothing(process.pid)


def test_a_living_owners_are_left_alone() -> None:
    with owner() as process:
        lost = daemon(process)
        sweep()
        start_next()
        assert not has_ended(lost)
        assert "198.18" not in in_client(process, "cat", "/proc/net/fib_trie")  # it can still be entered


def test_who_is_in_no_namespace_of_a_dead_owner_is_left_alone() -> None:
    dead = ProcessMark(2_147_483_006, 1)  # beyond the largest ID that Linux gives
    write_ownership(Ownership(dead, "a test", (f"mixedsched-{dead.pid}-client",), is_held=True))
    foreign = [*without_privilege, "unshare", "--user", "--map-root-user", "--net", "sleep", "600"]
    with subprocess.Popen(foreign) as stranger:
        try:
            sweep()
            assert stranger.poll() is None
        finally:
            stranger.kill()
    assert not owner_folder(dead).exists()


def test_only_who_was_started_for_it_can_own_some() -> None:
    """A process outside of a user namespace of its own is refused, and leaves nothing."""
    words = [*without_privilege, sys.executable, "-c", NEXT_START]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        _, said = process.communicate()
    assert process.returncode != 0
    assert "a network namespace cannot be made or entered" in said
    assert has_left_nothing(process.pid)
