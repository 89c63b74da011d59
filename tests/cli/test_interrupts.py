"""Ctrl-C in a long command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import signal, time
from mixedsched.cli._interrupts import end_in_order

class Cleared:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)  # at a moment when Python lets no exception pass
        sum(range(10))

end_in_order()
try:
    item = Cleared()
    del item
    time.sleep(60)
except KeyboardInterrupt:
    print("ended in order")
"""

# A command whose work, in place of what it calls, makes a temporary folder and is told to end.
COMMAND = """
import importlib, os, signal, sys, tempfile, time
from mixedsched.cli import main

def works(*_):
    with tempfile.TemporaryDirectory(dir=folder):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    yield

name, worker, folder = sys.argv[1:]
setattr(importlib.import_module("mixedsched.cli." + name), worker, works)
sys.argv = ["mixedsched", name]
main()
"""


def test_one_that_python_drops_is_given_again() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=50, check=True)
    assert (ended.stdout, ended.stderr) == ("ended in order\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "worker"), [("doctor", "examine"), ("setup", "set_up")])
def test_told_to_end_a_command_clears_its_temporary_folders_away(name: str, worker: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", COMMAND, name, worker, str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=50, check=False)
    assert (ended.returncode, list(tmp_path.iterdir())) == (130, []), ended.stderr
