"""`simulate --qlog`: a trace for each load of rung `stack`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from mixedsched.model.page import PAGE_FORMAT
from tests.command import run
from tests.core.h3.traces import read_file, scheduled_bytes

STACK = ("--link", "cable", "--json")


def resource(name: str, **more: object) -> dict[str, object]:
    return {"id": name, "path": f"/{name}", "kind": "image", "body_bytes": 20_000, "found_by": "html"} | more


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Three responses."""
    html = resource("html", kind="document", found_by=None, found_when="start")
    others = [resource(name, found_when="complete") for name in ("a", "b")]
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"format": PAGE_FORMAT, "name": "my page", "resources": [html, *others]}))
    return path


simulate = partial(run, "simulate")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_load_has_a_trace_named_after_page_and_scheme(page: Path, tmp_path: Path, jobs: str) -> None:
    folder = tmp_path / "new" / "traces"
    ended = simulate(page, "--scheme", "eps,ip:alpha=0.5", *STACK, "--jobs", jobs, "--qlog", folder)
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert sorted(path.name for path in folder.iterdir()) == ["my_page--eps.sqlog", "my_page--ip_alpha=0.5.sqlog"]
    assert all(len(scheduled_bytes(read_file(path))) == 3 for path in folder.iterdir())


def test_loads_that_would_share_a_trace_are_refused(page: Path, tmp_path: Path) -> None:
    (tmp_path / "again.json").write_bytes(page.read_bytes())
    ended = simulate(page, tmp_path / "again.json", "--scheme", "eps", *STACK, "--qlog", tmp_path / "traces")
    assert ended.exit_code == 2
    assert "would share a trace" in ended.stderr
    assert not (tmp_path / "traces").exists()


def test_a_folder_that_cannot_be_written_is_refused(page: Path) -> None:
    ended = simulate(page, "--scheme", "eps", *STACK, "--qlog", page / "traces")
    assert ended.exit_code == 2
    assert "cannot write traces" in ended.stderr


def test_rung_pipe_has_no_packets_to_trace(page: Path, tmp_path: Path) -> None:
    ended = simulate(page, "--scheme", "eps", "--qlog", tmp_path / "traces")
    assert ended.exit_code == 2
    assert "--qlog belongs to rung stack" in ended.stderr
