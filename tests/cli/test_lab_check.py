"""`lab check`: the same findings for people and for machines, and an exit code for scripts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mixedsched.cli import _lab_check
from mixedsched.world.emulator.probe.checking import LinkCheck
from tests.command import MIXEDSCHED, Result, run


@pytest.fixture(scope="module")
def checked() -> tuple[Result, LinkCheck]:
    """A check that was made once, as machines are told of it, and its findings."""
    found = []
    check = _lab_check._checked

    async def remembered(*arguments: Any) -> LinkCheck:
        found.append(await check(*arguments))
        return found[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lab_check, "_checked", remembered)
        patch.setattr("mixedsched.world.emulator.probe._plan._SPARSE_S", 1.0)  # enough for delays on loopback
        ended = run("lab", "check", "--link", "cdn", "--losses-s", "1", "--seed", "9", "--json")
    return ended, found[0]


@pytest.mark.slow
def test_a_check_tells_machines_what_was_sent_measured_and_judged(checked: tuple[Result, LinkCheck]) -> None:
    ended, _ = checked
    told = json.loads(ended.stdout)
    assert (told["link"], told["backend"], told["seed"]) == ("cdn", "relay", 9)
    assert ended.exit_code == (0 if told["ok"] else 1)
    found = {(item["quantity"], item["direction"]): item for item in told["findings"]}
    delay = found["one-way delay", "down"]
    assert delay["nominal"] == 10
    assert delay["low"] <= delay["measured"] <= delay["high"]
    assert found["rate", "down"]["verdict"] == "not applicable"
    assert found["loss", "up"]["nominal"] == 0.0005
    assert found["same seed", "up"]["verdict"] == "ok"
    assert "delay" in ended.stderr


@pytest.mark.slow
def test_people_get_a_table_and_the_reason_for_what_does_not_apply(
    checked: tuple[Result, LinkCheck], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def again(*_: Any) -> LinkCheck:
        return checked[1]

    monkeypatch.setattr(_lab_check, "_checked", again)
    ended = run("lab", "check", "--link", "cdn")
    assert re.search(r"one-way delay, ms +down +10\.00 +\d", ended.stdout)
    assert re.search(r"not applicable: rate, queue \(the profile has no limit\)", ended.stdout)


def test_an_unknown_link_is_refused_before_anything_is_sent() -> None:
    ended = run("lab", "check", "--link", "cdnn")
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "did you mean 'cdn'?" in ended.stderr


@pytest.mark.parametrize("losses_s", ["nan", "0", "inf"])
def test_a_time_that_is_none_is_refused_before_anything_is_sent(losses_s: str) -> None:
    ended = run("lab", "check", "--link", "cdn", "--losses-s", losses_s)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "--losses-s" in ended.stderr


@pytest.mark.slow
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
    words = [*MIXEDSCHED, "lab", "check", "--link", "cdn", "--losses-s", "60"]
    environment = {**os.environ, "TMPDIR": str(folder)}
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    while "delay" not in process.stderr.readline():  # it has begun to send probes
        assert process.poll() is None
    return process
