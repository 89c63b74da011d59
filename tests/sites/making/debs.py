"""Small Debian packages, and a stand-in for apt-get that "downloads" them from a folder."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from mixedsched.sites.making._debian import DebianFile
from tests.sites.folders import Files, write_files

needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb, to make packages with, is not here")

# It knows `download` and `update`; while a file "outdated" is in its archive, downloads fail until lists are its own.
_APT = """#!/bin/sh
echo "$@" >> {archive}/calls
lists=theirs
while [ $# -gt 0 ]; do
    case "$1" in
        -o) case "$2" in Dir::State=*) lists=own ;; esac; shift ;;
        -q) ;;
        update) exit 0 ;;
        download) ;;
        *)  if [ -e {archive}/outdated ] && [ $lists = theirs ]; then echo "E: 404 Not Found" >&2; exit 100; fi
            {cp} {archive}/"$1"_*.deb . 2>/dev/null || {{ echo "E: Unable to locate package $1" >&2; exit 100; }} ;;
    esac
    shift
done
"""


def make_deb(
    folder: Path, name: str, files: Files, links: Mapping[str, str] | None = None, version: str = "1.0"
) -> DebianFile:
    """Put NAME_VERSION_all.deb into a folder. links: place -> target, as written in the package."""
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        root = write_files(Path(aside), files)
        for place, target in (links or {}).items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            (root / place).symlink_to(target)
        control = (
            f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: T <t@example.test>\nDescription: T\n"
        )
        write_files(root, {"DEBIAN/control": control})
        root.chmod(0o755)
        path = folder / f"{name}_{version.replace(':', '%3a')}_all.deb"
        command = ["dpkg-deb", "-Znone", "--root-owner-group", "--build", str(root), str(path)]
        subprocess.run(command, check=True, capture_output=True)
    return DebianFile(name, version, path)


def write_lock(sites_dir: Path, *files: DebianFile) -> None:
    """Record packages as those that the recipes were made with."""
    packages = {
        file.name: {
            "version": file.version,
            "size_bytes": file.path.stat().st_size,
            "sha256": hashlib.sha256(file.path.read_bytes()).hexdigest(),
        }
        for file in files
    }
    write_files(sites_dir, {"debian-lock.json": json.dumps({"packages": packages})})


class Archive:
    """A folder of packages with an apt-get in front of it."""

    def __init__(self, folder: Path, bin_dir: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.sites_dir = folder.parent / "sites"
        self.sites_dir.mkdir()
        bin_dir.mkdir()
        script = bin_dir / "apt-get"
        script.write_text(_APT.format(archive=folder, cp=shutil.which("cp")))
        script.chmod(0o755)
        write_lock(self.sites_dir)

    def calls(self) -> list[str]:
        """Command lines of apt-get, in order."""
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def downloads(self) -> list[str]:
        """What was kept, by file name."""
        return sorted(path.name for path in (self.sites_dir / "debian_packages").glob("*"))
