"""Changes made to a document: pure, text to text, touching nothing but the tags concerned.

A parser that writes documents anew would also tidy them up, but an edition of a site must differ in the change alone. So tags
are found with their places in the text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser

from mixedsched.advice.changes.change import Action, Change, Key
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Kind
from mixedsched.sites.documents.dom import parse_srcset
from mixedsched.sites.site.paths import Local, resolve

_AS = {Kind.STYLESHEET: "style", Kind.SCRIPT: "script", Kind.FONT: "font", Kind.IMAGE: "image"}
_EDITS: Mapping[Action, tuple[str, str, str | None]] = {
    Action.FETCH_FIRST: ("img", "fetchpriority", "high"),
    Action.FETCH_LAST: ("img", "fetchpriority", "low"),
    Action.EAGER: ("img", "loading", "eager"),
    Action.LAZY: ("img", "loading", "lazy"),
    Action.DEFER: ("script", "defer", None),
}


# Inside of these a browser that runs scripts fetches nothing; to it, tags in all but the first are text.
_UNSEEN = {"template", "noscript", "textarea", "title", "iframe", "xmp", "noembed", "noframes"}
_LOADING = {"link", "script", "style", "img", "base"}


@dataclass(frozen=True, slots=True)
class TagEdit:
    """A tag before and after a change."""

    before: str  # "" for one that is put into the head
    after: str


@dataclass(frozen=True, slots=True)
class Document:
    """The page's own document."""

    text: str  # one character for each byte, so that bytes that are not text survive
    page: Page  # what it loads
    hosts: tuple[str, ...]  # of the site

    @property
    def can_be_changed(self) -> bool:
        """Whether its references mean what they seem to, and there is a head to put links into."""
        return head_place(self.text) is not None and all(tag.name != "base" for tag in start_tags(self.text))

    def url(self, key: Key) -> str:
        """The address of a file of the site."""
        return f"https://{self.hosts[key[0]]}{key[1]}"

    def tags_of(self, keys: Iterable[Key], name: str) -> list[Tag]:
        """The tags with this name that load one of these files."""
        wanted = frozenset(keys)
        loading = _loading_tags(self.text, self.page.main.path, self.hosts)
        return [tag for tag, loaded in loading if tag.name == name and not wanted.isdisjoint(loaded)]

    def offers_choice(self, key: Key) -> bool:
        """Whether the browser chooses this file among several, by its screen: a link that names it alone is for one screen."""
        tags = (tag for name in ("img", "source") for tag in self.tags_of([key], name))
        return any("srcset" in tag.attributes for tag in tags)


def changed_text(document: Document, changes: Sequence[Change]) -> str:
    """The document with all its changes; those for the server leave it as it is."""
    text = document.text
    for change in changes:
        document = Document(text, document.page, document.hosts)
        text = _changed(document, change)
    return text


def edits_of(document: Document, change: Change) -> list[TagEdit]:
    """The edits of a change to the document, tag by tag, in order, as text for people."""
    if change.action is Action.PRELOAD:
        return [TagEdit("", tag) for tag in _preload_tags(document, change)]
    if change.action not in _EDITS:
        return []
    found = (_before_and_after(document.text, tag, change.action) for tag in _tags_to_edit(document, change))
    return [TagEdit(*map(_as_text, both)) for both in found]


def _preload_tags(document: Document, change: Change) -> list[str]:
    """The links that a change of action preload puts into the head."""
    by_path = document.page.by_path()
    return [_preload_tag(by_path[key], document.hosts) for key in change.targets if key in by_path]


def url_of(key: Key, hosts: Sequence[str]) -> str:
    """How the document may name a file. hosts: those that are known; others get a placeholder with their number."""
    host, path = key
    if host == 0:
        return path
    return f"https://{hosts[host] if host < len(hosts) else f'HOST-{host}'}{path}"


def _preload_tag(item: Resource, hosts: Sequence[str]) -> str:
    words = ['link rel="preload"', f'as="{_AS[item.kind]}"', f'href="{html.escape(url_of(item.key, hosts))}"']
    if item.kind is Kind.FONT:
        words += [f'type="{html.escape(item.mime)}"', "crossorigin"]  # without, a font would be fetched twice
    if item.kind is Kind.IMAGE:
        words.append('fetchpriority="high"')
    return f"<{' '.join(words)}>"


def _changed(document: Document, change: Change) -> str:
    text = document.text
    if change.action is Action.PRELOAD:
        place = head_place(text)
        if place is None:
            return text
        line = text[text.rfind("\n", 0, place) + 1 : place]
        gap = f"\n{line}" if not line.strip() else ""
        return text[:place] + "".join(tag + gap for tag in _preload_tags(document, change)) + text[place:]
    if change.action in _EDITS:
        for tag in reversed(_tags_to_edit(document, change)):  # from the end, so that places before stay
            text = text[: tag.begin] + _before_and_after(text, tag, change.action)[1] + text[tag.end :]
    return text


def _tags_to_edit(document: Document, change: Change) -> list[Tag]:
    return document.tags_of(change.targets, _EDITS[change.action][0])


def _before_and_after(text: str, tag: Tag, action: Action) -> tuple[str, str]:
    _, name, value = _EDITS[action]
    before = text[tag.begin : tag.end]
    return before, with_attribute(before, name, value)


@dataclass(frozen=True, slots=True)
class Tag:
    """A start tag."""

    name: str
    attributes: dict[str, str]  # values decoded, "" for those without one
    begin: int  # of its text in the document
    end: int


@lru_cache(maxsize=8)  # every candidate of a page looks at all tags of one document
def start_tags(text: str) -> tuple[Tag, ...]:
    """All start tags that a browser would act on, in order. text: the document as it is stored, a character a byte or more."""
    reader = _Reader(text)
    reader.feed(text)
    reader.close()
    return tuple(reader.tags)


@lru_cache(maxsize=8)
def _loading_tags(text: str, path: str, hosts: tuple[str, ...]) -> tuple[tuple[Tag, frozenset[Key]], ...]:
    """The start tags with `src` or `srcset`, each with the files of the site that it loads. path: of the document."""
    found = []
    for tag in start_tags(text):
        urls = [tag.attributes.get("src") or ""]
        urls += [item.url for item in parse_srcset(tag.attributes.get("srcset") or "")]
        places = (resolve(_as_text(url), path, hosts) for url in urls if url)
        if keys := frozenset((item.host, item.path) for item in places if isinstance(item, Local)):
            found.append((tag, keys))
    return tuple(found)


def _as_text(part: str) -> str:
    """Part of a document read byte by byte. What is not UTF-8 has its letters from references, or another coding."""
    try:
        return part.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return part


def head_place(text: str) -> int | None:
    """Where a link can be put into the head: before the first tag that loads something, else after `<head>`.

    None if there is neither.
    """
    for tag in start_tags(text):
        if tag.name == "body":
            break
        if tag.name in _LOADING:
            return tag.begin
    return next((tag.end for tag in start_tags(text) if tag.name == "head"), None)


_ATTRIBUTE = re.compile(r"""([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]*))?""")


def with_attribute(tag_text: str, name: str, value: str | None) -> str:
    """A start tag with an attribute set, in place of one of that name. value: None for an attribute without a value."""
    written = name if value is None else f'{name}="{value}"'
    head = re.match(r"<[^\s/>]+", tag_text)
    assert head is not None, "a start tag begins with its name"
    for found in _ATTRIBUTE.finditer(tag_text, head.end()):  # one after the other: a value may contain the name
        if found[1].lower() == name:
            return tag_text[: found.start()] + written + tag_text[found.end() :]
    return f"{head[0]} {written}{tag_text[head.end() :]}"


class _Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[Tag] = []
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._unseen: list[str] = []  # elements around that hide what is inside

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._see(tag, attrs)
        if tag in _UNSEEN and self._unseen[-1:] in ([], ["template"]):
            self._unseen.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._see(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen[-1:] == [tag]:
            self._unseen.pop()

    def _see(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._unseen:
            return
        line, column = self.getpos()
        begin = self._line_starts[line - 1] + column
        values: dict[str, str] = {}
        for key, value in attrs:
            values.setdefault(key, value or "")  # the first of twins counts
        self.tags.append(Tag(name, values, begin, begin + len(self.get_starttag_text() or "")))
