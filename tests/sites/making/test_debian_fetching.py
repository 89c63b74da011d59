"""Debian packages get to a folder of ours: once, checked, and without a trace of what failed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mixedsched.errors import ExitCode, MissingPartError, SiteError
from mixedsched.sites.making._debian import debian_files, fetch_debian, other_versions
from tests.sites.making.debs import Archive, make_deb, needs_dpkg, write_lock

pytestmark = needs_dpkg


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Packages that apt-get offers, and nothing else on the path but what is needed."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return Archive(tmp_path / "archive", tmp_path / "bin")


def test_a_package_is_downloaded_once(archive: Archive) -> None:
    write_lock(archive.sites_dir, make_deb(archive.folder, "guide", {"a": "1"}))
    said: list[str] = []
    for _ in range(2):
        fetch_debian(["guide"], archive.sites_dir, said.append)
    assert said == ["downloading guide with apt-get, about 0.0 MB"]
    assert len(archive.calls()) == 1
    assert archive.downloads() == ["guide_1.0_all.deb"]


def test_what_is_there_needs_no_apt_get(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    make_deb(archive.folder, "guide", {"a": "1"})
    fetch_debian(["guide"], archive.sites_dir)
    monkeypatch.setenv("PATH", "")
    fetch_debian(["guide"], archive.sites_dir)
    assert [file.version for file in debian_files(["guide"], archive.sites_dir)] == ["1.0"]


def test_a_version_with_an_epoch_is_read_from_the_file_name(archive: Archive) -> None:
    make_deb(archive.folder, "guide", {"a": "1"}, version="4:7.4+deb12u1")
    fetch_debian(["guide"], archive.sites_dir)
    assert [file.version for file in debian_files(["guide"], archive.sites_dir)] == ["4:7.4+deb12u1"]


def test_one_package_is_not_taken_for_another_whose_name_begins_alike(archive: Archive) -> None:
    make_deb(archive.folder, "guide-en", {"a": "1"})
    fetch_debian(["guide-en"], archive.sites_dir)
    with pytest.raises(MissingPartError, match="'guide' is not in"):
        debian_files(["guide"], archive.sites_dir)


def test_the_recorded_version_must_have_the_recorded_checksum(archive: Archive) -> None:
    write_lock(archive.sites_dir, make_deb(archive.folder, "guide", {"a": "1"}))
    make_deb(archive.folder, "guide", {"a": "tampered with"})
    with pytest.raises(SiteError, match=r"guide 1\.0 is not the recorded one: its checksum differs"):
        fetch_debian(["guide"], archive.sites_dir)
    assert archive.downloads() == []


def test_another_version_is_taken_and_named(archive: Archive, tmp_path: Path) -> None:
    write_lock(archive.sites_dir, make_deb(tmp_path, "guide", {"a": "1"}))
    make_deb(archive.folder, "guide", {"a": "2"}, version="2.0")
    said: list[str] = []
    fetch_debian(["guide"], archive.sites_dir, said.append)
    assert said[1:] == ["note: guide is of version 2.0 here; the site was described with 1.0"]
    files = debian_files(["guide"], archive.sites_dir)
    assert other_versions(files, archive.sites_dir) == "guide is of version 2.0, the recipe was made with 1.0"


def test_a_package_that_is_not_recorded_is_named(archive: Archive) -> None:
    make_deb(archive.folder, "guide", {"a": "1"})
    said: list[str] = []
    fetch_debian(["guide"], archive.sites_dir, said.append)
    assert said[1:] == ["note: guide 1.0 is not recorded in debian-lock.json"]


def test_outdated_lists_of_packages_are_replaced_by_own_ones(archive: Archive) -> None:
    make_deb(archive.folder, "guide", {"a": "1"})
    (archive.folder / "outdated").touch()
    fetch_debian(["guide"], archive.sites_dir)
    assert [call.split()[-1] for call in archive.calls()] == ["guide", "update", "guide"]
    assert archive.downloads() == ["guide_1.0_all.deb"]


def test_without_apt_get_the_error_says_so(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingPartError, match="apt-get is missing") as caught:
        fetch_debian(["guide"], archive.sites_dir)
    assert caught.value.exit_code is ExitCode.MISSING_PART


def test_what_apt_get_complains_of_is_repeated_and_nothing_is_kept(archive: Archive) -> None:
    make_deb(archive.folder, "guide", {"a": "1"})
    with pytest.raises(SiteError, match="Unable to locate package nosuch") as caught:
        fetch_debian(["guide", "nosuch"], archive.sites_dir)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert archive.downloads() == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"packages": {"guide": {}}}', '{"packages": {"guide": "1.0"}}', "\xff"]
)
def test_a_lock_file_is_demanded(archive: Archive, text: str) -> None:
    (archive.sites_dir / "debian-lock.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(SiteError, match=r"no readable debian-lock\.json"):
        fetch_debian(["guide"], archive.sites_dir)
