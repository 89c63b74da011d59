"""Rules of the estimated paints: what blocks them, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from mixedsched.metrics.paint import PaintEstimate, PaintNeeds
from mixedsched.page import Page


def page(*resources: dict[str, Any]) -> Page:
    """A page with a document "html" and these resources, which the document finds unless they say otherwise."""
    html = {"id": "html", "kind": "document", "flags": ["main"], "found_by": None, "found_when": "start"}
    listed = [
        {"path": f"/{item['id']}", "body_bytes": 10, "found_by": "html", "found_when": "requested", **item}
        for item in (html, *resources)
    ]
    return Page.from_dict({"format": "mixedsched.page/1", "name": "page", "resources": listed})


def estimate(of: Page, first_byte_ms: float = 10.0, **complete_ms: float) -> PaintEstimate:
    """Paints where all is complete at 20 ms that is not named; names have "_" for "."."""
    complete = {item.id: complete_ms.get(item.id.replace(".", "_"), 20.0) for item in of.resources}
    return PaintNeeds.of(of).estimate(dict.fromkeys(complete, first_byte_ms), complete)


def test_a_bare_document_is_painted_with_its_first_byte() -> None:
    assert estimate(page(), html=500.0) == PaintEstimate(10.0, 10.0)


@pytest.mark.parametrize(
    ("kind", "flags", "blocks"),
    [
        ("stylesheet", ["in_head"], True),
        ("stylesheet", ["critical"], True),
        ("stylesheet", ["late_body"], False),
        ("stylesheet", [], False),
        ("script", ["in_head"], True),
        ("script", ["critical"], True),
        ("script", ["in_head", "async"], False),
        ("script", ["in_head", "critical", "defer"], False),
        ("script", [], False),
        ("font", ["critical"], False),
        ("image", ["critical"], False),
        ("xhr", ["critical"], False),
    ],
)
def test_the_first_paint_waits_for_style_sheets_and_plain_scripts_of_the_head(
    kind: str, flags: list[str], blocks: bool
) -> None:
    of = page({"id": "x", "kind": kind, "flags": flags})
    assert estimate(of, x=700.0).fcp_ms == (700.0 if blocks else 10.0)


def test_the_first_paint_waits_for_no_style_sheet_of_other_media() -> None:
    of = page({"id": "print.css", "kind": "stylesheet", "flags": ["in_head"], "chromium_priority": "VeryLow"})
    assert estimate(of, print_css=700.0).fcp_ms == 10.0


def test_what_a_script_inserts_blocks_nothing_and_what_style_sheets_import_does() -> None:
    loader = {"id": "loader.js", "kind": "script", "flags": ["in_head"]}
    inserted = {"id": "inserted.css", "kind": "stylesheet", "flags": ["critical"], "found_by": "loader.js"}
    outer = {"id": "outer.css", "kind": "stylesheet", "flags": ["in_head"]}
    middle = {"id": "middle.css", "kind": "stylesheet", "flags": ["in_head"], "found_by": "outer.css"}
    inner = {"id": "inner.css", "kind": "stylesheet", "flags": ["critical"], "found_by": "middle.css"}
    of = page(loader, inner, inserted, middle, outer)
    assert PaintNeeds.of(of).blocking == ("loader.js", "inner.css", "middle.css", "outer.css")
    assert estimate(of, inserted_css=900.0, inner_css=800.0).fcp_ms == 800.0


def test_the_largest_paint_waits_for_heroes_and_never_comes_before_the_first() -> None:
    css = {"id": "css", "kind": "stylesheet", "flags": ["in_head"]}
    heroes = [{"id": name, "kind": "image", "flags": ["hero"]} for name in ("one", "two")]
    other = {"id": "other", "kind": "image", "flags": ["above_fold"]}
    of = page(css, *heroes, other)
    assert estimate(of, css=100.0, one=300.0, two=200.0, other=900.0) == PaintEstimate(100.0, 300.0)
    assert estimate(of, css=400.0, one=300.0) == PaintEstimate(400.0, 400.0)


def test_without_a_hero_the_images_above_the_fold_are_the_largest() -> None:
    images = [{"id": name, "kind": "image", "flags": ["above_fold"]} for name in ("one", "two")]
    below = {"id": "below", "kind": "image", "flags": []}
    frame = {"id": "frame", "kind": "document", "flags": ["above_fold"]}
    assert estimate(page(*images, below, frame), two=300.0, below=900.0, frame=900.0).lcp_ms == 300.0


def test_a_long_chain_of_imports_listed_backwards_is_followed() -> None:
    count = 3000
    chain = [
        {"id": f"css{i}", "kind": "stylesheet", "flags": ["in_head"], "found_by": f"css{i - 1}"}
        for i in range(1, count)
    ]
    first = {"id": "css0", "kind": "stylesheet", "flags": ["in_head"]}
    assert len(PaintNeeds.of(page(*reversed(chain), first)).blocking) == count
