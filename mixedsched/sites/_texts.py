"""The text of a site's document, as its author wrote it."""

from __future__ import annotations

import gzip
import zlib

from mixedsched.errors import SiteError
from mixedsched.sites._references import decoded
from mixedsched.sites._site import Site


def document_text(site: Site, key: tuple[int, str]) -> str:
    """key: host index and path. Raises SiteError if the file cannot be read, or is not in the encoding that it is served in."""
    try:
        body = site.files[key].read_bytes()
        return decoded(gzip.decompress(body) if key in site.encodings else body)
    except (OSError, EOFError, zlib.error) as error:
        raise SiteError(
            f"site '{site.name}': {key[1]} cannot be read", why=str(error), fix="put the right file there"
        ) from error
