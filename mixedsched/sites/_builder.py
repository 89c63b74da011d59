"""Builds sites from recipes: copy or generate, compress, analyse, write the manifest; all or nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixedsched.errors import PageError, SiteError
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.sites._aside import make_folder
from mixedsched.sites._discover import Discovery, Hints, Sent, discover, serving_entry
from mixedsched.sites._html import has_icon
from mixedsched.sites._images import blank_icon_file
from mixedsched.sites._load import load_site
from mixedsched.sites._packaged import copy_contents, package_versions, source_of
from mixedsched.sites._paths import Local, url_of_file
from mixedsched.sites._recipe import DebianContents, NpmContents, Recipe, ThreeHostsContents
from mixedsched.sites._recipe_pages import PageContents, StatisticsContents
from mixedsched.sites._references import decoded
from mixedsched.sites._responses import dumped
from mixedsched.sites._served import Origins
from mixedsched.sites._site import MANIFEST_NAME, ROOT_NAME, Site
from mixedsched.sites._synthetic import write_davies_meenan
from mixedsched.sites._three_hosts import write_three_hosts
from mixedsched.sites._wire import compress, is_text
from mixedsched.sites.synth import synthesise

BUILDER_VERSION = 2  # raise it when the same recipe would give other bytes
FINGERPRINT_NAME = "fingerprint"


def build(
    recipe: Recipe, build_dir: Path, packages_dir: Path, progress: Callable[[str], None] = lambda _line: None
) -> Site:
    """The site of a recipe, built into build_dir/NAME unless an up-to-date build is there.

    packages_dir: what fetch_contents returned. progress: is told in a line what takes time.
    A build is written aside and renamed at its end, so that a half-done one is never seen; a damaged one is built again.
    Raises SiteError, and MissingPartError if a package is not installed.
    """
    target = build_dir / recipe.name
    fingerprint = _fingerprint(recipe, packages_dir)
    if (site := _current(target, fingerprint)) is not None:
        return site
    progress(f"building site {recipe.name}")

    def fill(fresh: Path) -> None:
        if isinstance(recipe.recipe, PageContents | StatisticsContents):
            _synthesise_into(recipe, recipe.recipe, fresh, progress)
        else:
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
    if isinstance(recipe.recipe, NpmContents | DebianContents):
        facts["packages"] = package_versions(recipe.recipe, packages_dir)
    if isinstance(recipe.recipe, PageContents | StatisticsContents):
        facts["synthesis"] = _synthesis_digest()
    if isinstance(recipe.recipe, PageContents):
        facts["page"] = recipe.recipe.text(recipe.folder)
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _synthesis_digest() -> str:
    """Of the programs that make synthetic sites: whenever they change, so may the files."""
    digest = hashlib.sha256()
    files = [file for folder in ("generate", "synth") for file in (Path(__file__).parent / folder).iterdir()]
    for file in sorted(files):
        if file.suffix in {".py", ".toml"}:
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def _synthesise_into(
    recipe: Recipe, contents: PageContents | StatisticsContents, directory: Path, progress: Callable[[str], None]
) -> None:
    page = _page_of(recipe, contents)
    try:
        made = synthesise(page, directory, name=recipe.name, hosts=recipe.hosts, facts=_facts(recipe, recipe.source))
    except PageError as error:
        raise SiteError(error.what, why=error.why, fix=error.fix) from error
    if made.deviations:
        count = len({deviation.id for deviation in made.deviations})
        progress(f"{count} of its {made.resource_count} resources come out a little otherwise than described")


def _page_of(recipe: Recipe, contents: PageContents | StatisticsContents) -> Page:
    if isinstance(contents, PageContents):
        return contents.read(recipe.folder)
    return contents.read(recipe.name, len(recipe.hosts))


def _build_into(recipe: Recipe, directory: Path, packages_dir: Path) -> None:
    www = directory / ROOT_NAME
    www.mkdir()
    match recipe.recipe:
        case NpmContents() | DebianContents() as contents:
            copy_contents(recipe, contents, packages_dir, www)
            _provide_icon(www, Local(0, recipe.entry).file)
            found = _analyse(recipe, contents, www)
        case ThreeHostsContents():
            found = Discovery(write_three_hosts(www, recipe.hosts), [])
        case _:
            found = Discovery(write_davies_meenan(www), [])
    manifest = {
        "format": PAGE_FORMAT,
        **_facts(recipe, source_of(recipe, packages_dir)),
        "hosts": list(recipe.hosts),
        "entry": recipe.entry,
        "resources": found.resources,
        "also_served": found.served,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    (directory / MANIFEST_NAME).write_text(text, encoding="utf-8")


def _facts(recipe: Recipe, source: str) -> dict[str, Any]:
    """What a manifest repeats of its recipe."""
    return {
        "name": recipe.name,
        "title": recipe.title,
        "description": recipe.description,
        "licence": recipe.licence,
        "source": source,
        **({"origins": recipe.origins.value} if recipe.origins is not Origins.KEEP else {}),
        **({"connections": recipe.connections} if recipe.connections is not None else {}),
        **({"responses": dumped(recipe.responses)} if recipe.responses else {}),
    }


def _analyse(recipe: Recipe, contents: NpmContents | DebianContents, www: Path) -> Discovery:
    """Compress the texts of www, work out the page, and list what else can be asked for."""
    sent = {path.relative_to(www).as_posix(): _compressed(path, www) for path in _files(www)}
    hints = Hints(contents.hero, contents.above_fold, contents.not_loaded, contents.scripted)
    origin = f"site '{recipe.name}'"
    found = discover(www, recipe.entry, recipe.hosts, lambda file: sent[file], hints, origin)
    listed = {entry["file"] for entry in (*found.resources, *found.served)}
    rest = [serving_entry(Local(0, url_of_file(file)), item) for file, item in sent.items() if item.file not in listed]
    return replace(found, served=[*found.served, *rest])


def _provide_icon(www: Path, page: str) -> None:
    """Give a page that names no icon the one that browsers then ask for, so that no request of a load fails."""
    icon = www / "favicon.ico"
    if not icon.exists() and not has_icon(decoded((www / page).read_bytes())):
        icon.write_bytes(blank_icon_file())


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
