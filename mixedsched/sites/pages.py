"""Finds pages for simulation by their names: files, folders of them, sites, or standard input."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from mixedsched.errors import PageError, UsageError, nearest_hint
from mixedsched.model.page import Page
from mixedsched.sites.elsewhere import is_elsewhere

STANDARD_INPUT = "-"
MANIFEST_NAME = "page.json"  # of a site folder
INDEX_NAME = "index.html"
FIX = "correct it; mixedsched/model/page.py describes the format"


def read_pages(names: Iterable[str], say: Callable[[str], None] = lambda _line: None) -> list[Page]:
    """All pages with these names, in that order, those of a folder by file name.

    A name is a page file, "-" (standard input, once), a bundled site, a site's folder, or a folder of page files.
    say: receives a line about slow steps. Raises PageError for anything that cannot be read or breaks a rule, SiteError
    for a site, UsageError.
    """
    names = list(names)
    if names.count(STANDARD_INPUT) > 1:
        raise UsageError("'-' is named twice", why="standard input can be read once", fix="name it once")
    return [page for name in names for page in _pages_of(name, say)]


def load_page(name: str | Path) -> Page:
    """The page with a name: a page file, a bundled or recorded site, or a site's folder.

    Raises PageError, SiteError, and UsageError for a folder of several pages.
    """
    pages = read_pages([str(name)])
    if len(pages) > 1:
        raise UsageError(f"{name} holds {len(pages)} pages", fix="name one of its files")
    return pages[0]


def _pages_of(name: str, say: Callable[[str], None]) -> list[Page]:
    if name == STANDARD_INPUT:
        return [_parse(sys.stdin.buffer.read(), "standard input")]
    if is_elsewhere(name):
        from mixedsched.sites.opening import open_site  # here: it takes longer than pages to play

        return [open_site(name, say=say).page]
    path = Path(name)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:  # such as a name that is too long for one
        raise PageError(f"cannot read page '{name[:80]}'", why=str(error)) from error
    if exists and not is_folder:
        return [_read(path)]
    if exists and "/" in name:
        return _pages_in(path, say)
    from mixedsched.sites.opening import is_known, open_site, recipes  # here: it takes longer than pages to play

    if is_known(name):
        return [open_site(name, say=say).page]
    if exists:
        return _pages_in(path, say)
    raise PageError(
        f"there is no page '{name}'",
        why="no file and no folder has this name, and no bundled or recorded site",
        fix="name a page file, a folder of them, or a site; "
        + nearest_hint(name, [recipe.name for recipe in recipes()]),
    )


def _pages_in(path: Path, say: Callable[[str], None]) -> list[Page]:
    """The one page of a site's folder, else all page files of a folder."""
    if (path / MANIFEST_NAME).is_file():
        return [_read(path / MANIFEST_NAME)]
    if (path / INDEX_NAME).is_file():
        from mixedsched.sites.opening import open_site  # here, as above

        return [open_site(f"{path}/", say=say).page]
    try:
        files = sorted(path.glob("*.json"))
    except OSError as error:
        raise PageError(f"cannot read folder {path}", why=error.strerror or "") from error
    if not files:
        raise PageError(
            f"folder {path} holds no page",
            why=f"there is no *.json in it, and no {INDEX_NAME}",
            fix="name a folder of page files, or a site's folder",
        )
    return [_read(file) for file in files]


def _read(path: Path) -> Page:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise PageError(f"cannot read page {path}", why=error.strerror or "", fix="name a file you may read") from error
    return _parse(text, str(path))


def _parse(text: bytes, origin: str) -> Page:
    try:
        return Page.from_json(text, origin)
    except PageError as error:
        raise PageError(error.what, why=error.why, fix=error.fix or FIX) from error
