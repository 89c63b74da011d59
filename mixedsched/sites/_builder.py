"""Builds sites from recipes: copy or generate, compress, analyse, write the manifest; all or nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixedsched.errors import SiteError
from mixedsched.page import PAGE_FORMAT
from mixedsched.sites._aside import make_folder
from mixedsched.sites._contents import ContentsCopier
from mixedsched.sites._discover import Discovery, Hints, Sent, discover, serving_entry
from mixedsched.sites._html import has_icon
from mixedsched.sites._images import blank_icon
from mixedsched.sites._load import load_site
from mixedsched.sites._packages import package_version
from mixedsched.sites._paths import Local, url_of_file
from mixedsched.sites._recipe import NpmContents, Recipe, ThreeHostsContents
from mixedsched.sites._references import decoded
from mixedsched.sites._responses import dumped
from mixedsched.sites._site import MANIFEST_NAME, ROOT_NAME, Origins, Site
from mixedsched.sites._synthetic import write_davies_meenan
from mixedsched.sites._three_hosts import write_three_hosts
from mixedsched.sites._wire import compress, is_text

BUILDER_VERSION = 1  # raise it when the same recipe would give other bytes
FINGERPRINT_NAME = "fingerprint"


def build(
    recipe: Recipe, build_dir: Path, packages_dir: Path, progress: Callable[[str], None] = lambda _line: None
) -> Site:
    """The site of a recipe, built into build_dir/NAME unless an up-to-date build is there.

    packages_dir: the node_modules that fetch_packages filled. progress: is told in a line what takes time.
    A build is written aside and renamed at its end, so that a half-done one is never seen; a damaged one is built again.
    Raises SiteError, and MissingPartError if a package is not installed.
    """
    target = build_dir / recipe.name
    fingerprint = _fingerprint(recipe, packages_dir)
    if (site := _current(target, fingerprint)) is not None:
        return site
    progress(f"building site {recipe.name}")

    def fill(fresh: Path) -> None:
        _build_into(recipe, fresh, packages_dir)
        (fresh / FINGERPRINT_NAME).write_text(fingerprint + "\n", encoding="ascii")
        load_site(fresh)

    make_folder(target, fill, is_good=lambda: _current(target, fingerprint) is not None)
    return load_site(target)


def _current(target: Path, fingerprint: str) -> Site | None:
    """The site of a build that is there, up to date and undamaged."""
    try:
        stored = (target / FINGERPRINT_NAME).read_bytes()
        return load_site(target) if stored.decode("ascii", "replace").strip() == fingerprint else None
    except (OSError, SiteError):
        return None


def _fingerprint(recipe: Recipe, packages_dir: Path) -> str:
    """What a build depends on, as a hash: builder, recipe text, versions of the packages it takes from."""
    facts: dict[str, Any] = {"builder": BUILDER_VERSION, "recipe": recipe.text or recipe.model_dump_json()}
    if isinstance(recipe.recipe, NpmContents):
        packages = {recipe.recipe.package, *(rule.package for rule in recipe.recipe.rewrite if rule.package)}
        facts["packages"] = {name: package_version(packages_dir, name) for name in sorted(packages)}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _build_into(recipe: Recipe, directory: Path, packages_dir: Path) -> None:
    www = directory / ROOT_NAME
    www.mkdir()
    match recipe.recipe:
        case NpmContents() as contents:
            ContentsCopier(recipe, contents, packages_dir, www).copy()
            _provide_icon(www, Local(0, recipe.entry).file)
            found = _analyse(recipe, contents, www)
        case ThreeHostsContents():
            found = Discovery(write_three_hosts(www, recipe.hosts), [])
        case _:
            found = Discovery(write_davies_meenan(www), [])
    manifest = {
        "format": PAGE_FORMAT,
        "name": recipe.name,
        "title": recipe.title,
        "description": recipe.description,
        "licence": recipe.licence,
        "source": recipe.source,
        "hosts": list(recipe.hosts),
        "entry": recipe.entry,
        "resources": found.resources,
        "also_served": found.served,
        **({"origins": recipe.origins.value} if recipe.origins is not Origins.KEEP else {}),
        **({"connections": recipe.connections} if recipe.connections is not None else {}),
        **({"responses": dumped(recipe.responses)} if recipe.responses else {}),
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    (directory / MANIFEST_NAME).write_text(text, encoding="utf-8")


def _analyse(recipe: Recipe, contents: NpmContents, www: Path) -> Discovery:
    """Compress the texts of www, work out the page, and list what else can be asked for."""
    sent = {path.relative_to(www).as_posix(): _compressed(path, www) for path in _files(www)}
    hints = Hints(contents.hero, contents.above_fold, contents.not_loaded)
    origin = f"site '{recipe.name}'"
    found = discover(www, recipe.entry, recipe.hosts, lambda file: sent[file], hints, origin)
    listed = {entry["file"] for entry in (*found.resources, *found.served)}
    rest = [serving_entry(Local(0, url_of_file(file)), item) for file, item in sent.items() if item.file not in listed]
    return replace(found, served=[*found.served, *rest])


def _provide_icon(www: Path, page: str) -> None:
    """Give a page that names no icon the one that browsers then ask for, so that no request of a load fails."""
    icon = www / "favicon.ico"
    if not icon.exists() and not has_icon(decoded((www / page).read_bytes())):
        icon.write_bytes(blank_icon())


def _files(www: Path) -> list[Path]:
    return sorted(path for path in www.rglob("*") if path.is_file())


def _compressed(path: Path, www: Path) -> Sent:
    """How a file travels: text as the gzip file that this puts beside it, all else as it is."""
    file = path.relative_to(www).as_posix()
    if not is_text(file):
        return Sent(file, path.stat().st_size)
    body = compress(path.read_bytes())
    path.with_name(path.name + ".gz").write_bytes(body)
    return Sent(file + ".gz", len(body), "gzip")
