"""Builds sites from recipes, each into a folder of its own, unless an up-to-date build is there; all or nothing."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mixedsched.errors import SiteError
from mixedsched.sites.making._packaged import package_versions
from mixedsched.sites.making._recipe import DebianContents, NpmContents, PageContents, Recipe, StatisticsContents
from mixedsched.sites.site import Site, load_built
from mixedsched.sites.site.folders import make_folder

BUILDER_VERSION = 2  # raise it when the same recipe would give other bytes
FINGERPRINT_NAME = "fingerprint"


def build(
    recipe: Recipe, build_dir: Path, packages_dir: Path, progress: Callable[[str], None] = lambda _line: None
) -> Site:
    """The site of a recipe, built into build_dir/NAME unless an up-to-date build is there.

    packages_dir: what fetch_contents returned. progress: told in a line what takes time.
    A build is written aside and renamed at its end, so that a half-done one is never seen; a damaged one is built again.
    Raises SiteError, and MissingPartError if a package is not installed.
    """
    target = build_dir / recipe.name
    fingerprint = _fingerprint(recipe, packages_dir)
    if (site := _current(target, fingerprint)) is not None:
        return site
    progress(f"building site {recipe.name}")
    # Here, as its libraries for fonts and images are of no use to the many who find a build.
    from mixedsched.sites.making._assembly import assemble

    def fill(fresh: Path) -> None:
        assemble(recipe, fresh, packages_dir, progress)
        (fresh / FINGERPRINT_NAME).write_text(fingerprint + "\n", encoding="ascii")
        load_built(fresh)

    make_folder(target, fill, is_good=lambda: _current(target, fingerprint) is not None)
    return load_built(target)


def _current(target: Path, fingerprint: str) -> Site | None:
    """The site of a build that is there, up to date and undamaged."""
    try:
        stored = (target / FINGERPRINT_NAME).read_bytes()
        return load_built(target) if stored.decode("ascii", "replace").strip() == fingerprint else None
    except (OSError, SiteError):
        return None


def _fingerprint(recipe: Recipe, packages_dir: Path) -> str:
    """A hash of all that a build depends on: builder, recipe text, versions of the packages it takes from."""
    facts: dict[str, Any] = {"builder": BUILDER_VERSION, "recipe": recipe.text or recipe.model_dump_json()}
    if isinstance(recipe.recipe, NpmContents | DebianContents):
        facts["packages"] = package_versions(recipe.recipe, packages_dir)
    if isinstance(recipe.recipe, PageContents | StatisticsContents):
        facts["synthesis"] = _synthesis_digest()
    if isinstance(recipe.recipe, PageContents):
        facts["page"] = recipe.recipe.text(recipe.folder)
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _synthesis_digest() -> str:
    """A hash of the programs and tables that make synthetic sites: whenever they change, so may the files."""
    digest = hashlib.sha256()
    rooms = Path(__file__).parents[1]
    for file in sorted(file for folder in ("generate", "synth") for file in (rooms / folder).rglob("*.*")):
        if file.suffix != ".pyc":
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()
