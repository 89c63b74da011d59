"""How many bytes a page has, for the order of figure 7, and for "small" and "large"."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

SIZES = Path(__file__).parent / "data" / "sizes.json"


def read_sizes() -> dict[str, dict[str, int]]:
    """Bytes of all responses, headers included, by collection of pages and site."""
    found: dict[str, dict[str, int]] = json.loads(SIZES.read_text()) if SIZES.exists() else {}
    return found


_read_once = lru_cache(1)(read_sizes)


def bytes_of(pages: str, site: str) -> int:
    """0 for a site that is not known. Chromium loads the bundled ones."""
    return _read_once().get("bundled" if pages == "chromium" else pages, {}).get(site, 0)
