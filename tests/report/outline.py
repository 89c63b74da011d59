"""The outline of an HTML document: what it could load, and what its tests look at."""

from __future__ import annotations

import base64
import hashlib
import json
from html.parser import HTMLParser

LOADING = {"src", "href", "xlink:href", "srcset", "data", "action"}
ACTIVE = {"iframe", "object", "embed", "form"}


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
        self.policy = ""
        self.scripts: list[str] = []
        """Those that a browser would run, if the policy let it."""
        self.data: list[object] = []
        """What stands in script elements as JSON."""
        self._script: str | None = None
        self._heading: str | None = None
        self._cell: tuple[str, str] | None = None
        self.feed(text)

    @property
    def stands_alone(self) -> bool:
        """Whether it loads nothing, and runs nothing but what its policy names by its content."""
        sources = [
            f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in self.scripts
        ]
        allowed = next((part.split()[1:] for part in self.policy.split(";") if part.startswith(" script-src ")), [])
        return (
            not ACTIVE & set(self.tags)
            and all(load.startswith(("data:", "#")) for load in self.loads)
            and self.policy.startswith("default-src 'none';")
            and sources == allowed
        )

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = {name: value or "" for name, value in attrs}
        self.loads += [value for name, value in given.items() if name in LOADING]
        self.labels += [given["aria-label"]] if tag == "svg" and "aria-label" in given else []
        self.images_without_words += given.get("role") == "img" and not given.get("aria-label")
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if tag == "script":
            self._script = given.get("type", "text/javascript")
        if tag == "td":
            self._cell = (given.get("class", ""), given["title"]) if "title" in given else None
        if tag in ("h1", "h2", "h3"):
            self._heading = tag
            self.headings.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._heading:
            self._heading = None
        if tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script == "application/json":
            self.data.append(json.loads(data))
        elif self._script is not None:
            self.scripts.append(data)
        if self._heading:
            tag, text = self.headings[-1]
            self.headings[-1] = (tag, text + data)
        if self._cell is not None:
            self.cells.append((*self._cell, data))
            self._cell = None
