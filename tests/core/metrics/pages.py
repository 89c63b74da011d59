"""Pages whose document finds all of their resources."""

from __future__ import annotations

from typing import Any

from mixedsched.model.page import Page


def page(*resources: dict[str, Any]) -> Page:
    """A page with a document "html" and these resources, which the document finds unless they say otherwise."""
    html = {"id": "html", "kind": "document", "flags": ["main"], "found_by": None, "found_when": "start"}
    listed = [
        {"path": f"/{item['id']}", "body_bytes": 10, "found_by": "html", "found_when": "requested", **item}
        for item in (html, *resources)
    ]
    return Page.from_dict({"format": "mixedsched.page/1", "name": "page", "resources": listed})
