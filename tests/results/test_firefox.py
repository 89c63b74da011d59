"""The committed loads of two browsers, told again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # table.py runs in a process of its own

RESULTS = Path(__file__).parents[2] / "results" / "firefox"


def test_the_page_is_that_of_the_committed_loads(tmp_path: Path) -> None:
    folder = shutil.copytree(RESULTS, tmp_path / "firefox")
    subprocess.run([sys.executable, folder / "table.py"], check=True, timeout=120)
    assert (folder / "README.md").read_text() == (RESULTS / "README.md").read_text(), "run table.py"
