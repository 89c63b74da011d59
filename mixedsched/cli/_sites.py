"""Finds the site that a person names: a bundled one, built when it is first used, a recorded one, or a folder."""

from __future__ import annotations

import json
from pathlib import Path

from mixedsched.cli._console import err
from mixedsched.errors import MissingPartError, PageError, SiteError, nearest_hint
from mixedsched.model.page import Page
from mixedsched.sites import (
    MANIFEST_NAME,
    ROOT_NAME,
    Described,
    Origins,
    Recipe,
    Site,
    fetch_contents,
    list_recipes,
    load_site,
    merged,
)
from mixedsched.world import places
from mixedsched.world.npm import packages_are_current
from mixedsched.world.working_copy import SITE_CONTENTS

RECORDED = Path("sites")  # where `record` and `import` put what they make, seen from where one stands


def recipes() -> list[Recipe]:
    """The bundled sites, by name."""
    return list_recipes(places.home() / "sites")


def open_site(name_or_folder: str, origins: Origins | None = None) -> Site:
    """The site of that name, or in that folder. origins: of its hosts; None for what the site wants. Raises SiteError.

    A name is a bundled site's, a folder's, or that of a folder in ./sites, where recordings are put; a folder may also be named
    by its page.json. What merging hosts could not do is said on standard error.
    """
    site = _found_site(name_or_folder)
    if (site.origins if origins is None else origins) is Origins.KEEP:
        return site
    whole = merged(site, _build_folder())
    for note in whole.notes:
        err.print(f"warning: {note}", style="yellow", markup=False, soft_wrap=True)
    return whole


def built_site(recipe: Recipe) -> Site | None:
    """A bundled site as it is opened, if it was built before."""
    try:
        site = load_site(_build_folder() / recipe.name)
        return merged(site, _build_folder()) if site.origins is Origins.MERGE else site
    except (SiteError, MissingPartError):  # there is none; or no place to keep any
        return None


def _found_site(name_or_folder: str) -> Site:
    bundled = {recipe.name: recipe for recipe in recipes()}
    if name_or_folder in bundled:
        return _built(bundled[name_or_folder])
    folder = folder_of(name_or_folder)
    if folder is not None:
        return load_site(folder, _build_folder())
    raise SiteError(
        f"there is no site '{name_or_folder}'",
        fix=f"{nearest_hint(name_or_folder, [*bundled, *recorded_names()])}; or name a folder with an index.html",
    )


def folder_of(name: str) -> Path | None:
    """The folder that a person means; None if there is none."""
    path, recorded = Path(name), RECORDED / name
    if _is_folder(path):
        return path
    if path.name == MANIFEST_NAME and _is_folder(path.parent / ROOT_NAME):
        return path.parent
    return recorded if is_recorded(name) else None


def is_recorded(name: str) -> bool:
    """Whether ./sites holds a site of this name."""
    return _is_folder(RECORDED / name / ROOT_NAME) and (RECORDED / name / MANIFEST_NAME).is_file()


def recorded_names() -> list[str]:
    """The folders of ./sites that hold a site."""
    return sorted(path.parent.name for path in RECORDED.glob(f"*/{MANIFEST_NAME}") if is_recorded(path.parent.name))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _built(recipe: Recipe) -> Site:
    from mixedsched.sites import build  # here, because it brings libraries that a server of a built site never uses

    def tell(line: str) -> None:
        err.print(line, style="dim", markup=False, soft_wrap=True)

    packages_dir = fetch_contents(recipe, SITE_CONTENTS.found(packages_are_current) or SITE_CONTENTS.provide(), tell)
    return build(recipe, _build_folder(), packages_dir, tell)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # such as a name that is too long for one
        return False


def _build_folder() -> Path:
    return places.writable_cache() / "sites"


def open_described(name: str) -> Described:
    """A site, or the page of a page file, as it can be looked at and compared. Raises SiteError or PageError."""
    path = Path(name)
    if not _is_file(path) or (path.name == MANIFEST_NAME and _is_folder(path.parent / ROOT_NAME)):
        return Described.of_site(open_site(name, Origins.KEEP))
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise PageError(f"cannot read page {name}", why=error.strerror or "", fix="name a file you may read") from error
    except (ValueError, RecursionError) as error:
        raise PageError(f"{name} is not JSON", why=str(error), fix="name a page file or a site") from error
    return Described.of_page(Page.from_dict(data, name), data)
