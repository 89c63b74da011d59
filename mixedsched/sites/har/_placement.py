"""The places of resources in the page, as the documents and style sheets in the HAR tell them: in head, async, late, lazy ...

What no document spells out, scripts have inserted, or the body is missing: then flags are those that explain the priority
which Chromium gave. An image that Chromium raised to High in the end was on the first screen when the page was laid out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mixedsched.errors import SiteError
from mixedsched.model.request import ChromiumPriority, Flag, Kind, infer_flags
from mixedsched.sites.documents.css import rewrite_css
from mixedsched.sites.documents.html import rewrite_html
from mixedsched.sites.documents.references import Reference, ReferenceRole, base_of, decoded, noting, without_base
from mixedsched.sites.site.paths import absolute

_IMPORT = b"@import"
_TEXT_BYTES_MAX = 20_000_000


@dataclass(frozen=True, slots=True)
class Text:
    """A document or style sheet. body: decoded; None if the HAR has none."""

    url: str
    kind: Kind
    body: bytes | None


class Placement:
    """The flags that the texts of a page give to what they refer to."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self._flags: dict[str, frozenset[Flag]] = {}
        self._has_document = False
        for text in texts:
            if text.body is None or len(text.body) > _TEXT_BYTES_MAX:
                continue
            self._has_document |= text.kind is Kind.DOCUMENT
            if text.kind is Kind.DOCUMENT or _IMPORT in text.body:  # sheets give flags to other sheets only
                self._read(text, text.body)

    def flags(self, url: str, kind: Kind, priority: ChromiumPriority | None, *, was_raised: bool) -> frozenset[Flag]:
        """Flags of a resource other than the page's document.

        priority: when it was asked for; None where the HAR does not tell. was_raised: see Priorities.
        """
        placed = self._flags.get(absolute(url, url))
        if placed is None:
            placed = self._explained(kind, priority)
        if kind is Kind.IMAGE and was_raised and Flag.LAZY not in placed:
            placed |= {Flag.ABOVE_FOLD}
        return placed

    def _explained(self, kind: Kind, priority: ChromiumPriority | None) -> frozenset[Flag]:
        """Flags for what no text spells out. Where there are texts, a script did it, and nothing waited for it."""
        if kind in {Kind.IMAGE, Kind.DOCUMENT}:
            return frozenset()
        if self._has_document:
            return frozenset({Flag.ASYNC}) if kind is Kind.SCRIPT else frozenset()
        return infer_flags(kind, priority, is_first=False) if priority is not None else frozenset()

    def _read(self, text: Text, body: bytes) -> None:
        content = decoded(body)
        base_url = base_of(content, text.url) if text.kind is Kind.DOCUMENT else text.url
        for reference in _references(text, content, self._flags):
            if reference.role in {ReferenceRole.SPARE, ReferenceRole.CONTACT}:
                continue
            url = absolute(reference.url, base_url)
            flags = frozenset() if reference.styled else reference.flags
            if url:
                self._flags[url] = self._flags.get(url, frozenset()) | flags  # preloaded first, used later


def _references(text: Text, content: str, known: Mapping[str, frozenset[Flag]]) -> Iterator[Reference]:
    seen: list[Reference] = []
    note = noting(seen)
    try:
        if text.kind is Kind.DOCUMENT:
            rewrite_html(without_base(content), note, text.url)
        elif text.kind is Kind.STYLESHEET:
            rewrite_css(content, note, text.url, flags=known.get(text.url, frozenset()) & {Flag.CRITICAL})
    except SiteError:
        pass  # nested too deeply to be read: what was seen before counts
    return iter(seen)
