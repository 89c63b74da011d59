"""A page as the text of a page file."""

from __future__ import annotations

import json
from typing import Any

from mixedsched.model.page import Page


def page_text(page: Page, **facts: str) -> str:
    """The page in the format mixedsched.page/1, a resource on each line. facts: further keys for people, such as source."""
    resources = [item.model_dump(mode="json", exclude_defaults=True) for item in page.resources]
    lines = [
        json.dumps(_in_full(fields, item.incremental)) for fields, item in zip(resources, page.resources, strict=True)
    ]
    head = json.dumps({"format": page.format, "name": page.name, **facts}, ensure_ascii=False)
    return head[:-1] + ', "resources": [\n ' + ",\n ".join(lines) + "\n]}\n"


def _in_full(fields: dict[str, Any], incremental: bool) -> dict[str, Any]:
    """With what is worth saying though it is the default; flags in a fixed order."""
    return {
        "id": fields["id"],
        "host": 0,
        "chromium_priority": "Low",
        "found_by": None,
        "found_when": "start",
        **fields,
        "incremental": incremental,
        "flags": sorted(fields.get("flags", ())),
    }
