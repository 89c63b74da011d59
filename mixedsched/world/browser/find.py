"""Where Chromium, Firefox, Node and the lighthouse-runner are, or how to get them.

Chrome for Testing, which `mixedsched setup` brings, is kept in the cache folder. Beside it is a record, written when the
browser is complete. Without it, the browser does not count as installed.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.world import places
from mixedsched.world.npm import packages_are_current
from mixedsched.world.places import RUNNER
from mixedsched.world.system.programs import run_program

FOLDER_NAME = "browser"  # of Chrome for Testing
NOTE_NAME = "browser.json"  # its record
_FORMAT = "mixedsched.browser/1"
_STARTER = "snap"  # what the names in /snap/bin lead to
_SNAP_IN_SCRIPT = re.compile(rb"/snap/bin/|\bsnap\s+run\b")
_READ_BYTES_MOST = 8192
NODE_MAJOR_MIN = 20
_NODE_LIMIT_S = 20.0

_CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_WAYS = "run `mixedsched setup`, which brings one, or (Debian) apt-get install chromium"
_CHROMIUM_FIX = f"{_WAYS}, or set CHROME_PATH to the browser's program"
_CHOSEN_FIX = f"set CHROME_PATH to the browser's program; or unset it, and {_WAYS}"
_SNAP_WHY = "it is a snap, which sees neither /tmp nor hidden folders, where the profiles of measured browsers are"
_FIREFOX_NAMES = ("firefox-esr", "firefox")
_FIREFOX_FIX = (
    "(Debian) apt-get install firefox-esr, (others) install Mozilla's own package or archive, "
    "or set FIREFOX_PATH to the browser's program"
)
_NODE_FIX = f"install Node.js {NODE_MAJOR_MIN} or later and see that `node` is in the PATH"


@dataclass(frozen=True, slots=True)
class OwnBrowser:
    """An installed Chrome for Testing."""

    build: str
    """Its version, such as 148.0.7778.97."""
    program: Path


def own_browser() -> OwnBrowser | None:
    """The browser that was installed; None if there is none, or it is incomplete."""
    folder = places.find_kept(FOLDER_NAME, lambda folder: _read_note(folder) is not None)
    return _read_note(folder) if folder is not None else None


def write_note(folder: Path, browser: OwnBrowser) -> None:
    """Record that it is complete."""
    facts = {
        "format": _FORMAT,
        "build": browser.build,
        "program": browser.program.relative_to(folder).as_posix(),
        "program_bytes": browser.program.stat().st_size,
    }
    aside = folder / f".{NOTE_NAME}-{os.getpid()}"
    aside.write_text(json.dumps(facts), encoding="utf-8")
    aside.rename(folder / NOTE_NAME)


def remove_note(folder: Path) -> None:
    """From here on, the folder's content does not count."""
    (folder / NOTE_NAME).unlink(missing_ok=True)


def _read_note(folder: Path) -> OwnBrowser | None:
    try:
        facts = json.loads((folder / NOTE_NAME).read_bytes())
        program = folder / facts["program"]
        is_whole = facts["format"] == _FORMAT and program.stat().st_size == facts["program_bytes"]
        return OwnBrowser(str(facts["build"]), program) if is_whole and os.access(program, os.X_OK) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_snap(program: Path) -> bool:
    """Whether it starts a snap: a link to snap itself, or a script that hands over to one, as Ubuntu's chromium-browser.

    Snaps are confined so that they see neither /tmp nor hidden folders of the home, where our profiles are.
    """
    try:
        if program.resolve().name == _STARTER:
            return True
        with program.open("rb") as opened:
            beginning = opened.read(_READ_BYTES_MOST)
    except (OSError, RuntimeError):  # RuntimeError: a loop of links
        return False
    return beginning.startswith(b"#!") and _SNAP_IN_SCRIPT.search(beginning) is not None


def find_chromium() -> Path:
    """The browser: CHROME_PATH if it is set, else the first known name in the PATH, else what `mixedsched setup` brought.

    Snaps are passed over. Raises MissingPartError, also if no browser could run here.
    """
    _require_process_files()
    chosen = chosen_browser()
    if chosen is not None:
        return chosen
    found, snaps = browsers_in_path()
    if found is not None:
        return found
    own = own_browser()
    if own is not None:
        return own.program
    if snaps:
        raise MissingPartError(f"{snaps[0]} cannot be used", why=_SNAP_WHY, fix=_CHROMIUM_FIX)
    raise MissingPartError(
        "Chromium is missing",
        why="no such program in the PATH, and `mixedsched setup` has brought none",
        fix=_CHROMIUM_FIX,
    )


def _require_process_files() -> None:
    """Chromium's processes look for themselves and each other in /proc; without it they end at once."""
    if sys.platform == "linux" and not Path("/proc/self").exists():
        raise MissingPartError(
            "no browser can run here",
            why="/proc is not mounted",
            fix="mount it (`mount -t proc proc /proc`), or start the container or chroot with it",
        )


def chosen_browser() -> Path | None:
    """The browser named by CHROME_PATH; None if that is not set. Raises MissingPartError if it cannot be used."""
    chosen = os.environ.get("CHROME_PATH")
    if not chosen:
        return None
    found = shutil.which(chosen)
    if found is None:
        raise MissingPartError(
            "Chromium is missing", why=f"CHROME_PATH is {chosen}, which is not a program", fix=_CHOSEN_FIX
        )
    if is_snap(Path(found)):
        raise MissingPartError(f"CHROME_PATH is {chosen}, which cannot be used", why=_SNAP_WHY, fix=_CHOSEN_FIX)
    return Path(chosen)


def browsers_in_path() -> tuple[Path | None, list[Path]]:
    """The first known name of Chromium in the PATH that can be used, and the snaps that were passed over."""
    return _programs_in_path(_CHROMIUM_NAMES)


def _programs_in_path(names: Iterable[str]) -> tuple[Path | None, list[Path]]:
    """The first of them that is no snap, and the snaps before it."""
    snaps: list[Path] = []
    for name in names:
        path = shutil.which(name)
        if path is None:
            continue
        if not is_snap(Path(path)):
            return Path(path), snaps
        snaps.append(Path(path))
    return None, snaps


def find_firefox() -> Path:
    """Firefox: FIREFOX_PATH if it is set, else the first known name in the PATH that is no snap. Raises MissingPartError."""
    _require_process_files()
    chosen = os.environ.get("FIREFOX_PATH")
    found, snaps = _programs_in_path((chosen,) if chosen else _FIREFOX_NAMES)
    if found is not None:
        return found
    if snaps:
        raise MissingPartError(f"{snaps[0]} cannot be used", why=_SNAP_WHY, fix=_FIREFOX_FIX)
    why = f"FIREFOX_PATH is {chosen}, which is not a program" if chosen else "no such program in the PATH"
    raise MissingPartError("Firefox is missing", why=why, fix=_FIREFOX_FIX)


def find_node() -> Path:
    """Node.js, new enough. Raises MissingPartError."""
    path = shutil.which("node")
    if path is None:
        raise MissingPartError("Node.js is missing", why="no `node` in the PATH", fix=_NODE_FIX)
    said = run_program([path, "--version"], _NODE_LIMIT_S)
    version = said.output.strip() or said.complaint
    match = re.match(r"v(\d+)\.", version)
    if match is None or int(match.group(1)) < NODE_MAJOR_MIN:
        raise MissingPartError("Node.js is too old", why=f"{path} says {version or 'nothing'}", fix=_NODE_FIX)
    return Path(path)


def find_package(package_dir: Path | None = None) -> Path:
    """The lighthouse-runner with its dependencies; by default the one of this program. Raises MissingPartError."""
    if package_dir is None:
        found = RUNNER.found(is_ready_package)
        if found is None:
            raise _no_package(RUNNER.place(), "run `mixedsched setup`")
        return found
    if not is_ready_package(package_dir):
        raise _no_package(package_dir, f"npm ci --prefix {package_dir}")
    return package_dir


def _no_package(directory: Path, remedy: str) -> MissingPartError:
    if not places.is_installed() and not (directory / "worker.mjs").is_file():
        return MissingPartError(
            "the lighthouse-runner is missing",
            why=f"no worker.mjs in {directory}",
            fix="restore it from the repository, or name the directory of lighthouse-runner",
        )
    others = RUNNER.others()
    why = f"{others[0]} belongs to another version" if others else f"no complete node_modules in {directory}"
    return MissingPartError("the lighthouse-runner is not installed", why=why, fix=remedy)


def is_ready_package(directory: Path) -> bool:
    """Whether it is complete."""
    return (directory / "worker.mjs").is_file() and packages_are_current(directory)
