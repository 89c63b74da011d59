"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixedsched.world.system.files import write_whole


def test_a_file_is_there_once_all_of_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file.txt"
    write_whole(file, "é, before")
    assert file.read_bytes() == "é, before".encode()
    write_whole(file, b"now")
    assert file.read_bytes() == b"now"

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_whole(file, b"later")
    assert file.read_bytes() == b"now"
