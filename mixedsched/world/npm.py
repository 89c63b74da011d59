"""A folder's Node packages, exactly those in its package-lock.json, installed by `npm ci`.

Lock files contain no download addresses: npm asks the registry that it is configured for.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mixedsched.errors import MissingPartError
from mixedsched.world.places import locked

_COMMAND = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
_LIMIT_S = 1800.0
_LOOK_EVERY_S = 0.25
_COMPLAINT_CHARACTERS_MOST = 400
_LOCK_NAME = "package-lock.json"
# npm writes this inventory when all packages are installed.
_INSTALLED_LOCK = Path("node_modules/.package-lock.json")
# Otherwise npm takes more than two minutes to notice that there is no network.
_PATIENCE = {"npm_config_fetch_retry_mintimeout": "2000", "npm_config_fetch_retry_maxtimeout": "10000"}
# The line of npm's output on a failure that tells people most.
_GIST = re.compile(r"^npm (?:error|ERR!) (?!code |syscall |errno )(.*\S)", re.MULTILINE)

Tell = Callable[[int, int], None]  # packages that are there, packages that there will be


def packages_are_current(folder: Path) -> bool:
    """Whether exactly the versions of the lock file are installed; optional packages may be for another platform."""
    wanted, installed = _packages(folder / _LOCK_NAME), _packages(folder / _INSTALLED_LOCK)
    if wanted is None or installed is None:
        return False
    needed = {name for name, entry in wanted.items() if not entry.get("optional")}
    versions = {name: entry.get("version") for name, entry in wanted.items()}
    return needed <= installed.keys() and all(
        entry.get("version") == versions.get(name) for name, entry in installed.items()
    )


def install_packages(folder: Path, tell: Tell = lambda _done, _total: None) -> bool:
    """Install the packages unless they are installed; returns whether there was anything to do.

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
        files = [folder / name / "package.json" for name in wanted]
        problem = _problem(npm, folder, lock, lambda: tell(sum(file.exists() for file in files), len(files)))
    if problem:
        raise MissingPartError(
            f"the Node packages of {folder} could not be installed",
            why=f"npm: {problem}",
            fix=f"check the network and repeat the command; or by hand: copy package.json and {_LOCK_NAME} of that folder "
            "to a machine with a network, run `npm ci --ignore-scripts` beside them, and copy node_modules back",
        )
    return True


def _npm() -> str:
    """The path of npm. Raises MissingPartError."""
    npm = shutil.which("npm")
    if npm is None:
        raise MissingPartError(
            "npm is missing",
            why="Node packages must be installed, and there is no `npm` in the PATH",
            fix="install Node.js 20 or later with npm, for instance apt-get install npm",
        )
    return npm


def _problem(npm: str, folder: Path, lock: int, look: Callable[[], None]) -> str:
    """Run npm; returns its complaint, "" if all went well."""
    with _writable_npm_cache() as variables, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [npm, *_COMMAND],
            cwd=folder,
            env={**_PATIENCE, **os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            pass_fds=(lock,),  # if we are killed, the next process still waits for npm to end
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
    """Wait until npm ends, and call `look` now and then; returns whether it ended in time."""
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
    return (found.group(1) if found else said.strip())[:_COMPLAINT_CHARACTERS_MOST] or "it failed without a message"


@contextmanager
def _writable_npm_cache() -> Iterator[Mapping[str, str]]:
    """Variables for npm, which needs a writable folder of its own and would look for it in the home."""
    if "npm_config_cache" in os.environ or os.access(os.path.expanduser("~"), os.W_OK):  # noqa: PTH111 - never fails
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="mixedsched-npm-") as folder:
        yield {"npm_config_cache": folder}


def _packages(lock: Path) -> dict[str, dict[str, Any]] | None:
    """A lock file's entries by package folder; None if there is no such file."""
    try:
        packages: dict[str, dict[str, Any]] = json.loads(lock.read_bytes())["packages"]
        return {folder: entry for folder, entry in packages.items() if folder}
    except (OSError, ValueError, KeyError, AttributeError):
        return None
