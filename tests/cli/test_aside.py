"""Work done in a child process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mixedsched.cli._aside import aside
from mixedsched.errors import ExitCode, MixedschedError, SiteError


def test_the_result_comes_back_and_the_imports_do_not() -> None:
    code = """
import sys
from mixedsched.cli._aside import aside

def work():
    import wave
    return {"answer": wave.__name__}

assert aside(work) == {"answer": "wave"}
assert "wave" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_errors_for_people_come_back_whole() -> None:
    def work() -> None:
        raise SiteError("there is no site", why="nobody built it", fix="build it")

    with pytest.raises(SiteError) as caught:
        aside(work)
    assert (caught.value.what, caught.value.why, caught.value.fix) == (
        "there is no site",
        "nobody built it",
        "build it",
    )
    assert caught.value.exit_code is ExitCode.BAD_INPUT


def test_an_interrupted_child_interrupts_its_parent() -> None:
    def work() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        aside(work)


def test_a_child_that_dies_is_an_error() -> None:
    with pytest.raises(MixedschedError, match="a child process died"):
        aside(lambda: os._exit(7))


def test_a_server_keeps_nothing_of_what_reads_sites() -> None:
    code = (
        "import sys, mixedsched.cli.serve; print([name for name in sys.modules if name.startswith('mixedsched.sites')])"
    )
    answer = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    assert answer.stdout.strip() == "[]"
