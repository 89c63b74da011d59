"""`lab run` when something beside the command fails, and what the command leaves behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mixedsched.lab.command.run import counters_text
from mixedsched.world.system.user_programs import ends_with_us
from tests.cli.labs import ECHO, free_udp_port, lab
from tests.command import MIXEDSCHED
from tests.families import has_ended
from tests.patience import wait_until
from tests.world.emulator.privileged import needs_namespaces, needs_user_namespaces, without_privilege

pytestmark = pytest.mark.slow  # many processes

# Kills a process that `lab run`, which started this one, has started too: the one with a word in its command line.
KILLER = """
import os, psutil, sys
for child in psutil.Process(os.getppid()).children(recursive=True):
    if sys.argv[1] in child.cmdline() and child.pid != os.getpid():
        child.kill()
sys.exit(int(sys.argv[2]))
"""


def after_killing(
    word: str, *words: str, exit_code: int = 0, prefix: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    killer = (sys.executable, "-c", KILLER, word, str(exit_code))
    return lab("run", "--link", "fiber", *words, "--", *killer, prefix=prefix)


@pytest.fixture
def site(tmp_path: Path) -> str:
    (tmp_path / "index.html").write_text("<p>hello")
    return str(tmp_path)


@pytest.mark.parametrize(
    ("backend", "prefix"),
    [
        ("relay", ()),
        pytest.param("netns", (), marks=needs_namespaces, id="netns as root"),
        pytest.param("netns", without_privilege, marks=needs_user_namespaces, id="netns in a user namespace"),
    ],
)
def test_a_link_that_stops_fails_the_run(backend: str, prefix: Sequence[str], site: str) -> None:
    link = f"mixedsched.world.emulator.{backend}"
    done = after_killing(link, "--backend", backend, "--site", site, prefix=prefix)
    assert done.returncode == 1
    assert "the link has stopped before its time" in done.stderr
    assert "Traceback" not in done.stderr
    done = after_killing(link, "--backend", backend, "--site", site, exit_code=7, prefix=prefix)
    assert done.returncode == 7
    assert "the link has stopped before its time" in done.stderr


def test_a_server_that_stops_fails_the_run(site: str) -> None:
    done = after_killing("mixedsched.world.server", "--backend", "relay", "--site", site, "--json")
    assert done.returncode == 1
    assert "the server has stopped before its time" in done.stderr
    told = json.loads(done.stdout)
    assert told["failures"] == ["the server has stopped before its time"]
    assert told["counters"]["down"]["packets"] == 0


def test_a_server_command_that_is_killed_fails_the_run(tmp_path: Path) -> None:
    echo, port = tmp_path / "echo.py", free_udp_port()
    echo.write_text(ECHO)
    words = ["--server", f"127.0.0.1:{port}", "--server-command", f"{sys.executable} {echo} {{host}} {{port}}"]
    done = after_killing(str(echo), *words)
    assert done.returncode == 1
    assert "the server has stopped before its time" in done.stderr


def test_packets_that_missed_the_link_or_its_end_are_told_of() -> None:
    counted = {"packets": 5, "size_bytes": 165, "lost": 1, "missed": 2, "too_large": 4, "undeliverable": 3}
    said = (
        "5 packets, 165 B, 1 lost on the way, 2 never met the link, 4 too large for the link, "
        "3 that the system would not send on"
    )
    assert counters_text(counted) == said
    assert (
        counters_text({**counted, "missed": 0, "too_large": 0, "undeliverable": 0})
        == "5 packets, 165 B, 1 lost on the way"
    )


def started(words: list[str]) -> subprocess.Popen[str]:
    """`lab run` without a terminal, as where nobody sits."""
    command = [*MIXEDSCHED, "lab", "run", "--link", "fiber", "--server", "127.0.0.1:1", "--", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def test_what_the_command_leaves_running_ends_with_it() -> None:
    with started(["sh", "-c", "sleep 600 >&- & echo $!"]) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert process.wait(30) == 0
        assert wait_until(lambda: has_ended(pid))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_end_it_also_ends_what_the_command_has_started(number: signal.Signals) -> None:
    with started(["sh", "-c", "sleep 600 >&- & echo $! $$; sleep 600"]) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        process.send_signal(number)
        assert process.wait(30) == 128 + number
        assert wait_until(lambda: all(has_ended(pid) for pid in pids))


@pytest.mark.skipif(not ends_with_us(), reason="there is no setpriv that knows --pdeathsig")
def test_killed_it_takes_the_command_with_it() -> None:
    with started([sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"]) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
        assert wait_until(lambda: has_ended(pid))


@needs_namespaces
def test_the_router_vm_needs_setpriv(tmp_path: Path) -> None:
    for tool in ("ip", "tc", "qemu-system-x86_64"):
        (tmp_path / tool).write_text("#!/bin/sh\n")
        (tmp_path / tool).chmod(0o755)
    done = lab("run", "--backend", "vm", "--link", "fiber", "--", "/bin/true", env={"PATH": str(tmp_path)})
    assert (done.returncode, "needs setpriv" in done.stderr) == (4, True)
