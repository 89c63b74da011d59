"""Finds a site by its name: a bundled one, built when it is first used, a recorded one, or a folder."""

import json
from collections.abc import Callable
from pathlib import Path

from mixedsched.errors import MissingPartError, PageError, SiteError, nearest_hint
from mixedsched.model.page import Page
from mixedsched.sites.analysis.difference import Described
from mixedsched.sites.elsewhere import is_elsewhere
from mixedsched.sites.making import Recipe, build, fetch_contents, find_recipe, list_recipes, load_plain, merged
from mixedsched.sites.making.plain import INDEX_NAME
from mixedsched.sites.site import MANIFEST_NAME, ROOT_NAME, Origins, Site, load_built
from mixedsched.sites.site.load import not_a_site
from mixedsched.world import places
from mixedsched.world.npm import packages_are_current
from mixedsched.world.places import SITE_CONTENTS

Say = Callable[[str], None]  # takes one line about what happens now
RECORDED = Path("sites")  # where `record` and `import` put what they make, seen from the current directory


def load_site(directory: Path, build_dir: Path | None = None) -> Site:
    """Read a built site, or use a plain folder with an index.html as one.

    Every file is checked: it is inside the root, links followed, can be read, and has the size in the manifest. A
    plain folder is analysed at once and served as FOLDERNAME.test. build_dir: where compressed copies of its texts
    are kept, as build_dir/plain-FINGERPRINT; the folder itself is never written to. Without build_dir its texts are sent
    as they are. Raises SiteError.
    """
    try:
        if (directory / MANIFEST_NAME).is_file():
            return load_built(directory)
        if (directory / INDEX_NAME).is_file():
            return load_plain(directory, build_dir)
        if not directory.is_dir():
            why = "there is no such folder"
        elif (directory / INDEX_NAME).exists():
            why = f"its {INDEX_NAME} is not a file"
        else:
            why = f"it has neither {MANIFEST_NAME} nor {INDEX_NAME}"
    except OSError as error:
        why = str(error)
    raise not_a_site(directory, why)


def open_site(name_or_folder: str, origins: Origins | None = None, say: Say = lambda _line: None) -> Site:
    """The site of that name, or in that folder. Raises SiteError, and MissingPartError if it cannot be built here.

    A name is a bundled site's, a folder's, or that of a folder in ./sites, where recordings are put; a folder may also be
    named by its page.json. A URL or a HAR is recorded or imported into the cache first, once. origins: how to treat its
    hosts; None for the site's own setting. say: receives a line about slow steps, and a warning about anything that merging
    hosts could not do.
    """
    site = _found_site(name_or_folder, say)
    if (site.origins if origins is None else origins) is Origins.KEEP:
        return site
    whole = merged(site, _build_folder())
    for note in whole.notes:
        say(f"warning: {note}")
    return whole


def open_described(name: str, say: Say = lambda _line: None) -> Described:
    """A site, or the page of a page file, as it can be looked at and compared. Raises SiteError or PageError."""
    path = Path(name)
    of_site = path.name == MANIFEST_NAME and _is(Path.is_dir, path.parent / ROOT_NAME)
    if of_site or is_elsewhere(name) or not _is(Path.is_file, path):
        return Described.of_site(open_site(name, Origins.KEEP, say))
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise PageError(f"cannot read page {name}", why=error.strerror or "", fix="name a file you may read") from error
    except (ValueError, RecursionError) as error:
        raise PageError(f"{name} is not JSON", why=str(error), fix="name a page file or a site") from error
    return Described.of_page(Page.from_dict(data, name), data)


def recipes() -> list[Recipe]:
    """The bundled sites, by name."""
    return list_recipes(places.home() / "sites")


def built_site(recipe: Recipe) -> Site | None:
    """A bundled site as it is opened; None if it was not built before."""
    try:
        site = load_built(_build_folder() / recipe.name)
        return merged(site, _build_folder()) if site.origins is Origins.MERGE else site
    except (SiteError, MissingPartError):  # there is none; or no place to keep any
        return None


def folder_of(name: str) -> Path | None:
    """The folder that a name means; None if it means none, but a bundled site."""
    if find_recipe(places.home() / "sites", name) is not None:
        return None
    path = Path(name)
    if _is(Path.is_dir, path):
        return path
    if path.name == MANIFEST_NAME and _is(Path.is_dir, path.parent / ROOT_NAME):
        return path.parent
    return RECORDED / name if is_recorded(name) else None


def is_known(name: str) -> bool:
    """Whether a bundled site has this name or, unless a file or folder has it, a recorded one."""
    return find_recipe(places.home() / "sites", name) is not None or (
        not _is(Path.exists, Path(name)) and is_recorded(name)
    )


def is_recorded(name: str) -> bool:
    """Whether ./sites holds a site of this name."""
    return _is(Path.is_dir, RECORDED / name / ROOT_NAME) and _is(Path.is_file, RECORDED / name / MANIFEST_NAME)


def recorded_names() -> list[str]:
    """The folders of ./sites that hold a site."""
    return sorted(path.parent.name for path in RECORDED.glob(f"*/{MANIFEST_NAME}") if is_recorded(path.parent.name))


def _found_site(name_or_folder: str, say: Say) -> Site:
    recipe = find_recipe(places.home() / "sites", name_or_folder)
    if recipe is not None:
        contents = SITE_CONTENTS.found(packages_are_current) or SITE_CONTENTS.provide()
        return build(recipe, _build_folder(), fetch_contents(recipe, contents, say), say)
    if is_elsewhere(name_or_folder):
        from mixedsched.sites.brought import bring  # here: few sites are, and it takes a browser's client to bring them

        return load_site(bring(name_or_folder, say), _build_folder())
    folder = folder_of(name_or_folder)
    if folder is not None:
        return load_site(folder, _build_folder())
    known = [*(recipe.name for recipe in recipes()), *recorded_names()]
    raise SiteError(
        f"there is no site '{name_or_folder}'",
        fix=f"{nearest_hint(name_or_folder, known)}; or name a folder with an index.html, an address (https://...), or a HAR",
    )


def _is(test: Callable[[Path], bool], path: Path) -> bool:
    try:
        return test(path)
    except (OSError, ValueError):  # such as a name that is too long for one
        return False


def _build_folder() -> Path:
    return places.writable_cache() / "sites"
