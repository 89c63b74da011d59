"""What a document or style sheet of a site refers to, and where that leads."""

from mixedsched.sites.documents.css import rewrite_css
from mixedsched.sites.documents.html import rewrite_html
from mixedsched.sites.documents.references import Reference, base_of, document_text, noting, without_base
from mixedsched.sites.site import Key, Site
from mixedsched.sites.site.paths import External, Local, absolute, resolve


def references_of(site: Site, key: Key) -> list[tuple[Reference, Local | External | None]]:
    """Every reference of a file, in order, with what it means; see resolve().

    A file that is no style sheet is read as HTML. Raises SiteError if it cannot be read.
    """
    host, path = key
    text, origin = document_text(site, key), f"site '{site.name}': {path}"
    references: list[Reference] = []
    own_url = base_url = f"https://{site.hosts[host]}{path}"
    if site.mimes[key].startswith("text/css"):
        rewrite_css(text, noting(references), origin)
    else:
        base_url = base_of(text, own_url)
        rewrite_html(without_base(text), noting(references), origin)

    def meaning(reference: Reference) -> Local | External | None:
        plain = resolve(reference.url, path, site.hosts, host)
        if plain is None or base_url == own_url:
            return plain
        url = absolute(reference.url, base_url)
        return resolve(url, path, site.hosts, host) if url else External(reference.url)

    return [(reference, meaning(reference)) for reference in references]
