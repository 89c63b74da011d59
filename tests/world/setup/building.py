"""The wheel as everybody builds it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]


def build(target: str, source: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built
