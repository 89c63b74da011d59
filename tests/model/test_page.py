"""The page model: what it derives, and what it refuses by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mixedsched.errors import PageError
from mixedsched.model.page import Page
from mixedsched.model.request import ChromiumPriority

HTML = {"id": "html", "path": "/", "kind": "document", "body_bytes": 1000, "found_by": None, "found_when": "start"}


def child(**fields: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "path": "/x",
        "kind": "script",
        "body_bytes": 10,
        "found_by": "html",
        "found_when": "complete",
        **fields,
    }


def page(*resources: dict[str, Any], **fields: Any) -> Page:
    return Page.from_dict(
        {"format": "mixedsched.page/1", "name": "p", "resources": list(resources), **fields}, "p.json"
    )


def test_the_example_of_the_format_is_read() -> None:
    text = json.dumps(
        {
            "format": "mixedsched.page/1",
            "name": "example",
            "resources": [
                {
                    **HTML,
                    "flags": ["main", "critical"],
                    "chromium_priority": "VeryHigh",
                    "incremental": True,
                    "host": 0,
                },
                child(id="app.js", found_when="bytes", found_at_bytes=900, delay_ms=0, flags=["in_head", "critical"]),
            ],
        }
    )
    read = Page.from_json(text)
    assert read.main.id == "html"
    assert read.by_id()["app.js"].found_at_bytes == 900
    assert read.by_path()[0, "/"].kind == "document"


@pytest.mark.parametrize(
    ("kind", "flags", "priority", "incremental"),
    [
        ("document", [], "VeryHigh", True),
        ("stylesheet", ["in_head"], "VeryHigh", False),
        ("stylesheet", ["late_body"], "Medium", False),
        ("font", [], "VeryHigh", False),
        ("font", ["preload"], "High", False),
        ("script", ["in_head"], "High", False),
        ("script", ["async"], "Low", False),
        ("script", ["defer", "in_head"], "Low", False),
        ("script", ["late_body"], "Medium", False),
        ("script", ["preload", "late_body"], "High", False),
        ("script", ["preload", "in_head", "defer"], "High", False),
        ("image", [], "Low", True),
        ("image", ["hero"], "Medium", True),
        ("image", ["above_fold", "lazy"], "Low", True),
        ("xhr", [], "High", True),
        ("media", [], "Low", True),
        ("other", [], "Low", True),
    ],
)
def test_missing_signals_are_derived_as_chromium_would(
    kind: str, flags: list[str], priority: str, incremental: bool
) -> None:
    item = page(HTML, child(kind=kind, flags=flags, chromium_priority=None)).by_id()["x"]
    assert (item.chromium_priority, item.incremental) == (ChromiumPriority(priority), incremental)


def test_given_signals_stay() -> None:
    item = page(HTML, child(kind="image", chromium_priority="High", incremental=False)).by_id()["x"]
    assert (item.chromium_priority, item.incremental) == (ChromiumPriority.HIGH, False)


def test_above_the_fold_are_main_critical_hero_and_every_font() -> None:
    read = page(
        {**HTML, "flags": ["main"]},
        child(id="a", flags=["critical"]),
        child(id="b", kind="image", flags=["hero"]),
        child(id="c", kind="font"),
        child(id="d", kind="image", flags=["above_fold"]),
    )
    assert [item.id for item in read.resources if item.is_above_fold] == ["html", "a", "b", "c"]


@pytest.mark.parametrize(
    ("resource", "says"),
    [
        (child(kind="picture"), "resource 'x'"),
        (child(kind=[]), "kind"),
        (child(flags=5), "flags"),
        (child(flags=[{}]), "flags"),
        (child(body_bytes=-1), "body_bytes"),
        (child(body_bytes=1.5), "body_bytes"),
        (child(flags=["heroic"]), "flags"),
        (child(found_by="nobody"), "its parent 'nobody' is not listed"),
        (child(found_when="bytes", found_at_bytes=1001), "found at byte 1001 of 'html', which has 1000"),
        (child(found_at_bytes=3), "found_at_bytes goes with found_when 'bytes'"),
        (child(found_by="x"), "finds itself: x -> x"),
        (child(found_by=None), "found_when is 'start' exactly"),
        (child(found_when="later"), "found_when"),
        (child(delay_ms=float("nan")), "delay_ms"),
        (child(chromium_priority="Highest"), "chromium_priority"),
        (child(id="html"), "listed twice"),
        ("not an object", "number 1"),
    ],
)
def test_a_bad_resource_is_refused_by_its_id_and_the_reason(resource: Any, says: str) -> None:
    with pytest.raises(PageError) as caught:
        page(HTML, resource)
    assert says in str(caught.value)


def test_a_longer_cycle_is_shown_whole() -> None:
    with pytest.raises(PageError, match="b -> c -> b"):
        page(HTML, child(id="b", found_by="c"), child(id="c", found_by="b"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        pytest.param("[" * 100_000, id="nested too deeply"),
        '{"format": "mixedsched.page/2"}',
        '{"format": "mixedsched.page/1", "resources": []}',
    ],
)
def test_what_is_no_page_is_refused(text: str) -> None:
    with pytest.raises(PageError):
        Page.from_json(text, "p.json")


def test_ten_thousand_resources_are_fine() -> None:
    many = [child(id=f"r{index}", found_by="html" if index == 0 else f"r{index - 1}") for index in range(10_000)]
    assert len(page(HTML, *many).resources) == 10_001
