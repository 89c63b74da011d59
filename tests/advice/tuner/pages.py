"""Pages for searches: small ones made up from a seed, and one that a person would recognise."""

from __future__ import annotations

import random

from mixedsched.model.page import PAGE_FORMAT, Page

LOOKS = (
    ("stylesheet", ["in_head"], 12_000),
    ("script", ["in_head"], 18_000),
    ("script", ["defer"], 40_000),
    ("image", ["hero"], 45_000),
    ("image", ["above_fold"], 15_000),
    ("image", [], 60_000),
    ("font", [], 25_000),
)


def made_up_page(seed: int, resources: int = 6, looks: int = len(LOOKS)) -> Page:
    """A document that finds the rest; kinds, sizes and places are drawn. looks: how many of LOOKS may occur."""
    rng = random.Random(seed)
    html_bytes = rng.randrange(3_000, 12_000)
    items = [{"id": "html", "path": "/", "kind": "document", "body_bytes": html_bytes, "flags": ["main"]}]
    for index in range(resources - 1):
        kind, flags, size_bytes = LOOKS[rng.randrange(looks)]
        late = index and kind == "font" and rng.random() < 0.5
        found = (
            {"found_by": f"r{rng.randrange(index)}", "found_when": "complete"}
            if late
            else {"found_by": "html", "found_when": "bytes", "found_at_bytes": rng.randrange(html_bytes)}
        )
        items.append(
            {
                "id": f"r{index}",
                "path": f"/r{index}",
                "kind": kind,
                "flags": flags,
                "body_bytes": round(size_bytes * rng.uniform(0.4, 1.6)),
                **found,
            }
        )
    return Page.from_dict({"format": PAGE_FORMAT, "name": f"made-up-{seed}", "resources": items})


def shop(name: str = "shop") -> Page:
    """Styles and scripts in the head, a hero among other images, a late font, a large deferred script."""

    def item(identity: str, kind: str, size_bytes: int, flags: list[str], **found: object) -> dict[str, object]:
        where = found or {"found_by": "html", "found_when": "bytes", "found_at_bytes": 900}
        return {"id": identity, "path": f"/{identity}", "kind": kind, "body_bytes": size_bytes, "flags": flags, **where}

    resources = [
        {"id": "html", "path": "/", "kind": "document", "body_bytes": 9_000, "flags": ["main", "critical"]},
        item("shop.css", "stylesheet", 14_000, ["in_head"]),
        item("head.js", "script", 22_000, ["in_head"]),
        item("hero.jpg", "image", 60_000, ["hero"]),
        item("logo.png", "image", 6_000, ["above_fold"]),
        item("a.jpg", "image", 90_000, []),
        item("b.jpg", "image", 30_000, []),
        item("late.woff2", "font", 24_000, [], found_by="shop.css", found_when="complete"),
        item("icons.woff2", "font", 9_000, []),
        item("big.js", "script", 70_000, ["defer"]),
        item("small.js", "script", 4_000, ["defer"]),
    ]
    return Page.from_dict({"format": PAGE_FORMAT, "name": name, "resources": resources})


# A style that finds the hero, beside a script and an image that compete with both.
HURRIED = Page.from_dict(
    {
        "format": PAGE_FORMAT,
        "name": "shop",
        "resources": [
            {"id": "html", "path": "/", "kind": "document", "body_bytes": 20_000, "found_when": "start", "flags": ["main"]},
            {"id": "css", "path": "/a.css", "kind": "stylesheet", "body_bytes": 10_000, "found_by": "html",
             "found_when": "bytes", "found_at_bytes": 300, "flags": ["in_head", "critical"]},
            {"id": "late.js", "path": "/late.js", "kind": "script", "body_bytes": 90_000, "found_by": "html",
             "found_when": "bytes", "found_at_bytes": 400, "flags": ["async"]},
            {"id": "hero", "path": "/hero.jpg", "kind": "image", "body_bytes": 60_000, "found_by": "css",
             "found_when": "complete", "flags": ["hero", "above_fold"]},
            {"id": "other", "path": "/other.jpg", "kind": "image", "body_bytes": 80_000, "found_by": "html",
             "found_when": "bytes", "found_at_bytes": 900, "flags": []},
        ],
    },
    "test",
)  # fmt: skip
