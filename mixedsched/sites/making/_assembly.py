"""Fills the folder of a site from its recipe: copy or generate files, compress, analyse, write the manifest."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixedsched.errors import PageError, SiteError
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.sites.documents.dom import has_icon
from mixedsched.sites.documents.references import decoded
from mixedsched.sites.making._discover import Discovery, Hints, SentFile, discover, serving_entry
from mixedsched.sites.making._generated import write_generated
from mixedsched.sites.making._packaged import copy_contents, source_of
from mixedsched.sites.making._recipe import DebianContents, NpmContents, PageContents, Recipe, StatisticsContents
from mixedsched.sites.site import MANIFEST_NAME, ROOT_NAME, Origins
from mixedsched.sites.site.paths import Local, url_of_file
from mixedsched.sites.site.responses import dumped
from mixedsched.sites.site.wire import compress, is_text
from mixedsched.sites.synth import synthesise
from mixedsched.sites.synth.pictures import blank_icon


def assemble(recipe: Recipe, folder: Path, packages_dir: Path, progress: Callable[[str], None]) -> None:
    """Write the manifest and all files of a recipe's site into an empty folder. Raises SiteError and MissingPartError."""
    if isinstance(recipe.recipe, PageContents | StatisticsContents):
        _synthesise(recipe, recipe.recipe, folder, progress)
        return
    www = folder / ROOT_NAME
    www.mkdir()
    match recipe.recipe:
        case NpmContents() | DebianContents() as contents:
            copy_contents(recipe, contents, packages_dir, www)
            _provide_icon(www, Local(0, recipe.entry).file)
            discovered = _analyse(recipe, contents, www)
        case contents:
            discovered = Discovery(write_generated(contents.kind, www, recipe.hosts), [])
    manifest = {
        "format": PAGE_FORMAT,
        **_facts(recipe, source_of(recipe, packages_dir)),
        "hosts": list(recipe.hosts),
        "entry": recipe.entry,
        "resources": discovered.resources,
        "also_served": discovered.served,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")


def _synthesise(
    recipe: Recipe, contents: PageContents | StatisticsContents, folder: Path, progress: Callable[[str], None]
) -> None:
    try:
        made = synthesise(
            _page_of(recipe, contents),
            folder,
            name=recipe.name,
            hosts=recipe.hosts,
            facts=_facts(recipe, recipe.source),
        )
    except PageError as error:
        raise SiteError(error.what, why=error.why, fix=error.fix) from error
    if made.deviations:
        count = len({deviation.id for deviation in made.deviations})
        progress(f"{count} of its {made.resource_count} resources differ a little from their description")


def _page_of(recipe: Recipe, contents: PageContents | StatisticsContents) -> Page:
    if isinstance(contents, PageContents):
        return contents.read(recipe.folder)
    return contents.read(recipe.name, len(recipe.hosts))


def _facts(recipe: Recipe, source: str) -> dict[str, Any]:
    """The keys of a manifest that repeat its recipe."""
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
    files = sorted(path for path in www.rglob("*") if path.is_file())
    sent = {path.relative_to(www).as_posix(): _compressed(path, www) for path in files}
    hints = Hints(contents.hero, contents.above_fold, contents.not_loaded, contents.scripted)
    origin = f"site '{recipe.name}'"
    discovered = discover(www, recipe.entry, recipe.hosts, lambda file: sent[file], hints, origin)
    listed = {entry["file"] for entry in (*discovered.resources, *discovered.served)}
    rest = [serving_entry(Local(0, url_of_file(file)), item) for file, item in sent.items() if item.file not in listed]
    return replace(discovered, served=[*discovered.served, *rest])


def _provide_icon(www: Path, page: str) -> None:
    """Give a page that names no icon the one that browsers then ask for, so that no request of a load fails."""
    icon = www / "favicon.ico"
    if not icon.exists() and not has_icon(decoded((www / page).read_bytes())):
        icon.write_bytes(blank_icon())


def _compressed(path: Path, www: Path) -> SentFile:
    """The form in which a file travels: text as the gzip file that this puts beside it, all else as it is."""
    file = path.relative_to(www).as_posix()
    if not is_text(file):
        return SentFile(file, path.stat().st_size)
    body = compress(path.read_bytes())
    path.with_name(path.name + ".gz").write_bytes(body)
    return SentFile(file + ".gz", len(body), "gzip")
