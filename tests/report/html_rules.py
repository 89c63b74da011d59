"""Rules of HTML that browsers forgive and readers, above all of screens that speak, do not.

Source: the content models of the HTML standard, as far as our documents use them; WCAG 2.2 on headings, tables and pictures.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "link", "input", "br", "img", "hr", "col", "wbr"}
BLOCKS = {
    "p", "div", "ul", "ol", "table", "section", "figure", "pre", "details", "h1", "h2", "h3", "h4", "form", "fieldset",
    "article", "main", "header", "footer", "nav",
}  # fmt: skip
PHRASES = {
    "p",
    "span",
    "strong",
    "small",
    "code",
    "h1",
    "h2",
    "h3",
    "h4",
    "pre",
    "summary",
    "label",
    "button",
    "legend",
}
CHILDREN = {
    "ul": {"li"}, "ol": {"li"}, "tr": {"th", "td"}, "thead": {"tr"}, "tbody": {"tr"}, "tfoot": {"tr"},
    "table": {"caption", "thead", "tbody", "tfoot"}, "select": {"option"},
}  # fmt: skip
INTERACTIVE = {"a", "button", "input", "select", "summary"}


class _Rules(HTMLParser):
    """Reads a document, whose parts all have end tags, and notes what is wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.levels: list[int] = []
        self.language = ""
        self._open: list[tuple[str, dict[str, str]]] = []
        self._texts: list[str] = []
        self._widths: list[set[int]] = []  # of the rows of each open table
        self._row = 0
        self._spans: dict[int, int] = {}  # rows that cells from above still take, by column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        tags = [name for name, _ in self._open]
        where = f"<{tag}> in <{tags[-1]}>" if tags else f"<{tag}>"
        if len(given) < len(attrs):
            self.found.append(f"{where} has an attribute twice")
        if tag in BLOCKS and PHRASES & set(tags):
            self.found.append(f"{where}: only phrases may be there")
        if tags and tag not in CHILDREN.get(tags[-1], {tag}):
            self.found.append(f"{where}: it has no place there")
        if tag in INTERACTIVE and INTERACTIVE & set(tags):
            self.found.append(f"{where}: one control in another")
        self._note(tag, given, where)
        if tag not in VOID:
            self._open.append((tag, given))
            self._texts.append("")

    def _note(self, tag: str, given: dict[str, str], where: str) -> None:
        self.ids += [given["id"]] if "id" in given else []
        self.references += given.get("aria-labelledby", "").split()
        self.references += [given["href"][1:]] if given.get("href", "").startswith("#") else []
        self.levels += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        match tag:
            case "html":
                self.language = given.get("lang", "")
            case "svg" if given.get("aria-hidden") != "true" and not (
                given.get("role") == "img" and given.get("aria-label")
            ):
                self.found.append(f"{where} has no words")
            case "th" if given.get("scope") not in {"col", "row", "rowgroup", "colgroup"}:
                self.found.append(f"{where} heads nothing")
            case "table":
                self._widths.append(set())
                self._spans = {}
            case "tr":
                self._row = 0
            case "td" | "th":
                self._cell(int(given.get("colspan", "1")), int(given.get("rowspan", "1")))

    def _cell(self, columns: int, rows: int) -> None:
        for _ in range(columns):
            while self._spans.get(self._row):
                self._spans[self._row] -= 1
                self._row += 1
            if rows > 1:
                self._spans[self._row] = rows - 1
            self._row += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1][0] != tag:
            self.found.append(f"</{tag}> ends what is not open: {[name for name, _ in self._open[-3:]]}")
            return
        (_, given), text = self._open.pop(), self._texts.pop()
        if self._texts:
            self._texts[-1] += text + given.get("aria-label", "")
        match tag:
            case "th" | "button" | "a" | "h1" | "h2" | "h3" | "title" | "caption" if not text.strip() and not given.get(
                "aria-label"
            ):
                self.found.append(f"<{tag}> is empty")
            case "tr":
                while self._spans.get(self._row):
                    self._spans[self._row] -= 1
                    self._row += 1
                self._widths[-1].add(self._row)
            case "table" if len(self._widths.pop()) > 1:
                self.found.append("a table has rows of several widths")

    def handle_data(self, data: str) -> None:
        if self._texts:
            self._texts[-1] += data

    def problems(self) -> list[str]:
        left = [f"<{tag}> has no end" for tag, _ in self._open]
        twice = sorted({name for name in self.ids if self.ids.count(name) > 1})
        lost = sorted(set(self.references) - set(self.ids))
        leaps = [f"h{after} after h{before}" for before, after in pairwise([0, *self.levels]) if after > before + 1]
        return [
            *dict.fromkeys(self.found),
            *left,
            *(f"two have the id {name}" for name in twice),
            *(f"nothing has the id {name}" for name in lost),
            *leaps,
            *([] if self.levels.count(1) == 1 else ["there is no h1, or several"]),
            *([] if self.language else ["no language is named"]),
        ]


def html_problems(document: str) -> list[str]:
    """What is wrong with a whole document, a line each."""
    rules = _Rules()
    rules.feed(document)
    rules.close()
    return [] if document.startswith("<!DOCTYPE html>") and not rules.problems() else rules.problems() or ["no doctype"]
