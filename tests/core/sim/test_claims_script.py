"""The script behind docs/marx2019.md: it runs on any folder of pages, and its tables hold what their heads say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mixedsched.model.page import PAGE_FORMAT
from tests.core.sim.pages import resource

pytestmark = pytest.mark.slow  # the script runs in a process of its own

SCRIPT = Path(__file__).parents[3] / "results" / "marx2019" / "claims.py"
SCHEMES = ["wrr", "fifo", "dfifo", "firefox", "p+", "s+", "spdyrr", "bucket", "bucket-html", "zeroweight"]


def write_page(folder: Path, name: str, image_bytes: int) -> None:
    """Each of the document's three packets makes one more known: a style sheet, a large image, and the one that counts."""
    resources = [
        resource("html", 4_000, kind="document", flags=["main", "critical"]),
        resource("style", 7_000, "html@500", "stylesheet", flags=["in_head", "critical"]),
        resource("hidden", image_bytes, "html@1500"),
        resource("hero", 14_000, "html@3000", flags=["above_fold", "hero"]),
    ]
    text = json.dumps({"format": PAGE_FORMAT, "name": name, "resources": resources})
    (folder / f"{name}.json").write_text(text, encoding="utf-8")


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)


def read_tables(text: str) -> dict[str, list[list[str]]]:
    """The first table below each heading: its rows, heads included, as cells."""
    tables: dict[str, list[list[str]]] = {}
    for part in text.split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        lines = [line for line in body.splitlines() if line.startswith("|")]
        tables[title] = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]
    return tables


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[str]]]:
    folder = tmp_path_factory.mktemp("pages")
    write_page(folder, "one", 140_000)
    write_page(folder, "two", 280_000)
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 pages of 4 to 4 resources and 165 to 305 kB.")
    return read_tables(done.stdout)


def test_every_row_has_as_many_cells_as_heads(tables: dict[str, list[list[str]]]) -> None:
    assert len(tables) == 8
    for title, (heads, *rows) in tables.items():
        assert rows, title
        assert {len(row) for row in rows} == {len(heads)}, title


def test_means_stand_beside_the_published_ones_scheme_by_scheme(tables: dict[str, list[list[str]]]) -> None:
    heads, *rows = tables["Mean speed-up over rr, beside Table 2"]
    assert [row[0].strip("`") for row in rows] == SCHEMES
    published = [place for place, head in enumerate(heads) if head == "paper"]
    assert [rows[-1][place] for place in published] == ["1.15", "2.80", "1.90"]


def test_nothing_overtakes_in_a_buffer_larger_than_the_page(tables: dict[str, list[list[str]]]) -> None:
    _, *rows = tables["Send buffers"]
    without, largest = ([float(row[place]) for row in rows] for place in (1, 4))
    by_scheme = dict(zip(["rr", *SCHEMES], without, strict=True))
    assert by_scheme["bucket-html"] > 1.5  # the hero overtakes the hidden image
    assert set(largest) == {1.0}


def test_points_slower_than_rr_are_counted(tables: dict[str, list[list[str]]]) -> None:
    _, *rows = tables["Slower than rr, and the extremes"]
    slower = {row[0].strip("`"): int(row[1]) for row in rows}
    assert slower["bucket-html"] == 0
    assert slower["fifo"] == 2  # the hero waits for all of the hidden image


def test_a_folder_without_pages_is_refused_as_bad_input(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 3
    assert "holds no page" in done.stderr
