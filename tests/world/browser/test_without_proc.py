"""A system without /proc: no browser can run there, which is said; all else works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mixedsched.errors import MissingPartError
from mixedsched.world.browser import find
from mixedsched.world.server._first_packets import MemoryLimit


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_browser_is_not_looked_for_where_none_could_run(monkeypatch: pytest.MonkeyPatch) -> None:
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path != Path("/proc/self") and exists(path))
    with pytest.raises(MissingPartError, match="no browser can run here") as caught:
        find.find_chromium()
    assert "mount -t proc" in caught.value.fix


def test_the_server_goes_without_its_memory_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixedsched.world.server._first_packets._OWN_MEMORY", tmp_path / "nothing")
    assert not MemoryLimit(limit_bytes=0).is_exceeded()


def test_the_guard_says_when_this_process_holds_too_much() -> None:
    assert MemoryLimit(limit_bytes=0).is_exceeded()
