"""Small pages of several hosts, and how many connections Chromium 156 takes for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixedsched.sites.site import Site
from mixedsched.sites.synth.fonts import striped_font
from mixedsched.sites.synth.pictures import blank_icon
from tests.sites.folders import page, site_of

HOSTS = ["shop.test", "cdn.test", "fonts.test", "img.shop.test"]
PIXEL, FONT = blank_icon(), striped_font(6_000, seed=4)
CDN, FONTS, SISTER = 1, 2, 3  # the last is of the page's own site

Files = dict[tuple[int, str], str | bytes]


@dataclass(frozen=True)
class Case:
    connections: int
    head: str = ""
    body: str = ""
    files: Files = field(default_factory=dict)


def face(host: str) -> str:
    return f'@font-face {{ font-family: F; src: url(https://{host}/f.woff2) format("woff2") }} p {{ font-family: F }}'


IMAGE: Files = {(CDN, "/a.png"): PIXEL}
SCRIPT: Files = {(CDN, "/a.js"): "1"}
FRAME: Files = {(CDN, "/f.html"): "<p>frame<img src=a.png>", **IMAGE}
A_FONT: Files = {(FONTS, "/f.woff2"): FONT}
CDN_FRAME = '<iframe src="https://cdn.test/f.html"></iframe>'
FACE = f"<style>{face('fonts.test')}</style>"

CASES = {
    "one host": Case(1, body='<img src="/a.png">', files={(0, "/a.png"): PIXEL}),
    "image": Case(1, body='<img src="https://cdn.test/a.png">', files=IMAGE),
    "font": Case(2, FACE, files=A_FONT),
    "font of a sister host": Case(2, f"<style>{face('img.shop.test')}</style>", files={(SISTER, "/f.woff2"): FONT}),
    "own font": Case(1, f"<style>{face('shop.test')}</style>", files={(0, "/f.woff2"): FONT}),
    "font and image": Case(2, FACE, '<img src="https://cdn.test/a.png">', {**IMAGE, **A_FONT}),
    "font by a sheet of its host": Case(
        2,
        '<link rel="stylesheet" href="https://fonts.test/f.css">',
        files={(FONTS, "/f.css"): face("fonts.test"), **A_FONT},
    ),
    "preloaded font": Case(
        2, '<link rel="preload" as="font" crossorigin href="https://fonts.test/f.woff2">', files=A_FONT
    ),
    "crossorigin image": Case(2, body='<img crossorigin src="https://cdn.test/a.png">', files=IMAGE),
    "image with credentials": Case(
        1, body='<img crossorigin="use-credentials" src="https://cdn.test/a.png">', files=IMAGE
    ),
    "crossorigin script": Case(
        2, body='<script crossorigin="anonymous" src="https://cdn.test/a.js"></script>', files=SCRIPT
    ),
    "crossorigin style sheet": Case(
        2,
        '<link rel="stylesheet" crossorigin href="https://cdn.test/a.css">',
        files={(CDN, "/a.css"): "p { color: red }"},
    ),
    "module": Case(2, body='<script type="module" src="https://cdn.test/a.js"></script>', files=SCRIPT),
    "mask": Case(2, "<style>p { -webkit-mask-image: url(https://cdn.test/a.png) }</style>", files=IMAGE),
    "background": Case(1, "<style>p { background: url(https://cdn.test/a.png) }</style>", files=IMAGE),
    "frame": Case(2, body=CDN_FRAME, files=FRAME),
    "font and frame": Case(3, FACE, CDN_FRAME, {**FRAME, **A_FONT}),
    "frame of a sister host": Case(
        1, body='<iframe src="https://img.shop.test/f.html"></iframe>', files={(SISTER, "/f.html"): "<p>frame"}
    ),
    "frame with its own font": Case(
        2, body=CDN_FRAME, files={(CDN, "/f.html"): f"<style>{face('cdn.test')}</style><p>x", (CDN, "/f.woff2"): FONT}
    ),
    "frame with a font of elsewhere": Case(
        3, body=CDN_FRAME, files={(CDN, "/f.html"): f"<style>{face('fonts.test')}</style><p>x", **A_FONT}
    ),
    "preconnect": Case(1, '<link rel="preconnect" href="https://cdn.test" crossorigin>'),
    "manifest": Case(
        2, '<link rel="manifest" href="https://cdn.test/m.webmanifest">', files={(CDN, "/m.webmanifest"): "{}"}
    ),
    "own manifest": Case(2, '<link rel="manifest" href="/m.webmanifest">', files={(0, "/m.webmanifest"): "{}"}),
}


def case_site(folder: Path, name: str) -> Site:
    case = CASES[name]
    head = f'<meta charset="utf-8"><link rel="icon" href="data:,"><title>{name}</title>{case.head}'
    files: Files = {(0, "/"): page(head, f"<h1>Connections</h1><p>some words{case.body}"), **case.files}
    kinds: dict[str, dict[str, Any]] = {
        ".png": {"kind": "image"},
        ".js": {"kind": "script"},
        ".woff2": {"kind": "font"},
        ".html": {"kind": "document"},
    }
    entries = {key: entry for key in files for suffix, entry in kinds.items() if key[1].endswith(suffix)}
    return site_of(folder, files, hosts=HOSTS, entries=entries)
