"""A small shop for tests: its document, its page model, and measured loads of it that are made up."""

from __future__ import annotations

from typing import Any

from mixedsched.advice.changes.change import Key
from mixedsched.advice.changes.html_change import Document
from mixedsched.advice.changes.look import Look, look_at
from mixedsched.lab.model import Arrival, Run, RunStatus
from mixedsched.model.page import Page

HOSTS = ("shop.test",)
RTT_MS = 100.0

HTML = """<!DOCTYPE html>
<html><head>
  <meta charset="utf-8">
  <script src="/app.js"></script>
  <link rel="stylesheet" href="/site.css">
</head><body>
<img src="/hero.jpg" alt="caf\u00e9">
<img src="/below.jpg"><noscript><img src="/below.jpg"></noscript>
<script src="/late.js"></script>
</body></html>
"""

HERO, BELOW, APP, LATE, CSS, FONT = (
    (0, path) for path in ("/hero.jpg", "/below.jpg", "/app.js", "/late.js", "/site.css", "/text.woff2")
)


def _resource(path: str, kind: str, size_bytes: int, at_bytes: int, *flags: str, **more: Any) -> dict[str, Any]:
    found = {"found_by": "html", "found_when": "bytes", "found_at_bytes": at_bytes}
    return {"id": path, "path": path, "kind": kind, "body_bytes": size_bytes, "flags": list(flags), **found, **more}


PAGE = Page.from_dict(
    {
        "format": "mixedsched.page/1",
        "name": "shop",
        "resources": [
            {"id": "html", "path": "/", "kind": "document", "body_bytes": 400, "flags": ["main", "critical"]},
            _resource("/app.js", "script", 60_000, 90, "in_head", "critical"),
            _resource("/site.css", "stylesheet", 8_000, 130, "in_head", "critical"),
            _resource("/hero.jpg", "image", 100_000, 190, chromium_priority="Medium"),
            _resource("/below.jpg", "image", 80_000, 230, chromium_priority="Medium"),
            _resource("/late.js", "script", 40_000, 300, "after_first_image"),
            _resource("/text.woff2", "font", 20_000, 0, found_by="/site.css", found_when="complete", mime="font/woff2"),
        ],
    }
)
DOCUMENT = Document(HTML.encode().decode("latin-1"), PAGE, HOSTS)

# path -> signal, Chromium's last priority, asked, requested, first byte, complete (ms)
LOAD: dict[str, tuple[str, str, float, float, float, float]] = {
    "/": ("u=0, i", "VeryHigh", 0, 0, 200, 210),
    "/app.js": ("u=1", "High", 215, 215, 320, 700),
    "/site.css": ("u=0", "VeryHigh", 215, 216, 330, 400),
    "/hero.jpg": ("u=2, i", "High", 220, 220, 700, 1600),
    "/below.jpg": ("u=2, i", "Medium", 220, 221, 700, 1600),
    "/late.js": ("u=2", "Medium", 222, 720, 900, 1300),
    "/text.woff2": ("u=0", "VeryHigh", 720, 725, 830, 950),
}
KINDS = {item.path: item for item in PAGE.resources}


def made_up_run(**changes: Any) -> Run:
    """A load in which hero and the image below it arrive in turns. changes: of Run's fields."""
    requests = [
        {
            "url": f"https://shop.test{path}",
            "protocol": "h3",
            "priority": priority,
            "resource_type": KINDS[path].kind.value,
            "status": 200,
            "transfer_bytes": KINDS[path].body_bytes,
            "resource_bytes": KINDS[path].body_bytes,
            "start_ms": asked,
            "request_ms": requested,
            "end_ms": complete,
            "finished": True,
        }
        for path, (_, priority, asked, requested, _, complete) in LOAD.items()
    ]
    page_load = {
        "metrics": {"fcp_ms": 750.0, "lcp_ms": 1650.0, "tbt_ms": 0.0, "si_ms": 900.0, "cls": 0.0, "tti_ms": 1700.0},
        "requests": requests,
        "observed": {"lcp_load_start_ms": 220.0, "lcp_load_end_ms": 1600.0, "load_ms": 1650.0},
        "frames": [],
    }
    placements = tuple(
        {"path": path, "kind": KINDS[path].kind.value, "signal": signal, "placement": signal, "body_bytes": 1}
        for path, (signal, *_) in LOAD.items()
    )
    arrivals = tuple(
        Arrival(path, first, complete, 10, KINDS[path].body_bytes) for path, (*_, first, complete) in LOAD.items()
    )
    fields: dict[str, Any] = {
        "block": 1,
        "attempt": 1,
        "arm": "today",
        "position": 0,
        "status": RunStatus.OK,
        "started_at": "2026-01-01T00:00:00+00:00",
        "cost_s": 10.0,
        "page_load": page_load,
        "arrivals": arrivals,
        "placements": placements,
    }
    return Run(**{**fields, **changes})


def made_up_look() -> Look:
    return look_at(made_up_run(), PAGE, HOSTS, RTT_MS)


def key(path: str) -> Key:
    return 0, path
