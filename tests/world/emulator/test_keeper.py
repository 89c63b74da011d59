"""The keeper of a lab that stays up."""

from __future__ import annotations

import subprocess

import pytest

from mixedsched.errors import MixedschedError
from mixedsched.world.emulator import keeper
from mixedsched.world.emulator.kernel.registry import mark_of


def test_that_a_lab_does_not_go_down_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that waits within the kernel does not end when it is killed."""
    monkeypatch.setattr(keeper, "_STOP_LIMIT_S", 0.05)
    with subprocess.Popen(["sleep", "60"]) as process:
        mark = mark_of(process.pid)
        assert mark is not None
        lab = keeper.StandingLab(mark, "netns", "fiber", 1, "198.18.0.1", (), (), ())
        with monkeypatch.context() as patch:
            patch.setattr(keeper.os, "kill", lambda _pid, _number: None)
            with pytest.raises(MixedschedError, match="cannot be taken down") as caught:
                lab.stop()
        process.terminate()
    assert f"process {process.pid}" in caught.value.why
