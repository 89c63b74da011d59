"""What static analysis says of a page with everything that is easily read wrongly, held against a load in Chromium."""

from __future__ import annotations

import asyncio

import pytest

from mixedsched.lab.fidelity import Fidelity, check_site
from mixedsched.sites.opening import load_site
from mixedsched.sites.synth.pictures import png
from tests.sites.folders import page, write_files

pytestmark = pytest.mark.usefixtures("chromium")

IMAGES = (
    *("lazy.webp", "eager.png", "one.png", "four.png", "300.png", "600.png", "1200.png", "inner.png", "printed.png"),
    *("of-print.png", "shown.png", "a b.png", "\u00fc.png", "source.png", "half.png", "few.png", "valid.png", "no.png"),
)
HEAD = """
<link rel=preload as=video href=never.mp4><link rel=preload href=never.bin><link rel=preload as=document href=never.html>
<link rel=stylesheet href=a.css><link rel=stylesheet media=print href=print.css>
"""
BODY = """
<p class=a>text</p>
<picture><source type=image/webp data-srcset=lazy.webp><img src=eager.png></picture>
<picture><img src=source.png><source srcset=four.png></picture>
<img src=one.png srcset="half.png 0.5x"><img src=300.png srcset="600.png 600w, 1200.png 1200w">
<img src=few.png srcset="four.png 4x"><img src=valid.png srcset="no.png 0w, no.png 1x 2x, no.png -1x">
<iframe srcdoc="<p><img src=inner.png>" src=never.html></iframe>
<img src="a b.png"><img src=\u00fc.png>
<video preload=none><track src=never.vtt></video>
"""
FILES = {
    "index.html": page(f"<meta charset=utf-8>{HEAD}", BODY),
    "a.css": """@charset "utf-8"; @layer x; @import "first.css"; @import url(forprint.css) print;
        @media print { .a { background: url(printed.png) } }
        .a { background: url(shown.png) }
        @import "late.css";""",
    "print.css": "@import 'ofprint.css'; .a { background: url(of-print.png) }",
    **dict.fromkeys(("first.css", "forprint.css", "ofprint.css", "late.css"), ".b { color: red }"),
    **dict.fromkeys(("never.mp4", "never.bin", "never.html", "never.vtt"), "never"),
    **{name: png(400, None, seed) for seed, name in enumerate(IMAGES)},
}


@pytest.fixture(scope="module")
def fidelity(tmp_path_factory: pytest.TempPathFactory) -> Fidelity:
    site = load_site(write_files(tmp_path_factory.mktemp("site") / "shop", FILES))
    return asyncio.run(check_site(site))


def test_chromium_asks_for_just_what_is_read_from_the_texts(fidelity: Fidelity) -> None:
    told = {(one.what, one.id) for one in fidelity.findings if one.what in {"request", "status", "extra", "kind"}}
    assert told - {("extra", "https://shop.test/favicon.ico")} == set()


def test_sheets_for_printers_come_last_of_all(fidelity: Fidelity) -> None:
    assert [one for one in fidelity.findings if one.what == "priority" and one.id.endswith(".css")] == []
