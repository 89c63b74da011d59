"""The documentation as a site."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import HOME

pytest.importorskip("sphinx")


@pytest.mark.slow
def test_it_builds_without_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    words = [
        "-q",
        "-W",
        "--keep-going",
        "-d",
        tmp_path / "trees",
        "-c",
        HOME / "docs",
        "-b",
        "html",
        HOME,
        tmp_path / "site",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    commands = (tmp_path / "site/docs/reference/commands.html").read_text()
    assert all(f"mixedsched-{name}" in commands for name in ("compare", "study", "tune")), "made from --help"
    library = (tmp_path / "site/docs/reference/library.html").read_text()
    assert "mixedsched.simulate" in library, "made from docstrings"
    assert (tmp_path / "site/searchindex.js").is_file()
    assert 'role="heading">' not in (tmp_path / "site/docs/view.html").read_text(), "each has a level"
