"""Benchmarks as commands: each tells what it measures, and ends as `mixedsched` does."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import __main__ as short
from benchmarks import _processes, edge, memory, remembering
from benchmarks._command import HOME
from benchmarks.study_report import cost_of
from mixedsched.errors import ExitCode, MissingPartError, MixedschedError

COMMANDS = sorted(file.stem for file in (HOME / "benchmarks").glob("[a-z]*.py"))


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # it was imported by another test
@pytest.mark.parametrize("name", COMMANDS)
def test_each_tells_what_it_measures_and_measures_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"benchmarks.{name}", run_name="__main__", alter_sys=True)
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: python -m benchmarks.{name} ")
    assert (HOME / "benchmarks" / f"{name}.py").read_text().splitlines()[0].strip('"') in told


def test_those_that_lack_a_program_are_left_out_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking() -> Iterator[str]:
        raise MissingPartError("a client is missing", fix="install it")
        yield ""

    benchmarks = (
        SimpleNamespace(__doc__="With a client.", run=lacking),
        SimpleNamespace(__doc__="Without.\n\nMore.", run=lambda: iter(["5 us"])),
    )
    monkeypatch.setattr(short, "SHORT", benchmarks)
    _, *lines = short.run()
    assert lines == ["", "With a client.", "  left out: a client is missing (install it)", "", "Without.", "  5 us"]


_TIDY = """
import signal, sys, time
def tidy(*_):
    time.sleep(0.6)  # longer than Python lets a child live that it no longer waits for
    print("tidied", file=sys.stderr, flush=True)
    sys.exit(130)
signal.signal(signal.SIGINT, tidy)
print("ready", file=sys.stderr, flush=True)
time.sleep(60)
"""
_WAITING = """
import sys
from benchmarks._command import run_to_its_end
from mixedsched.report.papers.script import run_script
run_script(lambda: run_to_its_end([sys.executable, "-c", sys.argv[1]]))
"""


@pytest.mark.slow
def test_after_ctrl_c_a_command_may_tidy_up() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WAITING, _TIDY], stderr=subprocess.PIPE, text=True, cwd=HOME, start_new_session=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr.read() == "tidied\n"
    assert process.returncode == ExitCode.INTERRUPTED


def test_a_server_that_does_not_start_is_told_as_that() -> None:
    with (
        pytest.raises(MixedschedError, match="did not start"),
        _processes._server(["-c", "raise SystemExit('no room')"]),
    ):
        pass


def test_a_web_server_that_does_not_start_is_told_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nginx"
    program.write_text("#!/bin/sh\necho 'no user www-data' >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(edge, "NGINX", str(program))
    with pytest.raises(MixedschedError, match=r"nginx did not start: no user www-data"), edge.nginx(tmp_path):
        pass


def test_a_client_that_fails_leaves_no_others_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(*_: object, **__: object) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "60"]))
        return started[-1]

    def fail(_: object) -> None:
        raise RuntimeError("gtlsclient ended with 1")

    monkeypatch.setattr(memory, "CONNECTIONS", 3)
    monkeypatch.setattr(memory, "FILE_BYTES", 100)
    monkeypatch.setattr(memory, "our_server", lambda *_: nullcontext())
    monkeypatch.setattr(memory, "Peak", lambda *_: nullcontext())
    monkeypatch.setattr(memory, "start_client", start)
    monkeypatch.setattr(memory, "finish", fail)
    with pytest.raises(RuntimeError):
        list(memory.many_connections(tmp_path))
    assert [client.wait() for client in started] == [-signal.SIGKILL] * 3


_ALONE = """
from benchmarks.relay import _process
with _process("benchmarks._relay_ends", "server", "1", "1") as server:
    server.stdout.readline()
    raise RuntimeError("the other end has died")
"""


@pytest.mark.slow
def test_an_end_of_the_relay_does_not_wait_for_another_that_has_died() -> None:
    command = [sys.executable, "-c", _ALONE]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False, timeout=60)
    assert "the other end has died" in done.stderr


@pytest.mark.slow
def test_a_command_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(MixedschedError, match=r"`mixedsched study status` failed: \S"):
        cost_of("status", tmp_path / "no-study")


def test_a_memory_of_few_pages_is_measured_as_one_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "PAGES", 20)
    disk, server, visit = remembering.run()
    assert " 20 pages of 70 requests" in disk
    assert "too much" not in disk + server
    assert visit.startswith("a visit: ")
