"""What a person names for tuning: a site, or a page description, of which a site is made where a browser is to load it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mixedsched.cli._progress import Progress
from mixedsched.cli._sites import open_site
from mixedsched.errors import SiteError, UsageError
from mixedsched.model.page import Page
from mixedsched.sites.opening import folder_of, load_site, recipes
from mixedsched.sites.pages import STANDARD_INPUT, read_pages
from mixedsched.sites.site import MANIFEST_NAME, Origins, Site, site_digest

MADE_NAME = "site"  # folder of what is made of a page, in the folder of results


@dataclass(frozen=True, slots=True)
class Subject:
    """site: None for a page description without contents. digest: of what it serves, or of the page."""

    name: str
    title: str
    page: Page
    site: Site | None
    digest: str


def subject_of(name: str, origins: Origins | None) -> Subject:
    """Raises SiteError or PageError for what is neither, UsageError for several pages."""
    if name in {recipe.name for recipe in recipes()} or (name != STANDARD_INPUT and folder_of(name) is not None):
        site = open_site(name, origins)
        return Subject(site.name, site.title or site.name, site.page, site, site_digest(site))
    pages = read_pages([name])
    if len(pages) != 1:
        raise UsageError(f"'{name}' holds {len(pages)} pages", fix="name one of them, or several for the scheme finder")
    if origins is not None:
        raise UsageError("a page description has no origins to keep or merge", fix="leave --origins out")
    page = pages[0]
    return Subject(page.name, page.name, page, None, page.fingerprint)


def as_site(subject: Subject, folder: Path) -> tuple[Site, str]:
    """What the browser loads, and its fingerprint. Of a page description a site is made, once, in the folder of results."""
    if subject.site is not None:
        return subject.site, subject.digest
    from mixedsched.sites.synth import synthesise  # here, because it brings libraries that others have no use for

    target = folder / MADE_NAME
    if not (target / MANIFEST_NAME).is_file():
        with Progress("making files") as progress:
            synthesise(subject.page, target, progress=progress.tell)
    try:
        site = load_site(target)
    except SiteError as error:
        raise SiteError(error.what, why=error.why, fix=f"remove {target}: it is made again") from error
    return site, site_digest(site)
