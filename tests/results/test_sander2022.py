"""The committed study of Sander et al. 2022, drawn again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.results.drawing import copied, draw

pytestmark = pytest.mark.slow  # draw.py runs in a process of its own


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return copied("sander2022", tmp_path)


def test_missing_studies_are_drawn_as_missing(copy: Path) -> None:
    for path in copy.glob("data/*-bursts.parquet"):
        path.unlink()
    assert draw(copy).returncode == 0
    assert "no loads yet" in (copy / "figures" / "figure-9-bundled.svg").read_text()
    claims = (copy / "claims.md").read_text().splitlines()
    assert "**not decidable here**" in next(line for line in claims if line.startswith("| F9-1"))
