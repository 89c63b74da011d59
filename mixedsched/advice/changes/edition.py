"""Editions of a site: what is served is equal byte for byte, but for what was changed."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mixedsched.advice.changes.change import Action, Change, code_of
from mixedsched.advice.changes.html_change import Document, changed_text
from mixedsched.advice.changes.page_change import with_resources
from mixedsched.errors import SiteError
from mixedsched.model import codings
from mixedsched.model.page import Page
from mixedsched.sites.site import ResponseSettings, Site


@dataclass(frozen=True, slots=True)
class Edition:
    """A site with changes."""

    site: Site
    digest: str  # fingerprint of the changes, and of the site that they were made to


def document_of(site: Site) -> Document:
    """The page's own document, ready to be changed. Raises SiteError if its file is not in the coding that it is served in."""
    key = 0, site.entry
    body = site.files[key].read_bytes()
    try:
        plain = codings.decode(body, site.encodings[key]) if key in site.encodings else body
    except codings.UndecodableError as error:
        raise SiteError(
            f"site '{site.name}': {site.entry} cannot be read", why=str(error), fix="put the right file there"
        ) from error
    return Document(plain.decode("latin-1"), site.page, site.hosts)


def make_edition(site: Site, site_digest: str, changes: Sequence[Change], folder: Path) -> Edition:
    """The site with changes: priorities are set, and a changed document is written to a file in `folder`.

    site_digest: fingerprint of what the site serves. Raises SiteError if the document cannot be read, OSError if it cannot be
    written.
    """
    digest = hashlib.sha256(f"{site_digest} {code_of(changes)}".encode()).hexdigest()[:16]
    site = _with_priorities(site, changes)
    document = document_of(site)
    text = changed_text(document, changes)
    return Edition(site if text == document.text else _with_document(site, text, folder / digest), digest)


def _with_priorities(site: Site, changes: Sequence[Change]) -> Site:
    settings = dict(site.settings)
    for change in changes:
        for key in change.targets if change.action is Action.HEADER else ():
            before = settings.get(key, ResponseSettings())
            headers = {**dict(before.headers), "priority": (change.value,)}
            settings[key] = replace(before, headers=tuple(headers.items()))
    return replace(site, settings=settings)


def _with_document(site: Site, text: str, file: Path) -> Site:
    """The site with another text in the place of the page's own document."""
    key = 0, site.entry
    body = text.encode("latin-1")
    body = codings.encode(body, site.encodings[key]) if key in site.encodings else body
    if not file.is_file():  # kept, so that the server says the same of its time whenever an experiment goes on
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_suffix(".new")
        aside.write_bytes(body)
        aside.replace(file)
    return replace(site, files={**site.files, key: file}, page=_with_size(site.page, site.entry, len(body)))


def _with_size(page: Page, path: str, body_bytes: int) -> Page:
    """The page whose document at this path has another size; what it names is found in it still."""
    document = page.by_path().get((0, path))
    if document is None:
        return page
    resources = []
    for item in page.resources:
        if item is document:
            item = item.model_copy(update={"body_bytes": body_bytes})
        elif item.found_by == document.id and item.found_when == "bytes":
            item = item.model_copy(update={"found_at_bytes": min(item.found_at_bytes, body_bytes)})
        resources.append(item)
    return with_resources(page, resources)
