"""The committed study of Gupta & Bartos 2024, drawn again."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

pytestmark = pytest.mark.slow  # draw.py runs in a process of its own

STUDY = Path(__file__).parents[2] / "results" / "gupta2024"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "gupta2024"
    shutil.copytree(STUDY, folder, ignore=shutil.ignore_patterns("figures", "*.md", "__pycache__"))
    return folder


def draw(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, folder / "draw.py"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def claim(folder: Path, key: str) -> str:
    """The word of a claim over the paper's network."""
    line = next(line for line in (folder / "claims.md").read_text().splitlines() if line.startswith(f"| {key} |"))
    found = re.search(r"\*\*(.*?)\*\*", line)
    assert found is not None
    return found.group(1)


def test_figures_claims_and_cells_are_those_of_the_committed_data(copy: Path) -> None:
    done = draw(copy)
    assert done.returncode == 0, done.stderr
    made = [*sorted(copy.glob("figures/*.svg")), copy / "claims.md", copy / "cells.md"]
    assert len(made) == 9
    for path in made:
        is_same = (
            path.read_bytes() == (STUDY / path.relative_to(copy)).read_bytes()
        )  # pytest would show where, at great length
        assert is_same, f"{path.name}: run draw.py"


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


def test_loads_of_different_versions_are_not_told_together(copy: Path) -> None:
    path = copy / "data" / "stack.parquet"
    table = parquet.read_table(path)
    facts = json.loads(table.schema.metadata[b"mixedsched"])
    facts["versions"] = {**facts["versions"], "aioquic": "0.1"}
    parquet.write_table(table.replace_schema_metadata({"mixedsched": json.dumps(facts)}), path)
    done = draw(copy)
    assert done.returncode != 0
    assert "another version" in done.stderr
    assert "Traceback" not in done.stderr
