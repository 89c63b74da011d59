"""Third-party contents, fetched when they are not there: npm packages pinned by sites/package-lock.json, and Debian's."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mixedsched.errors import MissingPartError, SiteError
from mixedsched.programs import find_program
from mixedsched.sites._debian import fetch_debian
from mixedsched.sites._recipe import DebianContents, NpmContents, Recipe

_FETCH_LIMIT_S = 600
# npm leaves this inventory of what it installed.
_INSTALLED_LOCK = Path("node_modules/.package-lock.json")


def fetch_contents(recipe: Recipe, sites_dir: Path, progress: Callable[[str], None] = lambda _line: None) -> Path:
    """Fetch the packages that building this recipe takes, unless they are there; return the folder that `build` wants.

    Raises MissingPartError without the package manager, SiteError if it fails.
    """
    contents = recipe.recipe
    if isinstance(contents, DebianContents):
        fetch_debian(contents.packages, sites_dir, progress)
    borrows = isinstance(contents, DebianContents) and any(rule.package for rule in contents.rewrite)
    if isinstance(contents, NpmContents) or borrows:
        fetch_packages(sites_dir, progress)
    return sites_dir / "node_modules"


def fetch_packages(sites_dir: Path, progress: Callable[[str], None] = lambda _line: None) -> Path:
    """Install the pinned packages unless they are installed; return the folder that holds them.

    No script of a package runs. Raises MissingPartError without npm, SiteError if npm fails or the lock file is missing.
    """
    packages_dir = sites_dir / "node_modules"
    if packages_are_current(sites_dir):
        return packages_dir
    npm = find_program("npm")
    if npm is None:
        raise MissingPartError(
            "npm is missing",
            why="the contents of the sites are npm packages",
            fix="install Node.js 20 or later with npm, for instance apt-get install npm",
        )
    progress("fetching the sites' contents with npm ci")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(
            command, cwd=sites_dir, capture_output=True, text=True, timeout=_FETCH_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SiteError(
            f"npm ci in {sites_dir} was stopped after {_FETCH_LIMIT_S} s", fix="check the network and try again"
        ) from error
    if done.returncode != 0:
        raise SiteError(
            f"npm ci failed in {sites_dir}",
            why=done.stderr.strip()[-500:],
            fix="check the network, or run it by hand there",
        )
    return packages_dir


def packages_are_current(sites_dir: Path) -> bool:
    """Whether exactly the versions of the lock file are installed."""
    wanted = _versions(sites_dir / "package-lock.json")
    if wanted is None:
        raise SiteError(f"{sites_dir} has no readable package-lock.json", fix="restore it from the repository")
    return _versions(sites_dir / _INSTALLED_LOCK) == wanted


def _versions(lock: Path) -> dict[str, str] | None:
    """Package folder -> version, as a lock file lists them; None if there is no such file."""
    try:
        packages: dict[str, Any] = json.loads(lock.read_bytes())["packages"]
    except (OSError, ValueError, KeyError):
        return None
    return {folder: str(entry.get("version")) for folder, entry in packages.items() if folder}


def package_version(packages_dir: Path, package: str) -> str:
    """The installed version of a package. Raises MissingPartError if it is not installed."""
    try:
        return str(json.loads((packages_dir / package / "package.json").read_bytes())["version"])
    except (OSError, ValueError, KeyError) as error:
        raise MissingPartError(
            f"the npm package '{package}' is not in {packages_dir}",
            why="contents of sites are fetched, not shipped",
            fix=f"run npm ci in {packages_dir.parent}",
        ) from error
