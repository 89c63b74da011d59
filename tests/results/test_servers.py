"""The committed loads from other people's servers, told again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # table.py runs in a process of its own

RESULTS = Path(__file__).parents[2] / "results" / "servers"


def told(folder: Path) -> str:
    subprocess.run([sys.executable, folder / "table.py"], check=True, timeout=120)
    return (folder / "README.md").read_text()


def test_the_page_is_that_of_the_committed_loads(tmp_path: Path) -> None:
    folder = shutil.copytree(RESULTS, tmp_path / "servers")
    (tmp_path / "tuned").symlink_to(RESULTS.parent / "tuned")
    assert told(folder) == (RESULTS / "README.md").read_text(), "run table.py"


def test_without_loads_of_chromium_the_page_says_so(tmp_path: Path) -> None:
    folder = shutil.copytree(RESULTS, tmp_path / "servers", ignore=shutil.ignore_patterns("browser.parquet"))
    assert "Not played yet." in told(folder)
