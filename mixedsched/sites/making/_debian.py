"""Contents from Debian packages: downloaded with apt-get and unpacked into a folder of ours, neither installed nor run.

Which versions an archive offers depends on the machine's release and changes with security updates. So versions are
recorded (sites/debian-lock.json), not demanded: one that was recorded must have the recorded checksum, another is taken
as it is and named. apt-get checks either against the archive's signature.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from mixedsched.errors import MissingPartError, SiteError
from mixedsched.world.system.programs import find_program, with_path

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
class _LockedPackage:
    """A package as it was when its site was described."""

    version: str
    sha256: str
    size_bytes: int


def debian_folder(sites_dir: Path) -> Path:
    """The folder of the packages of the recipes in sites_dir."""
    return sites_dir / _FOLDER_NAME


def fetch_debian(names: Sequence[str], sites_dir: Path, progress: Callable[[str], None] = lambda _line: None) -> None:
    """Download the packages that are not there yet; what is there stays, whatever its version.

    Needs no privilege. progress: told in a line what takes time, and which versions are not the recorded ones.
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
    progress("apt-get's lists of packages are missing or outdated; fetching new ones")
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
    """Run apt-get in a folder; return its complaint if it failed, else ""."""
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


def _checked(file: DebianFile, recorded: _LockedPackage | None) -> str:
    """A note on a package's version; "" if it is the recorded one. Raises SiteError for a wrong checksum."""
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


def _read_lock(sites_dir: Path) -> dict[str, _LockedPackage]:
    """The recorded packages by name. Raises SiteError if the file is not there or not in order."""
    path = sites_dir / LOCK_NAME
    try:
        packages = json.loads(path.read_bytes())["packages"]
        return {
            name: _LockedPackage(str(entry["version"]), str(entry["sha256"]), int(entry["size_bytes"]))
            for name, entry in packages.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SiteError(f"{sites_dir} has no readable {LOCK_NAME}", fix="restore it from the repository") from error


def unpack(files: Sequence[DebianFile], tree: Path, wanted: Sequence[str] = ()) -> None:
    """Write the contents of packages below the folder `tree`.

    wanted: patterns of files of the first package that are enough, matched from the end folder by folder, as in
    "html/*.css"; links are always taken. They are made to point into the tree, absolute ones too, whatever the machine
    itself has at that place.
    Raises MissingPartError without dpkg-deb, SiteError for what is not a package, or would write outside the tree.
    """
    if find_program("dpkg-deb") is None:
        raise MissingPartError(
            "dpkg-deb is missing",
            why="the contents of this site are Debian packages",
            fix="use it on Debian or Ubuntu, or install dpkg",
        )
    links: dict[PurePosixPath, str] = {}
    for index, file in enumerate(files):
        _unpack_one(file, tree, () if index else wanted, links)
    # Last, so that nothing is written through a link.
    for place, target in sorted(links.items()):
        link_inside(tree, place, target)


def _unpack_one(file: DebianFile, tree: Path, wanted: Sequence[str], links: dict[PurePosixPath, str]) -> None:
    command = with_path(["dpkg-deb", "--fsys-tarfile", str(file.path)])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        why = ""
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    _take(archive, member, tree, wanted, links)
            shutil.copyfileobj(process.stdout, io.BytesIO())  # padding, so that the writer can end
        except (tarfile.TarError, EOFError) as error:
            why = str(error)
            process.stdout.close()  # so that the writer does not wait for a reader
        complaint = "; ".join(process.stderr.read().decode(errors="replace").splitlines())
    if why or process.returncode != 0:
        raise SiteError(
            f"{file.path} cannot be unpacked",
            why=complaint or why or f"exit status {process.returncode}",
            fix="delete it, and it is downloaded again",
        )


def _take(
    archive: tarfile.TarFile,
    member: tarfile.TarInfo,
    tree: Path,
    wanted: Sequence[str],
    links: dict[PurePosixPath, str],
) -> None:
    """Write a file that is wanted, and note a link."""
    place = _inside(member.name)
    if member.issym():
        links[place] = member.linkname
    elif member.islnk():
        links[place] = f"/{_inside(member.linkname)}"
    elif member.isfile() and (not wanted or any(place.match(pattern) for pattern in wanted)):
        content = archive.extractfile(member)
        assert content is not None
        target = tree / place
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("wb") as out:
            shutil.copyfileobj(content, out)


def _inside(name: str) -> PurePosixPath:
    """A name of an archive as a path relative to the tree."""
    place = PurePosixPath(name.lstrip("/"))
    if ".." in place.parts:
        raise SiteError(f"a package holds the file '{name}'", why="that leads out of it")
    return place


def link_inside(tree: Path, place: PurePosixPath, target: str) -> None:
    """Make a link in the tree, written relative to its own folder, so that the tree's root is its root."""
    folder = PurePosixPath("/") / place.parent
    aim = PurePosixPath(os.path.normpath(folder / target))
    path = tree / place
    if path.exists() or any((tree / taken).is_symlink() for taken in (place, *place.parents)):
        return  # another package was there first
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(aim, folder))
