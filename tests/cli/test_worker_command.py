"""`worker` with a scheduler: what passes is tried again, what does not is an error."""

from __future__ import annotations

import pytest

from mixedsched.cli import worker
from mixedsched.errors import ExitCode, MissingPartError, MixedschedError
from mixedsched.lab.study import cluster
from tests.command import run

WORDS = ("worker", "--store", "sqlite:///studies.sqlite", "--scheduler", "tcp://127.0.0.1:9")


def test_without_dask_it_ends_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(*_: object) -> None:
        raise MissingPartError("workers on many machines need dask.distributed", fix="install mixedsched[team]")

    monkeypatch.setattr(cluster, "serve", serve)
    ended = run(*WORDS)
    assert ended.exit_code == ExitCode.MISSING_PART
    assert "fix: install mixedsched[team]" in ended.stderr


def test_a_scheduler_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([MixedschedError("the scheduler does not answer"), KeyboardInterrupt()])

    async def serve(*_: object) -> None:
        raise next(answers)

    monkeypatch.setattr(cluster, "serve", serve)
    monkeypatch.setattr(worker, "RECONNECT_S", 0.0)
    ended = run(*WORDS)
    assert "the scheduler does not answer; trying again" in ended.stderr
    assert ended.exit_code == ExitCode.INTERRUPTED
