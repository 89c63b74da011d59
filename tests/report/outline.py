"""The outline of an HTML document: what it could load, and what its tests look at."""

from __future__ import annotations

from html.parser import HTMLParser

LOADING = {"src", "href", "xlink:href", "srcset", "data", "action"}
ACTIVE = {"script", "iframe", "object", "embed", "form"}


class Outline(HTMLParser):
    """Headings, tags, attributes that load something, descriptions of drawings, and cells of heat maps."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[tuple[str, str]] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.labels: list[str] = []
        self.cells: list[tuple[str, str, str]] = []
        """(class, hint, text)"""
        self.images_without_words = 0
        self._heading: str | None = None
        self._cell: tuple[str, str] | None = None
        self.feed(text)

    @property
    def stands_alone(self) -> bool:
        """Whether it loads nothing, and runs nothing."""
        return not ACTIVE & set(self.tags) and all(load.startswith(("data:", "#")) for load in self.loads)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = {name: value or "" for name, value in attrs}
        self.loads += [value for name, value in given.items() if name in LOADING]
        self.labels += [given["aria-label"]] if tag == "svg" and "aria-label" in given else []
        self.images_without_words += given.get("role") == "img" and not given.get("aria-label")
        if tag == "td":
            self._cell = (given.get("class", ""), given["title"]) if "title" in given else None
        if tag in ("h1", "h2", "h3"):
            self._heading = tag
            self.headings.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._heading:
            self._heading = None

    def handle_data(self, data: str) -> None:
        if self._heading:
            tag, text = self.headings[-1]
            self.headings[-1] = (tag, text + data)
        if self._cell is not None:
            self.cells.append((*self._cell, data))
            self._cell = None
