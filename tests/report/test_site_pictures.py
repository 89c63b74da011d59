"""Pictures of a page's structure: what is shown, what is folded, what is marked."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from rich.console import Console

from mixedsched.model.page import Page
from mixedsched.report.sites import render_site, size_bar, structure_table
from mixedsched.report.sites.structure import DRAWN_LEVELS, Folded, Node, Structure
from mixedsched.sites.analysis.difference import Described
from tests.report.html_rules import html_problems

HTML = {"id": "html", "path": "/", "kind": "document", "body_bytes": 1000, "flags": ["main"]}


def item(name: str, parent: str = "html", **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "path": f"/{name}",
        "kind": "image",
        "body_bytes": 100,
        "found_by": parent,
        "found_when": "complete",
        **more,
    }


def described(*items: dict[str, Any]) -> Described:
    data = {
        "format": "mixedsched.page/1",
        "name": "shop",
        "resources": [HTML, *items],
        "hosts": ["shop.test", "cdn.test"],
    }
    return Described.of_page(Page.from_dict(data), data)


def lines(page: Described, most: int | None = None, width: int = 140) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(structure_table(page, Structure(page.page).rows(most), width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()[1:]


def test_shares_of_a_page_without_bytes_are_not_told_in_per_cent() -> None:
    data = {"format": "mixedsched.page/1", "name": "empty", "resources": [{**HTML, "body_bytes": 0}]}
    shares = re.findall(
        r'<td class="number">([^<]*)</td></tr>', render_site(Described.of_page(Page.from_dict(data), data))
    )
    assert set(shares) == {"–"}
    shares = re.findall(r'<td class="number">([^<]*)</td></tr>', render_site(described(item("a"))))
    assert {"91 %", "9 %"} <= set(shares)


def test_children_stand_below_their_parent_in_order_of_request() -> None:
    page = described(item("a"), item("b"), item("a1", "a"), item("a2", "a1"))
    assert [line[:25].rstrip() for line in lines(page)] == ["/", "├ /a", "│ └ /a1", "│   └ /a2", "└ /b"]


def test_long_lists_are_folded_but_for_heroes_and_who_found_others() -> None:
    many = [item(f"{n}", body_bytes=10) for n in range(20)]
    hero, finder = item("hero", flags=["hero"]), item("finder", kind="script")
    page = described(*many, hero, finder, item("child", "finder"))
    rows = Structure(page.page).rows(3)
    shown = [row.content.item.id for row in rows if isinstance(row.content, Node)]
    assert shown == ["html", "0", "1", "2", "hero", "finder", "child"]
    (folded,) = [row.content for row in rows if isinstance(row.content, Folded)]
    assert len(folded.items) == 17
    assert "… 17 more: 17 image" in lines(page, 3)[-1]


def test_a_single_one_is_not_folded() -> None:
    page = described(*(item(f"{n}") for n in range(4)))
    assert len(Structure(page.page).rows(3)) == 5


def test_a_chain_of_hundreds_is_drawn_as_deep_as_it_can_be() -> None:
    page = described(item("0"), *(item(f"{n}", f"{n - 1}") for n in range(1, 300)))
    last = lines(page)[-1]
    assert last.startswith(f"+{300 - DRAWN_LEVELS} ")
    assert f"{301 - DRAWN_LEVELS} that are found in {DRAWN_LEVELS} or more steps" in render_site(page)


def test_marks_tell_what_is_above_the_fold() -> None:
    page = described(
        item("hero", flags=["hero"]), item("font", kind="font"), item("seen", flags=["above_fold"]), item("below")
    )
    marks = {line.split()[1]: line for line in lines(page)[1:]}
    assert "★ hero" in marks["/hero"]
    assert "▲" in marks["/font"]
    assert "▲" in marks["/seen"]
    assert not {"▲", "★"} & set(marks["/below"])


def test_narrow_terminals_keep_to_their_width() -> None:
    page = described(item("a" * 300, host=1), item("b"))
    assert max(map(len, lines(page, width=90))) <= 90


def test_anything_but_nothing_has_a_bar() -> None:
    assert [size_bar(size, 1000) for size in (0, 1, 1000)] == ["", "▏", "█" * 10]
    assert size_bar(0, 0) == ""


def test_text_from_pages_does_nothing_to_terminal_or_document() -> None:
    page = described(item("x", path="/\x1b[2J<script>alert(1)</script>"))
    assert "\x1b" not in "".join(lines(page))
    text = render_site(page)
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_the_document_is_self_contained_and_the_same_each_time() -> None:
    page = described(item("a", flags=["hero"]), item("b", "a", host=1))
    text = render_site(page)
    assert text == render_site(page)
    assert "default-src 'none'" in text
    assert html_problems(text) == []
    assert not re.search(r"(src|href)=\"(?!data:,)", text)


def test_boxes_of_a_column_are_as_tall_as_they_have_bytes() -> None:
    page = described(item("a", body_bytes=200_000), item("b", body_bytes=400_000), item("c", "a", body_bytes=1))
    (picture,) = re.findall(r"<svg.*?</svg>", render_site(page), re.DOTALL)
    boxes = {
        (group[0].text or "").splitlines()[0]: group[1].attrib for group in ET.fromstring(picture) if group.tag == "g"
    }
    heights = {path: float(box["height"]) for path, box in boxes.items()}
    assert heights["/b"] / heights["/a"] == pytest.approx(2, rel=0.01)
    assert boxes["/a"]["x"] == boxes["/b"]["x"] != boxes["/c"]["x"]
    assert boxes["/c"]["y"] == boxes["/a"]["y"]
