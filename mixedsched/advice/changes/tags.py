"""Start tags of an HTML document with their places in the text, so that one of them can be changed and nothing else.

A parser that writes documents anew would also tidy them up, and an edition of a site shall differ in the change alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_UNSEEN = {"noscript", "template"}  # what is inside is not fetched by a browser that runs scripts
_LOADING = {"link", "script", "style", "img", "base"}


@dataclass(frozen=True, slots=True)
class Tag:
    """A start tag. begin, end: of its text in the document. attributes: values decoded, "" for those without one."""

    name: str
    attributes: dict[str, str]
    begin: int
    end: int


def start_tags(text: str) -> list[Tag]:
    """All start tags that a browser would act on, in order; text: of one character a byte or more, as it is stored."""
    reader = _Reader(text)
    reader.feed(text)
    reader.close()
    return reader.tags


def head_place(text: str) -> int | None:
    """Where a link can be put into the head: before the first tag that loads something, else behind `<head>`; None if there
    is neither."""
    for tag in start_tags(text):
        if tag.name == "body":
            break
        if tag.name in _LOADING:
            return tag.begin
    return next((tag.end for tag in start_tags(text) if tag.name == "head"), None)


def with_attribute(tag_text: str, name: str, value: str | None) -> str:
    """A start tag with an attribute set, in place of one of that name; value None: an attribute without a value."""
    written = name if value is None else f'{name}="{value}"'
    found = re.search(
        rf"(?<=[\s\"'/]){name}(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>\"']+))?(?=[\s/>])", tag_text, re.IGNORECASE
    )
    if found:
        return tag_text[: found.start()] + written + tag_text[found.end() :]
    head = re.match(r"<[^\s/>]+", tag_text)
    assert head is not None, "a start tag begins with its name"
    return f"{head[0]} {written}{tag_text[head.end() :]}"


class _Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[Tag] = []
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._unseen_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._see(tag, attrs)
        self._unseen_depth += tag in _UNSEEN

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._see(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen_depth = max(0, self._unseen_depth - 1)

    def _see(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._unseen_depth:
            return
        line, column = self.getpos()
        begin = self._line_starts[line - 1] + column
        values: dict[str, str] = {}
        for key, value in attrs:
            values.setdefault(key, value or "")  # the first of twins counts
        self.tags.append(Tag(name, values, begin, begin + len(self.get_starttag_text() or "")))
