"""The committed studies of papers, drawn again: what they show is what their loads say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.results.drawing import RESULTS, copied, draw

pytestmark = pytest.mark.slow  # draw.py runs in a process of its own


@pytest.mark.parametrize(("name", "table"), [("gupta2024", "cells.md"), ("sander2022", "counts.md")])
def test_figures_claims_and_tables_are_those_of_the_committed_data(tmp_path: Path, name: str, table: str) -> None:
    copy = copied(name, tmp_path)
    done = draw(copy)
    assert done.returncode == 0, done.stderr
    made, committed = ({path.name for path in study.glob("figures/*.svg")} for study in (copy, RESULTS / name))
    assert made == committed != set()
    files = [*sorted(copy.glob("figures/*.svg")), copy / "claims.md", copy / table]
    differing = [
        path.name for path in files if path.read_bytes() != (RESULTS / path.relative_to(tmp_path)).read_bytes()
    ]
    assert differing == [], "run draw.py"


@pytest.mark.parametrize(("name", "file"), [("gupta2024", "stack"), ("sander2022", "bundled-loss")])
def test_loads_of_different_versions_are_not_told_together(tmp_path: Path, name: str, file: str) -> None:
    copy = copied(name, tmp_path)
    path = copy / "data" / f"{file}.parquet"
    table = parquet.read_table(path)
    facts = json.loads(table.schema.metadata[b"mixedsched"])
    facts["versions"] = {**facts["versions"], "aioquic": "0.1"}
    facts["earlier_versions"] = []  # none that played loads of the other files, too
    parquet.write_table(table.replace_schema_metadata({"mixedsched": json.dumps(facts)}), path)
    done = draw(copy)
    assert done.returncode != 0
    assert "another version" in done.stderr
    assert "Traceback" not in done.stderr
