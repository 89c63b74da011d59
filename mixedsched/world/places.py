"""Where things are: what this program reads, and where it may keep what it fetches and builds.

In a checkout, the top-level folders are read, and things are kept in build/. If the package is installed, the same folders are
inside it, and things are kept in the user's cache folder, or, if that cannot be written, in a temporary folder of this user's.
"""

import os
import stat
import tempfile
from collections.abc import Callable
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
