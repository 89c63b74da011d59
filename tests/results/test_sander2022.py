"""The committed study of Sander et al. 2022, drawn again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

pytestmark = pytest.mark.slow  # draw.py runs in a process of its own

STUDY = Path(__file__).parents[2] / "results" / "sander2022"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "sander2022"
    shutil.copytree(STUDY, folder, ignore=shutil.ignore_patterns("figures", "*.md", "__pycache__"))
    return folder


def draw(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, folder / "draw.py"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_figures_claims_and_counts_are_those_of_the_committed_data(copy: Path) -> None:
    done = draw(copy)
    assert done.returncode == 0, done.stderr
    made = [*sorted(copy.glob("figures/*.svg")), copy / "claims.md", copy / "counts.md"]
    assert len(made) >= 7
    for path in made:
        is_same = (
            path.read_bytes() == (STUDY / path.relative_to(copy)).read_bytes()
        )  # pytest would show where, at great length
        assert is_same, f"{path.name}: run draw.py"


def test_missing_studies_are_drawn_as_missing(copy: Path) -> None:
    for path in copy.glob("data/*-bursts.parquet"):
        path.unlink()
    assert draw(copy).returncode == 0
    assert "no loads yet" in (copy / "figures" / "figure-9-bundled.svg").read_text()
    claims = (copy / "claims.md").read_text().splitlines()
    assert "**not decidable here**" in next(line for line in claims if line.startswith("| F9-1"))


def test_loads_of_different_versions_are_not_told_together(copy: Path) -> None:
    path = copy / "data" / "bundled-loss.parquet"
    table = parquet.read_table(path)
    facts = json.loads(table.schema.metadata[b"mixedsched"])
    facts["versions"] = {**facts["versions"], "aioquic": "0.1"}
    facts["earlier_versions"] = []  # none that played loads of the other files, too
    parquet.write_table(table.replace_schema_metadata({"mixedsched": json.dumps(facts)}), path)
    done = draw(copy)
    assert done.returncode != 0
    assert "another version" in done.stderr
    assert "Traceback" not in done.stderr
