"""A generated page in the way of today's: its own host, a host for static files, and one for fonts.

The fonts are asked for without credentials, as browsers do on other hosts, so that the page takes two connections unless its
hosts are merged: what is urgent to the eye then competes with what is not on another connection. Nothing travels compressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mixedsched.sites.documents.html import EARLY_IMAGES
from mixedsched.sites.site.wire import mime_of_file
from mixedsched.sites.synth.fonts import striped_font
from mixedsched.sites.synth.pictures import striped_photo
from mixedsched.sites.synth.texts import marked_script, pad_text

OWN, STATIC, FONTS = range(3)  # indices of hosts
OWN_IMAGES = 4
STATIC_IMAGES = 8
HTML_BYTES = 9_000
FACES_BYTES = 900
STYLE_BYTES = 24_000
SCRIPT_BYTES = 60_000
LATE_SCRIPT_BYTES = 90_000
FONT_BYTES = 20_000
HERO_BYTES = 104_484
IMAGE_BYTES = 60_000

_FOLDERS = ("own", "static", "fonts")  # in the root, one for each host
_FACES = """@font-face{font-family:Text;src:url(text.woff2) format("woff2");font-display:block}
@font-face{font-family:Display;src:url(/display.woff2) format("woff2");font-display:block}
"""
_STYLE = """body{margin:0;padding:24px;background:#f4f1ea;font:18px/1.5 Text,sans-serif;color:#222}
h1{font:52px/1.1 Display,serif;margin:0 0 16px}
main{max-width:720px;margin:auto;background:#fff;padding:24px}
#hero{display:block;width:100%;max-width:600px;height:auto;background:#dcd}
.spacer{height:2400px}
.grid img{width:45%;height:auto;margin:2%}
"""
_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Three hosts</title>
<link rel="preconnect" href="https://{fonts}" crossorigin>
<link rel="stylesheet" href="https://{fonts}/faces.css">
<link rel="stylesheet" href="//{static}/style.css">
<script src="https://{static}/app.js"></script>
</head>
<body>
<main>
<h1>Three hosts, one page</h1>
<p>Style, scripts and most images come from a second host, the two fonts of this text from a third.</p>
<img id="hero" src="/hero.jpg" width="600" height="450" alt="The image that matters">
<div class="spacer"></div>
<div class="grid">
{images}
</div>
</main>
<script src="https://{static}/late.js"></script>
</body>
</html>
"""


def write_three_hosts(www: Path, hosts: Sequence[str]) -> list[dict[str, Any]]:
    """Write the page's files into www; return its resources as manifest entries. The same bytes on every run.

    hosts: of the page, of static files, of fonts.
    """
    grid = [(OWN, f"/own-{number}.jpg") for number in range(1, OWN_IMAGES + 1)]
    grid += [(STATIC, f"/static-{number}.jpg") for number in range(1, STATIC_IMAGES + 1)]
    urls = {item: f"https://{hosts[item[0]]}{item[1]}" if item[0] else item[1] for item in grid}
    images = "\n".join(f'<img src="{url}" width="600" height="400" alt="">' for url in urls.values())
    html = _TEMPLATE.format(fonts=hosts[FONTS], static=hosts[STATIC], images=images)
    files = {
        (OWN, "/"): pad_text(html, "<!--", "-->", HTML_BYTES),
        (FONTS, "/faces.css"): pad_text(_FACES, "/*", "*/", FACES_BYTES),
        (STATIC, "/style.css"): pad_text(_STYLE, "/*", "*/", STYLE_BYTES),
        (STATIC, "/app.js"): marked_script("threeHostsApp", SCRIPT_BYTES),
        (OWN, "/hero.jpg"): striped_photo(600, 450, HERO_BYTES, seed=1),
        **{item: striped_photo(600, 400, IMAGE_BYTES, seed) for seed, item in enumerate(grid, start=2)},
        (STATIC, "/late.js"): marked_script("threeHostsLate", LATE_SCRIPT_BYTES),
        (FONTS, "/text.woff2"): striped_font(FONT_BYTES, seed=3),
        (FONTS, "/display.woff2"): striped_font(FONT_BYTES, seed=4),
    }
    for (host, path), body in files.items():
        target = www / _file(host, path)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(body)
    return [_entry(item, len(body), grid, html, hosts) for item, body in files.items()]


def _entry(
    item: tuple[int, str], size_bytes: int, grid: Sequence[tuple[int, str]], html: str, hosts: Sequence[str]
) -> dict[str, Any]:
    host, path = item
    priority = None
    if item in grid:
        priority = "Medium" if grid.index(item) < EARLY_IMAGES - 1 else "Low"  # the hero was the first to be hurried
    kind, flags = _KINDS.get(path, ("image", []))
    return {
        "id": path.lstrip("/") or "html",
        "host": host,
        "path": path,
        "file": _file(host, path),
        "kind": kind,
        "mime": mime_of_file(_file(host, path)),
        "body_bytes": size_bytes,
        "chromium_priority": priority,
        "incremental": None,
        **_found(item, html, hosts),
        "flags": flags,
    }


_KINDS: dict[str, tuple[str, list[str]]] = {
    "/": ("document", ["main", "critical"]),
    "/faces.css": ("stylesheet", ["in_head", "critical"]),
    "/style.css": ("stylesheet", ["in_head", "critical"]),
    "/app.js": ("script", ["in_head", "critical"]),
    "/hero.jpg": ("image", ["above_fold", "hero"]),
    "/late.js": ("script", ["late_body", "after_first_image"]),
    "/text.woff2": ("font", []),
    "/display.woff2": ("font", []),
}


def _found(item: tuple[int, str], html: str, hosts: Sequence[str]) -> dict[str, Any]:
    """The keys that say what finds a resource, and when: the document where it names it, fonts at first layout."""
    host, path = item
    if path == "/":
        return {"found_by": None, "found_when": "start"}
    if path.endswith(".woff2"):
        return {"found_by": "style.css", "found_when": "complete"}
    spellings = [f'"{path}"'] if host == OWN else [f'"https://{hosts[host]}{path}"', f'"//{hosts[host]}{path}"']
    spelling = next(spelling for spelling in spellings if spelling in html)
    found_at_bytes = html.index(spelling) + len(spelling)
    return {"found_by": "html", "found_when": "bytes", "found_at_bytes": found_at_bytes}


def _file(host: int, path: str) -> str:
    return f"{_FOLDERS[host]}{path if path != '/' else '/index.html'}"
