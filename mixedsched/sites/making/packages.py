"""Third-party contents: npm packages pinned by sites/package-lock.json, and Debian's. Fetched when they are not there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from mixedsched.errors import MissingPartError
from mixedsched.sites.making.debian import debian_files, fetch_debian
from mixedsched.sites.making.recipe import DebianContents, NpmContents, Recipe
from mixedsched.world.npm import install_packages, packages_are_current


def fetch_contents(recipe: Recipe, sites_dir: Path, progress: Callable[[str], None] = lambda _line: None) -> Path:
    """Fetch the packages that building this recipe takes, unless they are there; return the folder that `build` wants.

    sites_dir: with the lock files; packages are added to it. Raises MissingPartError without the package manager or if npm
    fails, SiteError if apt-get fails.
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

    No script of a package runs. Raises MissingPartError without npm or a lock file, and if npm fails.
    """
    if not packages_are_current(sites_dir):
        progress(f"fetching the sites' contents with npm ci into {sites_dir}")
        install_packages(sites_dir)
    return sites_dir / "node_modules"


def package_versions(contents: NpmContents | DebianContents, packages_dir: Path) -> dict[str, str]:
    """The packages that a recipe takes files from, with their versions. Raises MissingPartError for an absent one."""
    names = {rule.package for rule in contents.rewrite if rule.package}
    versions = {}
    if isinstance(contents, DebianContents):
        versions = {file.name: file.version for file in debian_files(contents.packages, packages_dir.parent)}
        names.discard(contents.package)
    else:
        names.add(contents.package)
    return {**versions, **{name: _npm_version(packages_dir, name) for name in sorted(names)}}


def _npm_version(packages_dir: Path, package: str) -> str:
    try:
        return str(json.loads((packages_dir / package / "package.json").read_bytes())["version"])
    except (OSError, ValueError, KeyError) as error:
        raise MissingPartError(
            f"the npm package '{package}' is not in {packages_dir}",
            why="contents of sites are fetched, not shipped",
            fix=f"run npm ci in {packages_dir.parent}",
        ) from error
