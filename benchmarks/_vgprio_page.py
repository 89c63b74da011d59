"""Table and picture of VGPrio against `tune`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_pages(places: Sequence[dict[str, Any]], folder: Path) -> None:
    pass
