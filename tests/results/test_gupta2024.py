"""The committed study of Gupta & Bartos 2024, drawn again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.results.drawing import RESULTS, copied, draw

pytestmark = pytest.mark.slow  # draw.py runs in a process of its own

STUDY = RESULTS / "gupta2024"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return copied("gupta2024", tmp_path)


def claim(folder: Path, key: str) -> str:
    """The word of a claim over the paper's network."""
    line = next(line for line in (folder / "claims.md").read_text().splitlines() if line.startswith(f"| {key} |"))
    found = re.search(r"\*\*(.*?)\*\*", line)
    assert found is not None
    return found.group(1)


def test_every_cell_has_ours_with_an_interval_or_a_reason() -> None:
    rows = [
        line for line in (STUDY / "cells.md").read_text().splitlines() if re.match(r"\| (FCP|LCP|TTI|TBT|Speed) ", line)
    ]
    assert len(rows) >= 3 * 2 * 5 * 12, "three figures, two networks at least, five metrics, twelve sites"
    for row in rows:
        for cell in row.strip("| ").split(" | ")[3:]:
            assert re.search(r"\(.* to .*\)|only a browser|no loads yet|asked over|sometimes 0|\+0.0 %", cell), row


def test_without_loads_of_chromium_stack_decides_and_says_that_it_guesses(copy: Path) -> None:
    for path in (*copy.glob("data/browser*.parquet"), copy / "data" / "work.parquet"):
        path.unlink()
    assert draw(copy).returncode == 0
    assert claim(copy, "4-FCP").startswith("does not hold so far (first guess); its sites are stand-ins")
    assert claim(copy, "4-TTI") == "not decidable here"


def test_without_any_loads_nothing_is_decided(copy: Path) -> None:
    for path in copy.glob("data/*.parquet"):
        path.unlink()
    done = draw(copy)
    assert done.returncode == 0, done.stderr
    assert "Complete blocks so far: none" in (copy / "claims.md").read_text()
