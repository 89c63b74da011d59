"""The files that a search wrote for servers, as the report shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SHOWN_BYTES_MOST = 24_000  # a longer file is named, and cut


@dataclass(frozen=True, slots=True)
class Shipped:
    """A file below the folder of results. text: None if it is no text, or could not be read. is_cut: there is more of it."""

    name: str
    text: str | None
    is_cut: bool = False


def read_shipped(folder: Path, names: Sequence[str]) -> tuple[Shipped, ...]:
    """Read them, in this order. A name that leads out of the folder is left unread."""
    return tuple(_read(folder, name) for name in names)


def _read(folder: Path, name: str) -> Shipped:
    file = folder / name
    try:
        if not file.resolve().is_relative_to(folder.resolve()):
            return Shipped(name, None)
        with file.open("rb") as opened:
            content = opened.read(SHOWN_BYTES_MOST + 1)
        text = content[:SHOWN_BYTES_MOST].decode("utf-8", "strict" if len(content) <= SHOWN_BYTES_MOST else "ignore")
    except (OSError, ValueError):
        return Shipped(name, None)
    return Shipped(name, text if "\0" not in text else None, len(content) > SHOWN_BYTES_MOST)
