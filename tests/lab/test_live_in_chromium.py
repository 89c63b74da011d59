"""A running application compared live, in Chromium."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from mixedsched.lab.experiment import read_experiment
from mixedsched.lab.model import RunStatus
from tests.command import MIXEDSCHED
from tests.live_app import live_app
from tests.patience import patiently

pytestmark = pytest.mark.usefixtures("chromium")


def test_an_application_is_compared_live_with_what_it_does_not_repeat(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    # One of the documents that browsers get, after that of the check and two of the warm-up.
    with live_app(breaks=frozenset({4})) as app:
        words = ["compare", app.url, "--live", "--schemes", "sequential,eps", "--link", "fiber", "--blocks", "1"]
        words += ["--metrics", "lcp,fcp", "--out", str(folder), "--json"]

        def compared() -> subprocess.CompletedProcess[str]:
            return subprocess.run([*MIXEDSCHED, *words], capture_output=True, text=True, check=False, timeout=300)

        done = patiently(compared, lambda result: result.returncode == 0)
        asked = app.documents
        again = compared()
    assert again.returncode == 0, again.stderr
    assert app.documents == asked + 1, "what is stored is not loaded again: only the address is checked"
    assert set(app.hosts) == {f"localhost:{app.port}"}
    found = json.loads(done.stdout)
    live = found["live"]
    assert live["application"] == f"http://localhost:{app.port}"
    told = {(item["what"], item["address"]): item for item in live["changing"]}
    assert told["address", "/a.js?visit=*"]["values"] == live["loads"] >= 4
    assert ("size", "/feed.json") in told
    assert not [address for _, address in told if address in {"/a.css", "/events"}]
    assert [item["origin"] for item in live["elsewhere"]] == [f"http://localhost:{app.port}", "https://cdn.example.org"]
    assert set(live["application_ms"]) == {"sequential", "eps"}
    experiment = read_experiment(folder)
    voided = [run.reason for run in experiment.runs if run.reason.startswith("application:")]
    assert len(voided) == 1
    assert "GET /a.css" in voided[0]
    good = [run for run in experiment.runs if run.status is RunStatus.OK]
    assert {connection.host for run in good for connection in run.quic} == {"localhost"}
    assert {path.name for path in folder.iterdir()} == {
        "lock",
        "report.html",
        "results.sqlite",
        "summary.json",
        "underway.json",
    }, "journals of edges go with these"
    assert "/a.js?visit=*" in (folder / "report.html").read_text()
