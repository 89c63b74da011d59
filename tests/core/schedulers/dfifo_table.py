"""The urgencies of dfifo, kind by kind."""

from __future__ import annotations

HIGHEST, HIGH, NORMAL, LOW, LOWEST = (f"level {level}" for level in range(5))
DFIFO = {
    "main html": HIGHEST,
    "other html": HIGHEST,
    "css, head": HIGHEST,
    "css, critical": HIGHEST,
    "css, elsewhere": HIGHEST,
    "js, head": HIGH,
    "js, head, after first image": NORMAL,
    "js, body": HIGH,
    "js, body, critical": HIGH,
    "js, after first image": NORMAL,
    "js, after first image, critical": NORMAL,
    "js, delayed, head": LOW,
    "js, delayed, body": LOW,
    "font": HIGHEST,
    "font, preloaded": HIGHEST,
    "xhr": HIGH,
    "svg": HIGH,
    "svg, seen": HIGH,
    "image, seen": LOW,
    "image, other": LOW,
    "video": LOWEST,
    "rest": LOWEST,
}
