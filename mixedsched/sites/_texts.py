"""The text of a site's document, as its author wrote it."""

from __future__ import annotations

from mixedsched.errors import SiteError
from mixedsched.model.codings import UndecodableError, decode
from mixedsched.sites._references import decoded
from mixedsched.sites._site import Site


def document_text(site: Site, key: tuple[int, str]) -> str:
    """key: host index and path. Raises SiteError if the file cannot be read, or is not in the encoding that it is served in."""
    return decoded(document_bytes(site, key))


def document_bytes(site: Site, key: tuple[int, str]) -> bytes:
    """The file's content without its content coding. Raises SiteError as document_text."""
    coding = site.encodings.get(key)
    try:
        body = site.files[key].read_bytes()
        return decode(body, coding) if coding is not None and body else body
    except (OSError, UndecodableError) as error:
        why = str(error) if coding is None else f"as {coding}: {error}"
        raise SiteError(
            f"site '{site.name}': {key[1]} cannot be read", why=why, fix="put the right file there"
        ) from error
