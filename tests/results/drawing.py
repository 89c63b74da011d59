"""Committed studies of papers, drawn again in copies of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "results"


def copied(name: str, folder: Path) -> Path:
    """Without what is drawn."""
    return shutil.copytree(
        RESULTS / name, folder / name, ignore=shutil.ignore_patterns("figures", "*.md", "__pycache__")
    )


def draw(study: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, study / "draw.py"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
