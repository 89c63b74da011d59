"""Where Chromium, Node and the lighthouse-runner are, or how to get them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.world import places
from mixedsched.world.browser._snap import is_snap
from mixedsched.world.browser.own import own_browser
from mixedsched.world.npm import packages_are_current
from mixedsched.world.working_copy import RUNNER

NODE_MAJOR_MIN = 20

_CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_WAYS = "run `mixedsched setup`, which brings one, or (Debian) apt-get install chromium"
_CHROMIUM_FIX = f"{_WAYS}, or set CHROME_PATH to the browser's program"
_CHOSEN_FIX = f"set CHROME_PATH to the browser's program; or unset it, and {_WAYS}"
_SNAP_WHY = "it is a snap, which sees neither /tmp nor hidden folders, where the profiles of measured browsers are"
_NODE_FIX = f"install Node.js {NODE_MAJOR_MIN} or later and see that `node` is in the PATH"


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
    """The first known name in the PATH that can be used, and the snaps that were passed over."""
    snaps: list[Path] = []
    for name in _CHROMIUM_NAMES:
        path = shutil.which(name)
        if path is None:
            continue
        if not is_snap(Path(path)):
            return Path(path), snaps
        snaps.append(Path(path))
    return None, snaps


def find_node() -> Path:
    """Node.js, new enough. Raises MissingPartError."""
    path = shutil.which("node")
    if path is None:
        raise MissingPartError("Node.js is missing", why="no `node` in the PATH", fix=_NODE_FIX)
    version = _node_version(path)
    match = re.match(r"v(\d+)\.", version)
    if match is None or int(match.group(1)) < NODE_MAJOR_MIN:
        raise MissingPartError("Node.js is too old", why=f"{path} says {version or 'nothing'}", fix=_NODE_FIX)
    return Path(path)


def _node_version(path: str) -> str:
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return answer.stdout.strip()


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
