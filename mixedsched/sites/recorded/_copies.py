"""Copies of exchanges, as the site will serve them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pydantic import TypeAdapter, ValidationError

from mixedsched.sites.documents.links import with_links
from mixedsched.sites.documents.references import base_of
from mixedsched.sites.recorded._promises import without_stale_integrity
from mixedsched.sites.recorded._rewriting import Headers, Renaming, is_text, kept_headers, without_policies
from mixedsched.sites.recorded.coding import decode_body, decode_text, encode_body
from mixedsched.sites.recorded.names import origin_of
from mixedsched.sites.recorded.records import LeftOut, RecordedExchange
from mixedsched.sites.recorded.selection import is_redirect, redirect_targets
from mixedsched.sites.site.paths import Local, absolute, resolve
from mixedsched.sites.site.responses import PriorityField, why_unfit
from mixedsched.units import counted

_POLICY = "content-security-policy"
_LINK = "link"
_HTML = ("text/html", "application/xhtml+xml")
_PRIORITY: TypeAdapter[str] = TypeAdapter(PriorityField)


@dataclass(frozen=True)
class Copy:
    """The answer of the site that stands for a recorded exchange."""

    source: RecordedExchange
    host: int  # index
    path: str
    mime: str
    body: bytes  # as it will be sent
    headers: Headers = field(default_factory=dict)
    priority: str = ""  # the response's own `priority` field, "" for none
    rewritten: bool = False  # names of hosts in the body were changed

    @property
    def is_as_recorded(self) -> bool:
        """Whether its contents were recorded, and not made up."""
        return self.source.body_origin == "recorded" or is_redirect(self.source)

    @cached_property
    def text(self) -> str:
        """The recorded text, before any rewriting; "" for what is not text."""
        has_text = is_text(self.mime) and self.source.body
        return decode_text(self.source.body, self.source.encoding) if has_text else ""


class Copier:
    """Makes copies. hosts: the site's, its own first. renaming: of recorded origins.

    dropped: how often each field was left out that meant something. left_out, doubled, notes: as in RecordingSummary.
    """

    def __init__(self, hosts: Sequence[str], renaming: Renaming) -> None:
        self._hosts = tuple(hosts)
        self._renaming = renaming
        self.dropped: Counter[str] = Counter()
        self.left_out: list[LeftOut] = []
        self.doubled = 0
        self._made_honest = 0  # documents

    @property
    def notes(self) -> tuple[str, ...]:
        documents = counted(self._made_honest, "document")
        said = (
            f"integrity was taken out of {documents} for files that are not what they were: browsers would refuse them"
        )
        return (said,) if self._made_honest else ()

    def copies(
        self, page: Sequence[RecordedExchange], besides: Sequence[RecordedExchange]
    ) -> tuple[Sequence[Copy], Sequence[Copy]]:
        """Copies of the page's exchanges, and of those besides; each address once, even if http and https had it both."""
        kept: dict[tuple[int, str, str], Copy] = {}
        page_copies = self._once(page, kept)
        besides_copies = self._once(besides, kept)
        changed = {self._url_of(item) for item in kept.values() if item.rewritten or not item.is_as_recorded}
        return (
            [self._without_promises(item, changed) for item in page_copies],
            [self._without_promises(item, changed) for item in besides_copies],
        )

    def _once(self, exchanges: Sequence[RecordedExchange], kept: dict[tuple[int, str, str], Copy]) -> list[Copy]:
        """Copies of those whose address is not kept yet."""
        made = []
        for item in self._without_upgrades(exchanges):
            place = self._place_of(item.url)
            if place is None:
                self.left_out.append(LeftOut(item.url, "its address cannot be served", item.method))
            elif (key := (place.host, place.path, item.method)) in kept:
                self.doubled += 1
            else:
                kept[key] = self._copy(item, place)
                made.append(kept[key])
        return made

    def _copy(self, item: RecordedExchange, place: Local) -> Copy:
        mime = _mime_of(item)
        body, rewritten = item.body, False
        if self._renaming and body and is_text(mime):
            text = decode_body(body, item.encoding)
            renamed = self._renaming.apply(text)
            if renamed != text:
                renamed = without_policies(renamed) if mime.startswith(_HTML) else renamed
                body, rewritten = encode_body(renamed, item.encoding, near_bytes=len(body)), True
        headers = kept_headers(item.headers, self.dropped)
        if self._renaming and headers.pop(_POLICY, []):
            self.dropped[_POLICY] += 1
        headers = {name: [self._renaming.apply_text(value) for value in values] for name, values in headers.items()}
        return Copy(item, place.host, place.path, mime, body, headers, _priority_of(item), rewritten)

    def _without_promises(self, item: Copy, changed: set[str]) -> Copy:
        """The copy without promises (`integrity`) of contents that are not what they were: in its header, and in a document."""
        if not changed:
            return item
        url = self._url_of(item)
        if _LINK in item.headers:
            links = [
                with_links(link, str, lambda target: absolute(target, url) in changed) for link in item.headers[_LINK]
            ]
            item = replace(item, headers={**item.headers, _LINK: links})
        if not item.mime.startswith(_HTML):
            return item
        text = decode_body(item.body, item.source.encoding)
        base_url = base_of(text.decode("utf-8", "replace"), url)
        honest = without_stale_integrity(text, base_url, changed)
        if honest == text:
            return item
        self._made_honest += 1
        return replace(item, body=encode_body(honest, item.source.encoding, near_bytes=len(item.body)))

    def _url_of(self, item: Copy) -> str:
        return f"https://{self._hosts[item.host]}{item.path}"

    def _without_upgrades(self, exchanges: Sequence[RecordedExchange]) -> list[RecordedExchange]:
        """The same, without redirects from http to https: to the copy, which knows https only, they lead to themselves."""
        hops: dict[str, RecordedExchange] = {}  # by where they lead
        kept = []
        for item in exchanges:
            own_place = self._place_of(item.url)
            targets = redirect_targets(item) if is_redirect(item) else []
            if own_place is not None and any(self._place_of(target) == own_place for target in targets):
                hops.update(dict.fromkeys(targets, hops.get(item.url, item)))
                self.left_out.append(LeftOut(item.url, "a redirect to https, which the copy has at once", item.method))
                continue
            hop = hops.get(item.url)
            kept.append(item if hop is None else _asked_like(item, hop))
        return kept

    def _place_of(self, url: str) -> Local | None:
        """The address in the site of what was at a recorded address."""
        origin = origin_of(url)
        if origin is None:
            return None
        tail = url[url.index("//") + 2 :]
        begin = min((at for sign in "/?" if (at := tail.find(sign)) >= 0), default=len(tail))
        path = tail[begin:] if tail[begin : begin + 1] == "/" else f"/{tail[begin:]}"
        name = self._renaming.names.get(origin)
        target = resolve(f"https://{name}{path}", "/", self._hosts) if name is not None else None
        return target if isinstance(target, Local) else None


def _asked_like(item: RecordedExchange, hop: RecordedExchange) -> RecordedExchange:
    """The target of a redirect as if it had been asked for at once."""
    return replace(
        item,
        asked_ms=hop.asked_ms,
        found_by_url=hop.found_by_url,
        found_how=hop.found_how,
        found_at=hop.found_at,
        flags=item.flags | hop.flags,
    )


def _priority_of(item: RecordedExchange) -> str:
    """The response's own `priority` field if it is valid, else ""."""
    value = ", ".join(item.header("priority"))
    try:
        return _PRIORITY.validate_python(value) if value else ""
    except ValidationError:
        return ""


def _mime_of(item: RecordedExchange) -> str:
    """The content type as received, else as the recorder took it."""
    for mime in (*(value.strip() for value in item.header("content-type")[:1]), item.mime.strip()):
        if mime and not why_unfit("content-type", mime):
            return mime
    return "application/octet-stream"
