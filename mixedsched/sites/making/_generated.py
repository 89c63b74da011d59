"""Two generated pages whose discovery is well understood, the same bytes on every run. Nothing travels compressed there.

One is the page of Davies and Meenan (2018), as described by Marx et al. 2019, where it is `syntheticmeenan`. The other is a
page in the way of today's: its own host, a host for static files, and one for fonts. The fonts are asked for without
credentials, as browsers do on other hosts, so that it takes two connections unless its hosts are merged: what is urgent to
the eye then competes with what is not on another connection.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from mixedsched.sites.documents.html import EARLY_IMAGES
from mixedsched.sites.site.wire import mime_of_file
from mixedsched.sites.synth.fonts import striped_font
from mixedsched.sites.synth.pictures import noise_tile, striped_photo
from mixedsched.sites.synth.texts import marked_script, pad_text

_HIDDEN = [f"hidden.jpg?{number}" for number in range(1, 31)]  # one file, asked for thirty times
_OWN, _STATIC, _FONTS = range(3)  # indices of hosts
_FOLDERS = ("own", "static", "fonts")  # in the root, one for each host
_GRID = [
    *((_OWN, f"/own-{number}.jpg") for number in range(1, 5)),
    *((_STATIC, f"/static-{number}.jpg") for number in range(1, 9)),
]
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
_NAVIGATION: dict[str, Any] = {"found_by": None, "found_when": "start"}


def write_davies_meenan(www: Path) -> list[dict[str, Any]]:
    """Write the page of Davies and Meenan into www; return its resources as manifest entries."""
    hidden = "\n".join(f'<img src="{path}" alt="">' for path in _HIDDEN)
    html = _template("davies-meenan.html").format(hidden=hidden)
    bodies = {
        "index.html": pad_text(html, "<!--", "-->", 3379),
        "top.js": marked_script("mixedschedTop", 50_034),
        "bottom.js": marked_script("mixedschedBottom", 100_036),
        "hidden.jpg": striped_photo(600, 400, 105_302, seed=1),
        "visible.jpg": striped_photo(600, 450, 104_484, seed=2),
        "background.png": noise_tile(48_631, seed=3),
        "striped.woff2": striped_font(12_052, seed=4),
    }
    for name, body in bodies.items():
        (www / name).write_bytes(body)
    return _davies_meenan_resources(html, {name: len(body) for name, body in bodies.items()})


def _davies_meenan_resources(html: str, sizes: dict[str, int]) -> list[dict[str, Any]]:
    """The resources with what discovers them, in Chromium's request order.

    top.js is not flagged critical: it stands in the body, and only so does the published order of `bucket` come out.
    Chromium hurries the first five hidden images and the written script, and knows of no image on screen before layout.
    The background is above the fold yet not a hero, as in the original.
    """

    def entry(
        path: str, kind: str, flags: list[str], found: dict[str, Any], priority: str | None = None
    ) -> dict[str, Any]:
        file = path.partition("?")[0] or "index.html"
        return _entry((0, f"/{path}"), file, sizes[file], (kind, flags), found, priority)

    after_html = {"found_by": "html", "found_when": "complete"}  # first layout
    after_top = {"found_by": "top.js", "found_when": "complete"}
    return [
        entry("", "document", ["main", "critical"], _NAVIGATION),
        entry("top.js", "script", [], _spelt(html, "top.js")),
        *(entry(path, "image", [], _spelt(html, path), "Medium") for path in _HIDDEN[:EARLY_IMAGES]),
        *(entry(path, "image", [], _spelt(html, path), "Low") for path in _HIDDEN[EARLY_IMAGES:]),
        entry("background.png", "image", ["above_fold"], after_html, "Low"),
        entry("striped.woff2", "font", [], after_html),
        entry("visible.jpg", "image", ["above_fold", "hero"], after_top, "Low"),
        entry("bottom.js", "script", ["late_body", "after_first_image"], after_top, "High"),
    ]


def write_three_hosts(www: Path, hosts: Sequence[str]) -> list[dict[str, Any]]:
    """Write the page on three hosts into www; return its resources as manifest entries.

    hosts: of the page, of static files, of fonts.
    """
    urls = [f"https://{hosts[host]}{path}" if host else path for host, path in _GRID]
    images = "\n".join(f'<img src="{url}" width="600" height="400" alt="">' for url in urls)
    html = _template("three-hosts.html").format(fonts=hosts[_FONTS], static=hosts[_STATIC], images=images)
    bodies = {
        (_OWN, "/"): pad_text(html, "<!--", "-->", 9_000),
        (_FONTS, "/faces.css"): pad_text(_template("three-hosts-faces.css"), "/*", "*/", 900),
        (_STATIC, "/style.css"): pad_text(_template("three-hosts.css"), "/*", "*/", 24_000),
        (_STATIC, "/app.js"): marked_script("threeHostsApp", 60_000),
        (_OWN, "/hero.jpg"): striped_photo(600, 450, 104_484, seed=1),
        **{item: striped_photo(600, 400, 60_000, seed) for seed, item in enumerate(_GRID, start=2)},
        (_STATIC, "/late.js"): marked_script("threeHostsLate", 90_000),
        (_FONTS, "/text.woff2"): striped_font(20_000, seed=3),
        (_FONTS, "/display.woff2"): striped_font(20_000, seed=4),
    }
    entries = []
    for item, body in bodies.items():
        host, path = item
        file = f"{_FOLDERS[host]}{path if path != '/' else '/index.html'}"
        (www / file).parent.mkdir(exist_ok=True)
        (www / file).write_bytes(body)
        priority = None
        if item in _GRID:
            priority = (
                "Medium" if _GRID.index(item) < EARLY_IMAGES - 1 else "Low"
            )  # the hero was the first to be hurried
        kind = _KINDS.get(path, ("image", []))
        entries.append(_entry(item, file, len(body), kind, _found(item, html, hosts), priority))
    return entries


def _found(item: tuple[int, str], html: str, hosts: Sequence[str]) -> dict[str, Any]:
    """The keys that say what finds a resource, and when: the document where it names it, fonts at first layout."""
    host, path = item
    if path == "/":
        return _NAVIGATION
    if path.endswith(".woff2"):
        return {"found_by": "style.css", "found_when": "complete"}
    spellings = [path] if host == _OWN else [f"https://{hosts[host]}{path}", f"//{hosts[host]}{path}"]
    return _spelt(html, next(url for url in spellings if f'"{url}"' in html))


def _spelt(html: str, url: str) -> dict[str, Any]:
    """The keys of a resource that the document names."""
    return {"found_by": "html", "found_when": "bytes", "found_at_bytes": html.index(f'"{url}"') + len(url) + 2}


def _entry(
    item: tuple[int, str],
    file: str,
    size_bytes: int,
    kind: tuple[str, list[str]],
    found: dict[str, Any],
    priority: str | None,
) -> dict[str, Any]:
    """An entry of the manifest. item: host and path. kind: with flags."""
    host, path = item
    return {
        "id": path.lstrip("/") or "html",
        "host": host,
        "path": path,
        "file": file,
        "kind": kind[0],
        "mime": mime_of_file(file),
        "body_bytes": size_bytes,
        "chromium_priority": priority,
        "incremental": None,
        **found,
        "flags": kind[1],
    }


def _template(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text("utf-8")
