"""`lab`: any command over an emulated network, and a network that stays up."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mixedsched.errors import UsageError
from mixedsched.lab.command._server import filled_in, has_udp_port
from mixedsched.world.emulator.keeper import standing_lab
from mixedsched.world.emulator.kernel.privilege import Privilege
from mixedsched.world.emulator.kernel.registry import read_ownerships
from mixedsched.world.system.udp import parse_address
from mixedsched.world.system.user_programs import ends_with_us
from tests.cli.labs import CALLER, ECHO, free_udp_port, lab
from tests.command import MIXEDSCHED, run
from tests.patience import wait_until
from tests.world.emulator.privileged import (
    has_left_nothing,
    needs_namespaces,
    needs_user_namespaces,
    with_either_privilege,
    without_privilege,
)

# Says where it runs, then waits: for tests that end it.
WAITER = "import os, sys, time; print(os.getpid(), os.readlink('/proc/self/ns/net'), flush=True); time.sleep(600)"


def words_for(privilege: Privilege) -> tuple[str, ...]:
    """Words before a command that shall have this privilege and no other."""
    return () if privilege is Privilege.ROOT else without_privilege


def owner_named_in(text: str) -> int:
    """The process ID in the name of a namespace, or of a device in it."""
    found = re.search(r"mix(?:edsched|lab)-(\d+)[-:]", text)
    assert found is not None, text
    return int(found[1])


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab") / "echo.py"
    path.write_text(ECHO)
    return path


@needs_namespaces
def test_it_passes_the_commands_exit_code_on_and_leaves_nothing() -> None:
    done = lab("run", "--backend", "netns", "--link", "fiber", "--", "sh", "-c", "echo at {host}; ip netns id; exit 7")
    assert done.returncode == 7
    lines = done.stdout.splitlines()
    assert lines[0] == "at 198.18.0.1"
    owner = int(lines[1].split("-")[1])
    assert lines[1] == f"mixedsched-{owner}-client"
    assert has_left_nothing(owner)
    assert "down: 0 packets" in done.stderr


@needs_user_namespaces
def test_so_it_does_for_who_is_not_root() -> None:
    script = "echo at {host}; cat /proc/net/dev; exit 7"
    words = ["--backend", "netns", "--link", "fiber", "--", "sh", "-c", script]
    done = lab("run", *words, prefix=without_privilege)
    assert (done.returncode, done.stdout.splitlines()[0]) == (7, "at 198.18.0.1"), done.stderr
    assert has_left_nothing(owner_named_in(done.stdout))
    assert "down: 0 packets" in done.stderr


@with_either_privilege
def test_a_server_of_the_users_runs_where_the_server_is(echo: Path, privilege: Privilege) -> None:
    done = lab(
        *("run", "--backend", "netns", "--link", "fiber", "--json", "--server", "198.18.0.1:7007"),
        *("--server-command", f"{sys.executable} {echo} {{host}} {{port}}"),
        *("--", sys.executable, "-c", CALLER, "{host}", "{port}"),
        prefix=words_for(privilege),
    )
    assert done.returncode == 0, done.stderr
    hello, facts = done.stdout.splitlines()
    assert hello == "hello"
    told: dict[str, Any] = json.loads(facts)
    assert (told["backend"], told["link"], told["exit_code"]) == ("netns", "fiber", 0)
    assert [told["counters"][side]["packets"] for side in ("down", "up")] == [1, 1]
    assert told["counters"]["up"]["size_bytes"] == 5 + 28


@pytest.mark.slow
def test_the_relay_stands_before_a_server_of_the_users(echo: Path) -> None:
    port = free_udp_port()
    done = lab(
        *("run", "--backend", "relay", "--link", "fiber", "--json", "--server", f"127.0.0.1:{port}"),
        *("--server-command", f"{sys.executable} {echo} {{host}} {{port}}"),
        *("--", sys.executable, "-c", CALLER, "{host}", "{port}"),
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[1])
    assert [told["counters"][side]["packets"] for side in ("down", "up")] == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "prefix"),
    [
        ("relay", ()),
        pytest.param("netns", (), marks=needs_namespaces, id="netns as root"),
        pytest.param("netns", without_privilege, marks=needs_user_namespaces, id="netns in a user namespace"),
    ],
)
def test_a_site_is_served_and_the_command_finds_it(backend: str, prefix: Sequence[str], tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>hello")
    script = "echo $MIXEDSCHED_SERVER {server} $MIXEDSCHED_SERVER_HOST:$MIXEDSCHED_SERVER_PORT $MIXEDSCHED_SPKI_SHA256"
    words = ["--backend", backend, "--link", "fiber", "--site", str(tmp_path), "--", "sh", "-c", script]
    done = lab("run", *words, prefix=prefix)
    assert done.returncode == 0, done.stderr
    told, filled, parts, key = done.stdout.split()
    assert told == filled == parts
    assert told.startswith({"relay": "127.0.0.1:", "netns": "198.18.0.1:"}[backend])
    assert len(key) == 44


@contextmanager
def waiting_lab(privilege: Privilege) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """`lab run` with a command that waits, the command's process ID, and the owner of the namespaces."""
    words = ["lab", "run", "--backend", "netns", "--link", "fiber", "--", "sh", "-c"]
    where = "ip netns id" if privilege is Privilege.ROOT else "grep mixlab /proc/net/dev"
    script = f'{where}; exec {sys.executable} -c "$0"'
    command = [*words_for(privilege), *MIXEDSCHED, *words, script, WAITER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        owner = owner_named_in(process.stdout.readline())
        pid = int(process.stdout.readline().split()[0])
        try:
            yield process, pid, owner
        finally:
            process.kill()


@with_either_privilege
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_end_it_ends_the_command_and_takes_down_in_order(number: signal.Signals, privilege: Privilege) -> None:
    with waiting_lab(privilege) as (process, pid, owner):
        process.send_signal(number)
        assert process.wait(30) == 128 + number
        assert has_left_nothing(owner)
        assert not Path(f"/proc/{pid}").exists()


@with_either_privilege
def test_kill_9_leaves_neither_network_nor_command(privilege: Privilege) -> None:
    with waiting_lab(privilege) as (process, pid, owner):
        process.kill()
        assert wait_until(lambda: has_left_nothing(owner))
        assert wait_until(lambda: not Path(f"/proc/{pid}").exists())


@with_either_privilege
def test_after_kill_9_of_the_owner_it_still_ends_in_order_and_leaves_nothing(privilege: Privilege) -> None:
    with waiting_lab(privilege) as (process, pid, owner):
        os.kill(owner, signal.SIGKILL)
        process.send_signal(signal.SIGTERM)  # else it waits for its command
        assert process.wait(30) == 128 + signal.SIGTERM
        assert has_left_nothing(owner)
        assert not Path(f"/proc/{pid}").exists()


@with_either_privilege
def test_kill_9_of_both_leaves_nothing_that_the_next_start_does_not_remove(privilege: Privilege) -> None:
    with waiting_lab(privilege) as (process, pid, owner):
        os.kill(owner, signal.SIGSTOP)  # so that it cannot see to it
        process.kill()
        os.kill(owner, signal.SIGKILL)
        assert wait_until(lambda: not Path(f"/proc/{pid}").exists())
        words = ["--backend", "netns", "--link", "fiber", "--", "true"]
        assert lab("run", *words, prefix=words_for(privilege)).returncode == 0
        assert has_left_nothing(owner)


@pytest.mark.slow
@pytest.mark.skipif(not ends_with_us(), reason="there is no setpriv that knows --pdeathsig")
def test_kill_9_ends_the_programs_on_either_side_of_the_relay_too(echo: Path) -> None:
    port = free_udp_port()
    server = ["--server", f"127.0.0.1:{port}", "--server-command", f"{sys.executable} {echo} {{host}} {{port}}"]
    words = ["lab", "run", "--backend", "relay", "--link", "fiber", *server, "--", sys.executable, "-c", WAITER]
    with subprocess.Popen([*MIXEDSCHED, *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline().split()[0])
        process.kill()
    assert wait_until(lambda: not Path(f"/proc/{pid}").exists())
    assert wait_until(lambda: not has_udp_port(os.getpid(), port))


@needs_namespaces
def test_told_to_end_while_it_sets_up_it_leaves_nothing(tmp_path: Path) -> None:
    """Wherever the signal strikes: nothing of this lab is left, and it does not end as if all were well."""
    name = f"setting-up-{os.getpid()}"  # tells our namespaces from those of other labs on this machine
    profile = tmp_path / "profile.toml"
    profile.write_text(f'name = "{name}"\ndescription = ""\nsource = ""\nrtt_ms = 0\n')
    for head_start_s in (0.6, 0.9, 1.2):
        words = [*MIXEDSCHED, "lab", "run", "--backend", "netns", "--link", str(profile), "--", "sleep", "600"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                process.wait(head_start_s)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGTERM)
            assert process.wait(30) != 0
        assert not any(item.about == f"netns {name}" for item in read_ownerships())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--", "true"], "the relay needs to know its server"),
        (["run", "--backend", "netns", "--", "true", "{port}"], "there is no server to fill in"),
        (["run", "--site", "x", "--server", "a:1", "--", "true"], "cannot both"),
        (["run", "--server-command", "x", "--", "true"], "--server-command needs --server"),
        (["run", "--server", "nowhere", "--", "true"], "is not HOST:PORT"),
        (["run", "--server", "a:1", "--", "no-such-command"], "there is no command 'no-such-command'"),
        (["run", "--server", "foo.invalid:4567", "--", "true"], "there is no host 'foo.invalid'"),
        (["run", "--server", f"{'x' * 64}.example:1", "--", "true"], "there is no host"),
        (["run", "--server", "127.0.0.1:1", "--server-command", 'a"', "--", "true"], "close its quotes"),
        (["run", "--server", "127.0.0.1:1", "--server-command", "", "--", "true"], "--server-command is empty"),
        (["run", "--backend", "netns", "--server", "127.0.0.1:1", "--", "true"], "cannot be reached through netns"),
        (["run", "--backend", "vm", "--server", "localhost:1", "--", "true"], "has only the address 198.18.0.1"),
        (["run", "--backend", "netns", "--packet-log", "x", "--", "true"], "netns keeps no log of packets"),
        (["run", "--site", "agency", "--scheme", "nope", "--", "true"], "there is no scheme 'nope'"),
        (["up", "--backend", "relay"], "the relay has nothing to leave up"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], message: str) -> None:
    done = run("lab", *words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_bad_profile_is_refused(tmp_path: Path) -> None:
    profile = tmp_path / "bad.toml"
    profile.write_text('name = "x"\ndescription = ""\nsource = ""\nrtt_ms = -1\n')
    assert run("lab", "run", "--backend", "netns", "--link", str(profile), "--", "true").exit_code == 3


@pytest.mark.parametrize("backend", ["relay", "netns"])
def test_a_site_that_there_is_not_is_refused_as_serve_does(backend: str) -> None:
    done = run("lab", "run", "--backend", backend, "--link", "fiber", "--site", "nosite", "--", "true")
    assert done.exit_code == 3
    assert done.stderr.startswith("error: there is no site 'nosite'")


def test_a_packet_log_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "down.jsonl").write_text("precious\n")
    words = ["--server", "127.0.0.1:1", "--packet-log", str(tmp_path)]
    done = run("lab", "run", "--link", "fiber", *words, "--", "true")
    assert (done.exit_code, "would be overwritten" in done.stderr) == (2, True)
    assert (tmp_path / "down.jsonl").read_text() == "precious\n"


@needs_user_namespaces
def test_the_tools_are_found_that_a_users_path_leaves_out() -> None:
    words = ["--backend", "netns", "--link", "fiber", "--", "/bin/true"]
    done = lab("run", *words, env={"PATH": "/usr/bin:/bin"}, prefix=without_privilege)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("command", "has_a_fix"), [("false", False), ("true", True)])
def test_a_server_command_that_ends_at_once_fails_the_run(command: str, has_a_fix: bool) -> None:
    words = ["--server", f"127.0.0.1:{free_udp_port()}", "--server-command", command]
    done = lab("run", "--backend", "relay", "--link", "fiber", *words, "--", "true")
    assert done.returncode == 1
    assert "ended at once" in done.stderr
    assert ("stay in the foreground" in done.stderr) is has_a_fix


@with_either_privilege
def test_a_lab_stays_up_until_it_is_taken_down(privilege: Privilege) -> None:
    if standing_lab() is not None:
        pytest.skip("a lab is up on this machine")
    prefix = words_for(privilege)
    try:
        up = json.loads(lab("up", "--backend", "netns", "--link", "fiber", "--json", prefix=prefix).stdout)
        words = [*prefix, *up["client_prefix"], "ip", "-o", "address"]
        assert "198.18.0.2/24" in subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert json.loads(lab("status", "--json", prefix=prefix).stdout)["up"]["link"] == "fiber"
        again = lab("up", "--backend", "netns", "--link", "cable", prefix=prefix)
        assert (again.returncode, "is up already" in again.stderr) == (2, True)
    finally:
        down = lab("down", "--json", prefix=prefix)
    assert down.returncode == 0, down.stderr
    removed = json.loads(down.stdout)["removed"]
    owner = owner_named_in(up["client_prefix"][-1])
    assert {f"mixedsched-{owner}-{role}" for role in ("server", "client", "tbf-down")} <= set(removed)
    assert has_left_nothing(owner)
    assert json.loads(lab("status", "--json").stdout)["up"] is None


@needs_namespaces
def test_of_two_labs_that_come_up_at_once_one_is_refused() -> None:
    if standing_lab() is not None:
        pytest.skip("a lab is up on this machine")
    words = [*MIXEDSCHED, "lab", "up", "--backend", "netns", "--link", "fiber", "--json"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        said = [process.communicate(timeout=60) for process in both]
        assert sorted(process.returncode for process in both) == [0, 2]
        won, lost = sorted(said, key=lambda texts: "is up already" in texts[1])
        keeper = json.loads(won[0])["keeper"]["pid"]
        standing = standing_lab()
        assert standing is not None
        assert standing.keeper.pid == keeper
        assert "a lab is up already: netns with fiber" in lost[1]
        labs = [item for item in read_ownerships() if item.about == "netns fiber" and item.owner.is_alive]
        assert any(item.namespaces[0] == standing.server_prefix[-1] for item in labs)
    finally:
        assert lab("down").returncode == 0


@with_either_privilege
@pytest.mark.parametrize("killed", ["keeper", "owner"])
def test_a_lab_of_which_a_process_is_killed_is_down(privilege: Privilege, killed: str) -> None:
    if standing_lab() is not None:
        pytest.skip("a lab is up on this machine")
    words = ["up", "--backend", "netns", "--link", "fiber", "--json"]
    up = json.loads(lab(*words, prefix=words_for(privilege)).stdout)
    owner = owner_named_in(up["client_prefix"][-1])
    try:
        os.kill(up["keeper"]["pid"] if killed == "keeper" else owner, signal.SIGKILL)
        assert wait_until(lambda: has_left_nothing(owner) and standing_lab() is None)
    finally:
        assert lab("down").returncode == 0


def test_only_known_marks_are_filled_in() -> None:
    filled = filled_in(["{server}", "a{host}b", '{"json": {port}}', "{}"], ("198.18.0.1", 4433))
    assert filled == ["198.18.0.1:4433", "a198.18.0.1b", '{"json": 4433}', "{}"]


def test_addresses() -> None:
    assert parse_address("198.18.0.1:4433") == ("198.18.0.1", 4433)
    assert parse_address("[::1]:4433") == ("::1", 4433)
    for text in ("", "host", "host:", ":1", "host:0", "host:65536", "host:-1", "host:x"):
        with pytest.raises(UsageError):
            parse_address(text)
