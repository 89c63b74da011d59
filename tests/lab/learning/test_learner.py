"""The process that searches orders beside a server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mixedsched.world.store import open_memory
from tests.core.learning.visits import visit
from tests.patience import wait_until

LEARNER = """
import sys
from mixedsched.lab.learning import __main__ as learner
learner.RETRY_S = learner.LOOKS_EVERY_S = learner.RESTS = 0.05
opens = learner.open_memory

def opens_and_says_so(file):
    print("tries", flush=True)
    return opens(file)

learner.open_memory = opens_and_says_so
sys.exit(learner.main())
"""


@pytest.mark.slow
def test_it_goes_on_when_a_file_that_was_of_no_use_is_replaced_and_ends_with_its_input(tmp_path: Path) -> None:
    file = tmp_path / "memory.sqlite"
    file.write_bytes(b"no database at all" * 100)
    words = (sys.executable, "-c", LEARNER, str(file))
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as learner:
        assert learner.stdout is not None
        assert [learner.stdout.readline() for _ in range(2)] == ["tries\n"] * 2
        file.unlink()
        with open_memory(file) as store:
            for _ in range(3):
                store.change("/", 1.0, lambda state: state.learn(visit()))
            assert store.wanting_thought() == ["/"]
            assert wait_until(lambda: not store.wanting_thought(), 60)
        _, said = learner.communicate()
    assert learner.returncode == 0
    assert said == ""
