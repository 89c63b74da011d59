"""A site that every browser loads in a moment: a document, a style sheet and a script."""

from pathlib import Path


def write_small_site(folder: Path) -> Path:
    folder.mkdir()
    (folder / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>small</title><link rel="icon" href="data:,">'
        '<link rel="stylesheet" href="a.css"><script src="a.js" defer></script><h1>A small page</h1>'
    )
    (folder / "a.css").write_text("h1 { color: darkgreen; font-size: 60px }")
    (folder / "a.js").write_text("document.title = 'loaded'")
    return folder
