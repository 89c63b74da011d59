"""Where things are: what this program reads, and where it may keep what it fetches and builds.

In a checkout, the top-level folders are read, and things are kept in build/. If the package is installed, the same folders are
inside it, and things are kept in the user's cache folder, or, if that cannot be written, in a temporary folder of this user's.
"""

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from mixedsched.errors import MissingPartError

HOME_VARIABLE = "MIXEDSCHED_HOME"
CACHE_VARIABLE = "MIXEDSCHED_CACHE"

PACKAGE = Path(__file__).resolve().parents[1]  # the programs
_PACKAGED = PACKAGE / "_data"  # what a wheel holds of the top-level folders; see pyproject.toml
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def home() -> Path:
    """The folder with mapping/, vm/profiles/, sites/ and lighthouse-runner/ in it. Raises MissingPartError."""
    named = os.environ.get(HOME_VARIABLE)
    inside = _PACKAGED if _PACKAGED.is_dir() else PACKAGE.parent
    folder = Path(named) if named else inside
    if not (folder / "mapping").is_dir():
        raise MissingPartError(
            f"{folder} is not mixedsched's folder",
            why="it has no mapping/ in it",
            fix=f"set {HOME_VARIABLE} to a checkout of mixedsched" + (", or unset it" if named else ""),
        )
    return folder


def is_installed() -> bool:
    """Whether home() is inside an installed package, and so not ours to write to."""
    return home() == _PACKAGED


def cache_folders() -> list[Path]:
    """Folders in which things may be kept, the best first. Not all of them need exist."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return [Path(named).absolute()]
    if not is_installed():
        return [home() / "build"]
    # For a user without a home the path is a relative one.
    folders = [folder for folder in (user_cache_path("mixedsched"),) if folder.is_absolute()]
    return [*folders, *_temporary()]


def find_kept(name: str, is_good: Callable[[Path], bool]) -> Path | None:
    """The first thing kept under this name that is good; also in a folder that can only be read."""
    return next((path for folder in cache_folders() if is_good(path := folder / name)), None)


def writable_cache() -> Path:
    """The folder to keep things in; made if it is missing. Raises MissingPartError."""
    refusals = []
    for folder in cache_folders():
        refusal = _refusal(folder)
        if refusal is None:
            return folder
        refusals.append(f"{folder}: {refusal}")
    raise MissingPartError(
        "there is no folder to keep things in",
        why="; ".join(refusals),
        fix=f"make one of them writable, or set {CACHE_VARIABLE} to a writable folder",
    )


def _temporary() -> list[Path]:
    """This user's temporary folder; none if another user made, or may change, what has its name."""
    try:
        folder = Path(tempfile.gettempdir()) / f"mixedsched-cache-{os.getuid()}"
    except FileNotFoundError:  # the system has no place for temporary files
        return []
    try:
        about = folder.lstat()
    except FileNotFoundError:
        return [folder]
    is_ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & _OTHERS_MAY_WRITE
    return [folder] if is_ours else []


def _refusal(folder: Path) -> str | None:
    """Why a folder cannot be written to; None if it can. Makes it if it is missing."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return None if os.access(folder, os.W_OK | os.X_OK) else "it cannot be written to"


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """One process at a time fills a folder; the others wait.

    Yields the lock as a descriptor. It ends with the processes that hold it, however they end. A child inherits it if its work
    must not meet another process's even after this process is killed.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class WorkingCopy:
    """A folder of the project to which packages are added: the browser's worker, or the sites' contents.

    In a checkout, packages go into the folder itself; otherwise into a kept copy that is named after its content, so that every
    version of this program has its own.
    """

    name: str
    """In home()."""
    files: str
    """A pattern for what is copied."""

    def found(self, is_ready: Callable[[Path], bool]) -> Path | None:
        """The folder if it is complete with its packages; else None."""
        source = home() / self.name
        if not is_installed():
            return source if is_ready(source) else None
        return find_kept(self._kept_name(), lambda folder: self._is_whole(folder) and is_ready(folder))

    def place(self) -> Path:
        """Where it belongs. Raises MissingPartError."""
        if not is_installed():
            return home() / self.name
        return writable_cache() / self._kept_name()

    def provide(self) -> Path:
        """The folder with all our files, to which packages can be added. Raises MissingPartError."""
        place = self.place()
        if is_installed() and not self._is_whole(place):
            self._copy(place)
        return place

    def others(self) -> list[Path]:
        """The copies of other versions."""
        if not is_installed():
            return []
        copies = (copy for folder in cache_folders() for copy in folder.glob(f"{self.name}-*"))
        return sorted(copy for copy in copies if copy.name != self._kept_name())

    def _kept_name(self) -> str:
        return f"{self.name}-{self._digest(home() / self.name)}"

    def _is_whole(self, folder: Path) -> bool:
        try:
            return self._digest(folder) == self._digest(home() / self.name)
        except OSError:
            return False

    def _digest(self, folder: Path) -> str:
        """A digest of our files in a folder. Raises OSError if one is missing."""
        digest = hashlib.sha256()
        for name in self._our_files():
            digest.update(name.as_posix().encode() + b"\0" + (folder / name).read_bytes() + b"\0")
        return digest.hexdigest()[:12]

    def _our_files(self) -> list[Path]:
        source = home() / self.name
        return sorted(path.relative_to(source) for path in source.glob(self.files) if path.is_file())

    def _copy(self, place: Path) -> None:
        try:
            for name in self._our_files():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(home() / self.name / name, place / name)
        except OSError as error:
            raise MissingPartError(
                f"{place} cannot be written",
                why=error.strerror or str(error),
                fix=f"free some space, or set {CACHE_VARIABLE} to another folder",
            ) from error


RUNNER = WorkingCopy("lighthouse-runner", "**/*")
SITE_CONTENTS = WorkingCopy("sites", "*")
