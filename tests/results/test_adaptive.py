"""The committed loads by learned orders, told again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # table.py runs in a process of its own

RESULTS = Path(__file__).parents[2] / "results" / "adaptive"


def told(folder: Path) -> str:
    (folder.parent / "finder").symlink_to(RESULTS.parent / "finder")
    subprocess.run([sys.executable, folder / "table.py"], check=True, timeout=120)
    return (folder / "README.md").read_text()


def test_the_page_is_that_of_the_committed_loads(tmp_path: Path) -> None:
    folder = shutil.copytree(RESULTS, tmp_path / "adaptive")
    assert told(folder) == (RESULTS / "README.md").read_text(), "run table.py"


def test_without_loads_of_chromium_the_page_says_so(tmp_path: Path) -> None:
    folder = shutil.copytree(RESULTS, tmp_path / "adaptive", ignore=shutil.ignore_patterns("browser.parquet"))
    assert "Not measured yet." in told(folder)
