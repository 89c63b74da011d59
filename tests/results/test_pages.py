"""Pages below results/ that are made of committed loads, made again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # table.py runs in a process of its own

RESULTS = Path(__file__).parents[2] / "results"


def told(folder: Path) -> str:
    subprocess.run([sys.executable, folder / "table.py"], check=True, timeout=120)
    return (folder / "README.md").read_text(encoding="utf-8")


def copied(name: str, place: Path, without: str = "") -> Path:
    """A folder of results, beside which the others are as well."""
    for other in RESULTS.iterdir():
        if other.is_dir() and other.name != name:
            (place / other.name).symlink_to(other)
    return Path(shutil.copytree(RESULTS / name, place / name, ignore=shutil.ignore_patterns(without)))


@pytest.mark.parametrize("name", ["adaptive", "edge", "firefox", "servers"])
def test_the_page_is_that_of_the_committed_loads(name: str, tmp_path: Path) -> None:
    page = (RESULTS / name / "README.md").read_text(encoding="utf-8")
    assert told(copied(name, tmp_path)) == page, "run table.py"


def test_without_loads_of_chromium_the_page_about_servers_says_so(tmp_path: Path) -> None:
    assert "Not played yet." in told(copied("servers", tmp_path, without="browser.parquet"))
