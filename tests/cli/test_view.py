"""`view`: its address, its port, its end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.command import MIXEDSCHED, run
from tests.report.view.made_up_folders import write_compare


@contextmanager
def started(root: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    command = [*MIXEDSCHED, "view", str(root), "--json", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.slow
def test_two_views_at_once_and_each_ends_in_order(tmp_path: Path) -> None:
    write_compare(tmp_path, "shop")
    with started(tmp_path) as (first, told), started(tmp_path) as (second, other):
        assert told["port"] != other["port"]
        for facts in (told, other):
            with urllib.request.urlopen(facts["url"], timeout=30) as answer:
                assert b"shop" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"http://127.0.0.1:{told['port']}/", timeout=30)
        first.send_signal(signal.SIGINT)
        second.terminate()
        for process in (first, second):
            _, err = process.communicate(timeout=30)
            assert (process.returncode, err) == (0, "")


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("view", tmp_path, "--port", str(taken.getsockname()[1]))
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert "another program listens there" in ended.stderr


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    ended = run("view", tmp_path / "nowhere")
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "there is no folder" in ended.stderr
    assert "compare agency" in ended.stderr
