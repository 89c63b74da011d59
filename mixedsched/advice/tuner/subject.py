"""The page to tune, by the name that a person gives: a site, or a page description, of which a site can be made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from mixedsched.errors import SiteError, UsageError
from mixedsched.model.page import Page
from mixedsched.sites.opening import folder_of, load_site, open_site, recipes
from mixedsched.sites.pages import STANDARD_INPUT, read_pages
from mixedsched.sites.site import MANIFEST_NAME, Origins, Site, site_digest

MADE_NAME = "site"  # folder of the site that is made of a page, in the folder of results


@dataclass(frozen=True, slots=True)
class Subject:
    """The page to tune."""

    name: str
    title: str
    page: Page  # as its manifest has it
    site: Site | None  # what a browser loads; None for a page description
    digest: str  # fingerprint of what the site serves, or of the page

    @classmethod
    def named(
        cls, name: str, origins: Origins | None, open_site: Callable[[str, Origins | None], Site] = open_site
    ) -> Self:
        """The subject of that name. Raises SiteError or PageError for what is neither, UsageError for several pages."""
        if name in {recipe.name for recipe in recipes()} or (name != STANDARD_INPUT and folder_of(name) is not None):
            site = open_site(name, origins)
            return cls(site.name, site.title or site.name, site.page, site, site_digest(site))
        pages = read_pages([name])
        if len(pages) != 1:
            raise UsageError(
                f"'{name}' holds {len(pages)} pages", fix="name one of them, or several for the scheme finder"
            )
        if origins is not None:
            raise UsageError("a page description has no origins to keep or merge", fix="leave --origins out")
        return cls(pages[0].name, pages[0].name, pages[0], None, pages[0].fingerprint)

    def loadable(self, folder: Path, progress: Callable[[int, int], None]) -> Self:
        """With a site: that of a page description is made once, in the folder of results. progress: bytes done, and in all."""
        if self.site is not None:
            return self
        from mixedsched.sites.synth import synthesise  # here, because it brings libraries that others have no use for

        target = folder / MADE_NAME
        if not (target / MANIFEST_NAME).is_file():
            synthesise(self.page, target, progress=progress)
        try:
            site = load_site(target)
        except SiteError as error:
            raise SiteError(error.what, why=error.why, fix=f"remove {target}: it is made again") from error
        return replace(self, site=site, page=site.page, digest=site_digest(site))
