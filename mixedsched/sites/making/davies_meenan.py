"""The test page of Davies and Meenan, generated: same structure and sizes on the wire, contents of our own.

Source: the page `http2priorities` (2018) as described by Marx et al. 2019, where it is `syntheticmeenan`. Nothing travels
compressed there, so nothing does here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mixedsched.sites.documents.html import EARLY_IMAGES
from mixedsched.sites.site.wire import mime_of_file
from mixedsched.sites.synth.fonts import striped_font
from mixedsched.sites.synth.pictures import noise_tile, striped_photo
from mixedsched.sites.synth.texts import marked_script, pad_text

HIDDEN_IMAGES = 30
HTML_BYTES = 3379
TOP_SCRIPT_BYTES = 50034
BOTTOM_SCRIPT_BYTES = 100036
HIDDEN_BYTES = 105302
VISIBLE_BYTES = 104484
BACKGROUND_BYTES = 48631
FONT_BYTES = 12052

_STYLE = """
@font-face{font-family:Striped;src:url(striped.woff2) format("woff2");font-display:block}
body{margin:0;padding:24px;background:#eef url(background.png);font:18px/1.4 sans-serif;color:#123}
h1{font:56px/1.1 Striped,serif;margin:0 0 16px}
main{max-width:640px;margin:auto;background:#fff;padding:24px}
#visible{display:block;width:100%;max-width:600px;height:auto;background:#cde}
.spacer{height:4000px}
"""
_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Davies and Meenan: who goes first?</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>Who goes first?</h1>
<p>A blocking script, a font and one image make this screen; thirty images below do not.</p>
<script src="top.js"></script>
<img id="visible" width="600" height="450" alt="The image that matters">
<script>document.getElementById("visible").src="visible.jpg"</script>
<div class="spacer"></div>
{hidden}
</main>
<script>document.write('<script src="bottom.js"><\\/script>')</script>
</body>
</html>
"""


def write_davies_meenan(www: Path) -> list[dict[str, Any]]:
    """Write the page's files into www; return its resources as manifest entries. The same bytes on every run."""
    hidden = "\n".join(f'<img src="hidden.jpg?{number}" alt="">' for number in range(1, HIDDEN_IMAGES + 1))
    html = _TEMPLATE.format(style=_STYLE, hidden=hidden)
    files = {
        "index.html": pad_text(html, "<!--", "-->", HTML_BYTES),
        "top.js": marked_script("mixedschedTop", TOP_SCRIPT_BYTES),
        "bottom.js": marked_script("mixedschedBottom", BOTTOM_SCRIPT_BYTES),
        "hidden.jpg": striped_photo(600, 400, HIDDEN_BYTES, seed=1),
        "visible.jpg": striped_photo(600, 450, VISIBLE_BYTES, seed=2),
        "background.png": noise_tile(BACKGROUND_BYTES, seed=3),
        "striped.woff2": striped_font(FONT_BYTES, seed=4),
    }
    for name, body in files.items():
        (www / name).write_bytes(body)
    return _resources(html, {name: len(body) for name, body in files.items()})


def _resources(html: str, sizes: dict[str, int]) -> list[dict[str, Any]]:
    """The resources with what discovers them, in Chromium's request order.

    top.js is not flagged critical: it stands in the body, and only so does the published order of `bucket` come out.
    Chromium hurries the first five hidden images and the written script, and knows of no image on screen before layout.
    The background is above the fold yet no hero, as in the original.
    """

    def entry(path: str, kind: str, flags: list[str], priority: str | None = None, **found: Any) -> dict[str, Any]:
        file = path.partition("?")[0] or "index.html"
        return {
            "id": path or "html",
            "host": 0,
            "path": f"/{path}",
            "file": file,
            "kind": kind,
            "mime": mime_of_file(file),
            "body_bytes": sizes[file],
            "chromium_priority": priority,
            "incremental": None,
            "found_by": None,
            "found_when": "start",
            **found,
            "flags": flags,
        }

    def seen(path: str) -> dict[str, Any]:
        return {"found_by": "html", "found_when": "bytes", "found_at_bytes": html.index(f'"{path}"') + len(path) + 2}

    after_html = {"found_by": "html", "found_when": "complete"}  # first layout
    after_top = {"found_by": "top.js", "found_when": "complete"}
    hidden = [f"hidden.jpg?{number}" for number in range(1, HIDDEN_IMAGES + 1)]
    return [
        entry("", "document", ["main", "critical"]),
        entry("top.js", "script", [], **seen("top.js")),
        *(entry(path, "image", [], "Medium", **seen(path)) for path in hidden[:EARLY_IMAGES]),
        *(entry(path, "image", [], "Low", **seen(path)) for path in hidden[EARLY_IMAGES:]),
        entry("background.png", "image", ["above_fold"], "Low", **after_html),
        entry("striped.woff2", "font", [], **after_html),
        entry("visible.jpg", "image", ["above_fold", "hero"], "Low", **after_top),
        entry("bottom.js", "script", ["late_body", "after_first_image"], "High", **after_top),
    ]
