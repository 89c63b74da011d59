"""Files that people name: read only if they are regular and of a sensible size, whatever a profile asks for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mixedsched.errors import ExitCode, MappingError, ProfileError
from mixedsched.world import catalog, places

PROFILE = 'name = "x"\ndescription = "d"\nsource = "s"\nrtt_ms = 10\n'
LOADERS: dict[str, Callable[[str], object]] = {"profile": catalog.load_profile, "mapping": catalog.load_mapping}

each_loader = pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS)


def refusal(load: Callable[[str], object], file: Path | str) -> str:
    with pytest.raises((ProfileError, MappingError)) as caught:
        load(str(file))
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    return str(caught.value)


def with_trace(folder: Path, name: str) -> Path:
    """A profile that names this trace, as TOML writes it."""
    file = folder / "x.toml"
    file.write_text(PROFILE + f'trace_down = "{name}"\n')
    return file


@each_loader
def test_a_device_is_not_read(load: Callable[[str], object]) -> None:
    assert "not a regular file" in refusal(load, "/dev/zero")


@each_loader
def test_nobody_waits_for_a_pipe(load: Callable[[str], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    assert "it is a pipe, a device or a socket" in refusal(load, tmp_path / "pipe.toml")


@each_loader
def test_a_folder_is_called_one(load: Callable[[str], object], tmp_path: Path) -> None:
    assert "it is a folder" in refusal(load, f"{tmp_path}/")


@each_loader
def test_a_file_beyond_all_sense_is_not_read(load: Callable[[str], object], tmp_path: Path) -> None:
    (tmp_path / "big.toml").write_bytes(b"#" * (catalog.MAX_FILE_BYTES + 1))
    assert "it is larger than 1 MB" in refusal(load, tmp_path / "big.toml")


@each_loader
def test_another_encoding_is_named_as_the_reason(load: Callable[[str], object], tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes('name = "é"'.encode("latin-1"))
    assert "it is not UTF-8" in refusal(load, tmp_path / "latin.toml")


def test_a_byte_order_mark_is_left_out_of_profiles_mappings_and_traces(tmp_path: Path) -> None:
    mark = "\ufeff"
    file = with_trace(tmp_path, "t.trace")
    file.write_text(mark + file.read_text(), encoding="utf-8")
    (tmp_path / "t.trace").write_text(mark + "1\n2\n", encoding="utf-8")
    trace = catalog.load_profile(str(file)).down.trace
    assert trace is not None
    assert trace.opportunities_ms == (1, 2)
    bundled = places.home() / "mapping" / "chromium.toml"
    (tmp_path / "m.toml").write_text(mark + bundled.read_text(encoding="utf-8"), encoding="utf-8")
    assert catalog.load_mapping(f"{tmp_path}/m.toml") == catalog.load_mapping("chromium")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pipe.trace", "not a regular file"),
        ("folder", "it is a folder"),
        ("big.trace", "it is larger than 32 MB"),
        ("loop.trace", "loop"),
        ("none.trace", "No such file"),
        ("latin.trace", "it is not UTF-8"),
        (r"a\u0000b", "cannot read the trace"),
        ("a" * 5000, "too long"),
    ],
)
def test_a_trace_that_is_no_regular_file_of_sensible_size_is_refused(tmp_path: Path, name: str, says: str) -> None:
    os.mkfifo(tmp_path / "pipe.trace")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "big.trace").open("wb") as big:
        big.truncate(catalog.MAX_TRACE_BYTES + 1)
    (tmp_path / "loop.trace").symlink_to("loop.trace")
    (tmp_path / "latin.trace").write_bytes(b"\xe9")
    assert says in refusal(catalog.load_profile, with_trace(tmp_path, name))
