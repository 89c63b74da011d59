"""Small pages to be synthesised."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mixedsched.model.page import Page
from mixedsched.model.request import Kind

PRIORITIES = ["VeryHigh", "High", "Medium", "Low", "VeryLow"]
MIMES = {
    "document": "text/html",
    "stylesheet": "text/css",
    "script": "text/javascript",
    "font": "font/woff2",
    "image": "image/png",
    "media": "video/mp4",
    "xhr": "application/json",
    "other": "application/octet-stream",
}


def resource(name: str, kind: str, size_bytes: int, **more: Any) -> dict[str, Any]:
    """An entry of a page. found_by is the main document, at its beginning, unless `more` says otherwise."""
    found = {"found_by": "html", "found_when": "bytes", "found_at_bytes": 0}
    return {
        "id": name,
        "host": 0,
        "path": f"/{name}",
        "kind": kind,
        "mime": MIMES[kind],
        "body_bytes": size_bytes,
        "flags": [],
        **found,
        **more,
    }


def main_document(size_bytes: int) -> dict[str, Any]:
    return resource(
        "html", "document", size_bytes, path="/", found_by=None, found_when="start", flags=["main", "critical"]
    )


def page(size_bytes: int, *resources: dict[str, Any]) -> Page:
    return Page.from_dict(
        {"format": "mixedsched.page/1", "name": "made-up", "resources": [main_document(size_bytes), *resources]}
    )


@st.composite
def pages(draw: st.DrawFn) -> Page:
    """Pages of any structure, with documents and scripts that may be far too small for what they should ask for."""
    names = ["html"]
    sizes = {"html": draw(st.integers(0, 6000))}
    made = []
    for number in range(draw(st.integers(0, 12))):
        name, kind = f"r{number}", draw(st.sampled_from([kind.value for kind in Kind]))
        parent = draw(st.sampled_from(names))
        sizes[name] = draw(st.sampled_from([0, 1, 20, 300, 4000]))
        when = draw(st.sampled_from(["bytes", "complete", "requested"]))
        found: dict[str, Any] = {"found_by": parent, "found_when": when, "found_at_bytes": 0}
        if when == "bytes":
            found["found_at_bytes"] = draw(st.integers(0, sizes[parent]))
        if when == "complete":
            found["delay_ms"] = draw(st.sampled_from([0, 3, 70, 3000]))
        priority = draw(st.sampled_from(PRIORITIES))
        flags = draw(
            st.sets(st.sampled_from(["in_head", "async", "defer", "above_fold", "hero", "preload"]), max_size=2)
        )
        host = draw(st.integers(0, 2))
        more = {"chromium_priority": priority, "flags": sorted(flags), "host": host}
        made.append(resource(name, kind, sizes[name], **found, **more))
        names.append(name)
    return page(sizes["html"], *made)
