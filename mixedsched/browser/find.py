"""Where Chromium, Node and the lighthouse-runner are, or how to get them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from mixedsched.errors import MissingPartError

NODE_MAJOR_MIN = 20

_CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_CHROMIUM_FIX = "Debian, Ubuntu: apt-get install chromium; or set CHROME_PATH to the browser's program"
_NODE_FIX = f"install Node.js {NODE_MAJOR_MIN} or later and see that `node` is in the PATH"
_PACKAGE_DIR = Path(__file__).resolve().parents[2] / "lighthouse-runner"


def find_chromium() -> Path:
    """The browser: CHROME_PATH if it is set, else the first known name in the PATH. Raises MissingPartError."""
    chosen = os.environ.get("CHROME_PATH")
    if chosen:
        if shutil.which(chosen) is None:
            raise MissingPartError("Chromium is missing", why=f"CHROME_PATH is {chosen}, no program", fix=_CHROMIUM_FIX)
        return Path(chosen)
    for name in _CHROMIUM_NAMES:
        path = shutil.which(name)
        if path is not None:
            return Path(path)
    raise MissingPartError("Chromium is missing", why="no such program in the PATH", fix=_CHROMIUM_FIX)


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
    """The lighthouse-runner with its dependencies; by default the one beside the Python package. Raises MissingPartError."""
    directory = package_dir or _PACKAGE_DIR
    if not (directory / "worker.mjs").is_file():
        raise MissingPartError(
            "the lighthouse-runner is missing",
            why=f"no worker.mjs in {directory}",
            fix="run from a checkout of the repository, or name the directory of lighthouse-runner",
        )
    if not (directory / "node_modules" / "lighthouse").is_dir():
        raise MissingPartError(
            "the lighthouse-runner is not installed",
            why=f"no node_modules in {directory}",
            fix=f"npm ci --prefix {directory}",
        )
    return directory
