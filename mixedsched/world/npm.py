"""Node packages of a folder, exactly those that its package-lock.json names, installed by `npm ci`.

Lock files name no download address: npm asks whichever registry it is set up for.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mixedsched.errors import MissingPartError
from mixedsched.world.system.folder_lock import locked

_COMMAND = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
_LIMIT_S = 1800.0
_LOOK_EVERY_S = 0.25
_SAID_SIGNS_MOST = 400
_LOCK_NAME = "package-lock.json"
# npm leaves this inventory of what it installed when all of it is there.
_INSTALLED_LOCK = Path("node_modules/.package-lock.json")
# Otherwise npm takes more than two minutes to find out that there is no network.
_PATIENCE = {"npm_config_fetch_retry_mintimeout": "2000", "npm_config_fetch_retry_maxtimeout": "10000"}
# Of all that npm says of a failure, the line that tells people most.
_GIST = re.compile(r"^npm (?:error|ERR!) (?!code |syscall |errno )(.*\S)", re.MULTILINE)

Tell = Callable[[int, int], None]  # packages that are there, packages that there will be


def packages_are_current(folder: Path) -> bool:
    """Whether there is a lock file, and exactly its versions are installed; optional ones may be of another platform."""
    wanted, installed = _packages(folder / _LOCK_NAME), _packages(folder / _INSTALLED_LOCK)
    if wanted is None or installed is None:
        return False
    needed = {name for name, entry in wanted.items() if not entry.get("optional")}
    versions = {name: entry.get("version") for name, entry in wanted.items()}
    return needed <= installed.keys() and all(
        entry.get("version") == versions.get(name) for name, entry in installed.items()
    )


def install_packages(folder: Path, tell: Tell = lambda _done, _total: None) -> bool:
    """Install the packages unless they are installed; whether anything was to be done.

    No script of a package runs. A second process waits for the first. Raises MissingPartError without npm or a lock file,
    and if npm fails.
    """
    if packages_are_current(folder):
        return False
    wanted = _packages(folder / _LOCK_NAME)
    if wanted is None:
        raise MissingPartError(f"{folder} has no readable {_LOCK_NAME}", fix="restore it from the repository")
    npm = _npm()
    with locked(folder) as lock:
        if packages_are_current(folder):
            return False
        problem = _problem(npm, folder, lock, lambda: tell(_count(folder, wanted), len(wanted)))
    if problem:
        raise MissingPartError(
            f"the Node packages of {folder} could not be installed",
            why=f"npm: {problem}",
            fix=f"check the network and give the command again; or by hand: copy package.json and {_LOCK_NAME} of that folder "
            "to a machine with a network, run `npm ci --ignore-scripts` beside them, and bring node_modules back",
        )
    return True


def _npm() -> str:
    """The path of npm. Raises MissingPartError."""
    npm = shutil.which("npm")
    if npm is None:
        raise MissingPartError(
            "npm is missing",
            why="Node packages are to be installed, and there is no `npm` in the PATH",
            fix="install Node.js 20 or later with npm, for instance apt-get install npm",
        )
    return npm


def _problem(npm: str, folder: Path, lock: int, look: Callable[[], None]) -> str:
    """Run npm; what it complained of, "" if all went well."""
    with _writable_npm_cache() as variables, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [npm, *_COMMAND],
            cwd=folder,
            env={**_PATIENCE, **os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            pass_fds=(lock,),  # should we be killed, the next one still waits for the end of npm
        )
        with process:
            try:
                in_time = _awaited(process, look)
            finally:
                process.kill()
        if not in_time:
            return f"stopped after {_LIMIT_S:.0f} s"
        said.seek(0)
        return _gist(said.read().decode(errors="replace")) if process.returncode else ""


def _awaited(process: subprocess.Popen[bytes], look: Callable[[], None]) -> bool:
    """Wait for the end of npm, and look at times; whether it came."""
    latest_s = time.monotonic() + _LIMIT_S
    while time.monotonic() < latest_s:
        try:
            process.wait(_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            look()
        else:
            return True
    return False


def _gist(said: str) -> str:
    found = _GIST.search(said)
    return (found.group(1) if found else said.strip())[:_SAID_SIGNS_MOST] or "it failed without a word"


@contextmanager
def _writable_npm_cache() -> Iterator[Mapping[str, str]]:
    """What to tell npm, which needs a folder of its own to write to and would look for it in the home."""
    if "npm_config_cache" in os.environ or os.access(os.path.expanduser("~"), os.W_OK):  # noqa: PTH111 - never fails
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="mixedsched-npm-") as folder:
        yield {"npm_config_cache": folder}


def _count(folder: Path, names: Iterable[str]) -> int:
    """How many of the packages are there."""
    return sum((folder / name / "package.json").exists() for name in names)


def _packages(lock: Path) -> dict[str, dict[str, Any]] | None:
    """Package folder -> what a lock file says of it; None if there is no such file."""
    try:
        packages: dict[str, dict[str, Any]] = json.loads(lock.read_bytes())["packages"]
        return {folder: entry for folder, entry in packages.items() if folder}
    except (OSError, ValueError, KeyError, AttributeError):
        return None
