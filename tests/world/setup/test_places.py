"""Where things are kept: in a checkout in build/, installed in the user's cache folder, and somewhere else if need be."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from mixedsched.errors import MissingPartError
from mixedsched.world import places
from mixedsched.world.places import WorkingCopy
from tests.sites.folders import Files, write_files

NOWHERE = Path("/dev/null/home")  # a folder that not even root can make


def always(_folder: Path) -> bool:
    return True


def never(_folder: Path) -> bool:
    return False


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with some data, a home and a place for temporary files; returns the data's folder."""
    data = write_files(tmp_path / "package" / "_data", {"mapping/x.toml": "", "tool/main": "1", "tool/more/part": "2"})
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(places, "_PACKAGED", data)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in (places.HOME_VARIABLE, places.CACHE_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return data


def temporary(folder: Path) -> Path:
    return folder / "tmp" / f"mixedsched-cache-{os.getuid()}"


def test_a_checkout_is_read_and_keeps_in_its_build_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(places.CACHE_VARIABLE, raising=False)
    assert places.home() == Path(__file__).parents[3]
    assert not places.is_installed()
    assert places.cache_folders() == [places.home() / "build"]


def test_an_installed_package_reads_its_own_data_and_keeps_in_the_users_cache(installed: Path, tmp_path: Path) -> None:
    assert places.home() == installed
    assert places.is_installed()
    assert places.writable_cache() == tmp_path / "home" / ".cache" / "mixedsched"


def test_a_checkout_can_be_named_also_to_an_installed_package(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = write_files(tmp_path / "checkout", {"mapping/x.toml": ""})
    monkeypatch.setenv(places.HOME_VARIABLE, str(checkout))
    assert places.home() == checkout
    assert not places.is_installed()
    assert places.cache_folders() == [checkout / "build"]


def test_a_cache_folder_that_is_named_is_the_only_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(places.CACHE_VARIABLE, str(tmp_path / "mine"))
    assert places.writable_cache() == tmp_path / "mine"
    monkeypatch.setenv(places.CACHE_VARIABLE, str(NOWHERE))
    with pytest.raises(MissingPartError, match="no folder to keep things in") as caught:
        places.writable_cache()
    assert places.CACHE_VARIABLE in caught.value.fix


def test_with_a_home_that_cannot_be_written_temporary_files_do(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(NOWHERE))
    assert places.writable_cache() == temporary(tmp_path)
    assert temporary(tmp_path).stat().st_mode & 0o777 == 0o700


def test_a_user_without_a_home_keeps_nothing_where_he_happens_to_stand(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "user_cache_path", lambda _name: Path("~/.cache/mixedsched"))
    assert places.cache_folders() == [temporary(tmp_path)]


def test_what_is_kept_in_a_home_that_can_only_be_read_serves_on(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = write_files(tmp_path / "home" / ".cache" / "mixedsched", {"thing": "x"}) / "thing"
    monkeypatch.setattr(os, "access", lambda path, _mode: not Path(path).is_relative_to(tmp_path / "home"))
    assert places.find_kept("thing", Path.exists) == there
    assert places.writable_cache() == temporary(tmp_path)


def test_a_folder_among_the_temporary_files_that_others_may_change_is_not_trusted(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(NOWHERE))
    planted = write_files(temporary(tmp_path), {"thing": "x"})
    planted.chmod(0o777)
    assert places.find_kept("thing", Path.exists) is None
    planted.chmod(0o700)
    assert places.find_kept("thing", Path.exists) == planted / "thing"
    planted.rename(tmp_path / "elsewhere")
    planted.symlink_to(tmp_path / "elsewhere")
    assert places.find_kept("thing", Path.exists) is None
    with pytest.raises(MissingPartError):
        places.writable_cache()


TOOL = WorkingCopy("tool", "**/*")


def content(folder: Path) -> Files:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_in_a_checkout_packages_go_beside_our_files(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = WorkingCopy("mapping", "*")
    assert copy.found(never) is None
    assert copy.found(always) == copy.place() == copy.provide() == places.home() / "mapping"
    assert copy.others() == []


def test_installed_packages_go_beside_a_copy_of_our_files(installed: Path, tmp_path: Path) -> None:
    assert TOOL.found(always) is None
    place = TOOL.provide()
    assert place.is_relative_to(tmp_path / "home" / ".cache" / "mixedsched")
    assert content(place) == {"main": "1", "more/part": "2"}
    assert TOOL.found(never) is None
    assert TOOL.found(always) == place


def test_another_version_has_another_copy(installed: Path) -> None:
    old = TOOL.provide()
    (installed / "tool" / "main").write_text("changed")
    assert TOOL.found(always) is None
    assert TOOL.others() == [old]
    new = TOOL.provide()
    assert new != old
    assert content(new)["main"] == "changed"
    assert content(old)["main"] == "1"


@pytest.mark.parametrize("damage", ["half", None])
def test_a_copy_that_is_damaged_or_not_whole_is_mended_and_packages_beside_it_stay(
    installed: Path, damage: str | None
) -> None:
    place = write_files(TOOL.provide(), {"node_modules/x": "package"})
    part = place / "more" / "part"
    part.unlink() if damage is None else part.write_text(damage)
    assert TOOL.found(always) is None
    assert TOOL.provide() == place
    assert content(place) == {"main": "1", "more/part": "2", "node_modules/x": "package"}


def test_a_copy_that_cannot_be_written_is_told_with_the_remedy(installed: Path) -> None:
    TOOL.place().parent.mkdir(parents=True, exist_ok=True)
    TOOL.place().write_text("in the way")
    with pytest.raises(MissingPartError, match="cannot be written") as caught:
        TOOL.provide()
    assert places.CACHE_VARIABLE in caught.value.fix
