"""One reference of a document to something else, and how a visitor may change it."""

import codecs
import html
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final, Self
from urllib.parse import urljoin

from mixedsched.errors import SiteError
from mixedsched.model.codings import UndecodableError, decode
from mixedsched.model.page import derive_chromium_priority
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.documents.charsets import fallback_of
from mixedsched.sites.site import Site
from mixedsched.sites.site.paths import names_no_host

_BASE = re.compile(r"<base\b[^>]*", re.IGNORECASE)
_HREF = re.compile(r"\shref\s*=\s*", re.IGNORECASE)
_VALUE = re.compile(r"""(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
_BASE_TAG = re.compile("<base(?=[\\s/>])", re.IGNORECASE)
_UNREAD_TAG = "<bas-"  # as long, and no reader minds it


class ReferenceRole(StrEnum):
    """The part that a reference plays when a browser loads the page.

    LOAD: it is fetched. SERVE: it may be, so it must be there (icons, other sizes of an image). SPARE: Chromium never
    asks for it (old font formats). CONTACT: nothing is fetched, but the browser calls on the host (preconnect).
    """

    LOAD = "load"
    SERVE = "serve"
    SPARE = "spare"
    CONTACT = "contact"


class Credentials(StrEnum):
    """When a request carries cookies: always, to the document's own origin only, or never. Source: Fetch standard,
    credentials mode; which place in a document means which was confirmed with Chromium 156."""

    INCLUDE = "include"
    SAME_ORIGIN = "same-origin"
    OMIT = "omit"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference as written."""

    url: str
    kind: Kind
    offset: int
    """Its place in the document's text, in characters (after normalised line ends)."""
    role: ReferenceRole = ReferenceRole.LOAD
    flags: frozenset[Flag] = frozenset()
    styled: bool = False
    """Whether it is a style's image or font, fetched only when the page is first laid out."""
    chromium_priority: ChromiumPriority | None = None
    """Set where the place in the document decides it, and kind and flags do not."""
    credentials: Credentials = Credentials.INCLUDE

    def unneeded(self) -> Self:
        """The same where nothing shows what it loads."""
        return replace(self, role=ReferenceRole.SERVE) if self.role is ReferenceRole.LOAD else self

    def hinted(self, hint: str | None) -> Self:
        """The same with `fetchpriority`. Source: Blink's resource_fetcher; what was tried is in `synth/ways.toml`."""
        wish = (hint or "").strip().lower()
        if wish not in {"high", "low"}:
            return self
        usual = self.chromium_priority or derive_chromium_priority(self.kind, self.flags)
        if wish == "high":
            priority = min(usual, ChromiumPriority.HIGH, key=lambda priority: priority.rank)
        elif self.kind is Kind.STYLESHEET and Flag.CRITICAL in self.flags:
            priority = ChromiumPriority.HIGH
        else:
            priority = max(usual, ChromiumPriority.LOW, key=lambda priority: priority.rank)
        return replace(self, chromium_priority=priority)


@dataclass(frozen=True, slots=True)
class Scripted:
    """A request that a script puts together, so that no text spells it out."""

    path: str
    """The path that was requested."""
    by: str
    """The script's path."""
    kind: Kind


# A visitor sees every reference in document order and says what shall stand there: a URL, or DROP.
Visitor = Callable[[Reference], str | None]
DROP: Final = None


def noting(references: list[Reference]) -> Visitor:
    """A visitor that changes nothing, and lists what it sees."""

    def visit(reference: Reference) -> str:
        references.append(reference)
        return reference.url

    return visit


def normalised(text: str) -> str:
    """Text with the line ends that HTML and CSS parsers see."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\0", "\N{REPLACEMENT CHARACTER}")


def decoded(body: bytes, mime: str = "") -> str:
    """The text of a document: UTF-16 if it begins like that, UTF-8 where it is that, else in the charset that is told.

    mime: the content type, if it is known.
    """
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return normalised(body.decode("utf-16", errors="replace"))
    try:
        return normalised(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return normalised(body.decode(fallback_of(body, mime), errors="replace"))


def base_of(text: str, url: str) -> str:
    """The URL that references in an HTML document are relative to: its own, unless it has a base element."""
    found = next(filter(None, map(partial(_href_of, text), _BASE.finditer(text))), None)
    if found is None:
        return url
    base = html.unescape(next(part for part in found.groups() if part is not None))
    try:
        return url if names_no_host(base) else urljoin(url, base)
    except ValueError:
        return url


def _href_of(text: str, tag: re.Match[str]) -> re.Match[str] | None:
    """The value of that attribute of a tag, which may hold a ">"; None if it has none."""
    name = _HREF.search(text, tag.start(), tag.end())
    return None if name is None else _VALUE.match(text, name.end())


def without_base(text: str) -> str:
    """An HTML document of which no base element is read; all else is at its place."""
    return _BASE_TAG.sub(_UNREAD_TAG, text)


def document_text(site: Site, key: tuple[int, str]) -> str:
    """key: host index and path. Raises SiteError if the file cannot be read, or is not in the encoding that it is served in."""
    return decoded(document_bytes(site, key), site.mimes[key])


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
