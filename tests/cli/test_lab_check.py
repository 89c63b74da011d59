"""`lab check`: the same findings for people and for machines, and an exit code for scripts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import mixedsched


def test_a_check_tells_machines_what_was_sent_measured_and_judged() -> None:
    ended = mixedsched("lab", "check", "--link", "cdn", "--losses-s", "1", "--seed", "9", "--json")
    told = json.loads(ended.stdout)
    assert (told["link"], told["backend"], told["seed"]) == ("cdn", "relay", 9)
    assert ended.returncode == (0 if told["ok"] else 1)
    found = {(item["quantity"], item["direction"]): item for item in told["findings"]}
    delay = found["one-way delay", "down"]
    assert delay["nominal"] == 10
    assert delay["low"] <= delay["measured"] <= delay["high"]
    assert found["rate", "down"]["verdict"] == "not applicable"
    assert found["loss", "up"]["nominal"] == 0.0005
    assert found["same seed", "up"]["verdict"] == "ok"
    assert "delay" in ended.stderr


def test_people_get_a_table_and_the_reason_for_what_does_not_apply() -> None:
    ended = mixedsched("lab", "check", "--link", "cdn", "--losses-s", "1")
    assert re.search(r"one-way delay, ms +down +10\.00 +\d", ended.stdout)
    assert re.search(r"not applicable: rate, queue \(the profile has no limit\)", ended.stdout)


def test_an_unknown_link_is_refused_before_anything_is_sent() -> None:
    ended = mixedsched("lab", "check", "--link", "cdnn")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "did you mean 'cdn'?" in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_it_leaves_no_files(number: signal.Signals, tmp_path: Path) -> None:
    with checking(tmp_path) as process:
        process.send_signal(number)
        assert process.wait(30) == 128 + number
        assert list(tmp_path.iterdir()) == []
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def checking(folder: Path) -> subprocess.Popen[str]:
    """A check that runs, with its temporary files in this folder."""
    words = [sys.executable, "-m", "mixedsched", "lab", "check", "--link", "cdn", "--losses-s", "60"]
    environment = {**os.environ, "TMPDIR": str(folder)}
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    while "delay" not in process.stderr.readline():  # it has begun to send probes
        assert process.poll() is None
    return process
