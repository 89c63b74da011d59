"""Contents from Debian packages: downloaded with apt-get into a folder of ours, neither installed nor run.

Which versions an archive offers depends on the machine's release and changes with security updates. So versions are
recorded (sites/debian-lock.json), not demanded: one that was recorded must have the recorded checksum, another is taken
as it is and named. apt-get checks either against the archive's signature.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from mixedsched.errors import MissingPartError, SiteError
from mixedsched.world.system.programs import find_program

LOCK_NAME = "debian-lock.json"
_FOLDER_NAME = "debian_packages"
_DOWNLOAD_LIMIT_S = 600


@dataclass(frozen=True, slots=True)
class DebianFile:
    """A downloaded package. path: the .deb file."""

    name: str
    version: str
    path: Path


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What was seen of a package when its site was described."""

    version: str
    sha256: str
    size_bytes: int


def debian_folder(sites_dir: Path) -> Path:
    """Where the packages of the recipes in sites_dir are kept."""
    return sites_dir / _FOLDER_NAME


def fetch_debian(names: Sequence[str], sites_dir: Path, progress: Callable[[str], None] = lambda _line: None) -> None:
    """Download the packages that are not there yet; what is there stays, whatever its version.

    Needs no privilege. progress: is told in a line what takes time, and of versions that are not the recorded ones.
    Raises MissingPartError without apt-get, SiteError if it fails or a file is not the recorded one.
    """
    folder = debian_folder(sites_dir)
    missing = [name for name in names if _found(folder, name) is None]
    if not missing:
        return
    recorded = _read_lock(sites_dir)
    apt = _tool("apt-get")
    total_bytes = sum(recorded[name].size_bytes for name in missing if name in recorded)
    progress(f"downloading {', '.join(missing)} with apt-get, about {total_bytes / 1e6:.1f} MB")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as aside:
            _download(apt, missing, Path(aside), progress)
            for name in missing:
                if note := _checked(_downloaded(Path(aside), name), recorded.get(name)):
                    progress(note)
            for path in sorted(Path(aside).glob("*.deb")):
                path.rename(folder / path.name)
    except OSError as error:
        raise SiteError(f"{folder} cannot be written", why=error.strerror or str(error)) from error


def debian_files(names: Iterable[str], sites_dir: Path) -> list[DebianFile]:
    """The downloaded packages. Raises MissingPartError for one that is not there."""
    folder = debian_folder(sites_dir)
    return [_downloaded(folder, name) for name in names]


def other_versions(files: Iterable[DebianFile], sites_dir: Path) -> str:
    """Which packages are not of the recorded version, in words; "" if all are."""
    recorded = _read_lock(sites_dir)
    return "; ".join(
        f"{file.name} is of version {file.version}, the recipe was made with {recorded[file.name].version}"
        for file in files
        if file.name in recorded and recorded[file.name].version != file.version
    )


def _found(folder: Path, name: str) -> DebianFile | None:
    """A package in a folder, the newest download if there are several."""
    paths = sorted(folder.glob(f"{name}_*.deb"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    return DebianFile(name, unquote(paths[-1].name.split("_")[1]), paths[-1]) if paths else None


def _downloaded(folder: Path, name: str) -> DebianFile:
    file = _found(folder, name)
    if file is None:
        raise MissingPartError(
            f"the Debian package '{name}' is not in {folder}",
            why="contents of sites are fetched, not shipped",
            fix=f"run apt-get download {name} in that folder",
        )
    return file


def _tool(name: str) -> str:
    """The path of a program of Debian's. Raises MissingPartError where there is none."""
    path = find_program(name)
    if path is None:
        raise MissingPartError(
            f"{name} is missing",
            why="the contents of this site are Debian packages",
            fix="use it on Debian or Ubuntu, or take another site: `mixedsched sites` lists them",
        )
    return path


def _download(apt: str, names: Sequence[str], folder: Path, progress: Callable[[str], None]) -> None:
    """With the machine's lists of packages; if these are missing or outdated, with fresh lists of our own."""
    if not _run_apt([apt, "download", *names], folder):
        return
    progress("apt-get's lists of packages do not serve; fetching new ones")
    for inside in ("state/lists/partial", "cache/archives/partial"):
        (folder / inside).mkdir(parents=True)
    own = [apt, "-o", f"Dir::State={folder / 'state'}", "-o", f"Dir::Cache={folder / 'cache'}"]
    if os.geteuid() == 0:
        own += ["-o", "APT::Sandbox::User=root"]  # the folder is ours, so apt's own user may not write there
    complaint = _run_apt([*own, "update"], folder) or _run_apt([*own, "download", *names], folder)
    if complaint:
        raise SiteError(
            f"apt-get cannot download {', '.join(names)}",
            why=complaint,
            fix="check the network; another release may not have these packages",
        )


def _run_apt(command: Sequence[str], folder: Path) -> str:
    """Run apt-get in a folder; return what it complained of if it failed, else ""."""
    try:
        done = subprocess.run(
            [*command[:1], "-q", *command[1:]],
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_DOWNLOAD_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {_DOWNLOAD_LIMIT_S} s"
    return "" if done.returncode == 0 else done.stderr.strip()[-500:] or f"exit status {done.returncode}"


def _checked(file: DebianFile, recorded: _Recorded | None) -> str:
    """What is to be said of a package's version; "" if it is the recorded one. Raises SiteError for a wrong checksum."""
    if recorded is None:
        return f"note: {file.name} {file.version} is not recorded in {LOCK_NAME}"
    if recorded.version != file.version:
        return f"note: {file.name} is of version {file.version} here; the site was described with {recorded.version}"
    if hashlib.sha256(file.path.read_bytes()).hexdigest() != recorded.sha256:
        raise SiteError(
            f"the Debian package {file.name} {file.version} is not the recorded one",
            why="its checksum differs",
            fix="check where apt-get takes packages from",
        )
    return ""


def _read_lock(sites_dir: Path) -> dict[str, _Recorded]:
    """The recorded packages by name. Raises SiteError if the file is not there or not in order."""
    path = sites_dir / LOCK_NAME
    try:
        packages = json.loads(path.read_bytes())["packages"]
        return {
            name: _Recorded(str(entry["version"]), str(entry["sha256"]), int(entry["size_bytes"]))
            for name, entry in packages.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SiteError(f"{sites_dir} has no readable {LOCK_NAME}", fix="restore it from the repository") from error
