"""A running application compared live, in Chromium."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.changes.page_change import make_edition
from mixedsched.lab.bench import Bench, Design, ServedArm, unobserved
from mixedsched.lab.experiment import read_experiment
from mixedsched.lab.model import Arm, Run, RunStatus
from mixedsched.lab.results import ExperimentFacts, open_store
from mixedsched.sites.application import LiveOptions, open_watched
from mixedsched.sites.site import site_digest
from mixedsched.world import catalog, places
from tests.command import run
from tests.live_app import live_app

pytestmark = pytest.mark.usefixtures("chromium")


@pytest.mark.usefixtures("unhurried")
def test_an_application_is_compared_live_with_what_it_does_not_repeat(tmp_path: Path) -> None:
    folder, rules = tmp_path / "results", tmp_path / "rules.txt"
    rules.write_text("/a.css u=6, i=?0\n")
    # One of the documents that browsers get, after that of the check and two of the warm-up.
    with live_app(breaks=frozenset({4})) as app:
        words = (app.url, "--live", "--schemes", "eps", "--rules", rules, "--link", "fiber", "--blocks", "1")
        compared = partial(run, "compare", *words, "--metrics", "lcp,fcp", "--out", folder, "--json")
        done = compared()
        asked = app.documents
        again = compared()
    assert (done.exit_code, again.exit_code) == (0, 0), done.stderr + again.stderr
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
    assert set(live["application_ms"]) == {"eps", "eps (rules)"}
    experiment = read_experiment(folder)
    voided = [load.reason for load in experiment.runs if load.reason.startswith("application:")]
    assert len(voided) == 1
    assert "GET /a.css" in voided[0]
    good = [load for load in experiment.runs if load.status is RunStatus.OK]
    assert {connection.host for load in good for connection in load.quic} == {"localhost"}
    signals = {
        (load.arm, item["effective_signal"]) for load in good for item in load.placements if item["path"] == "/a.css"
    }
    assert {arm for arm, signal in signals if signal == "u=6"} == {"eps (rules)"}
    assert len(signals) == 2, signals
    assert {path.name for path in folder.iterdir()} == {
        "lock",
        "report.html",
        "results.sqlite",
        "summary.json",
        "underway.json",
    }, "journals of edges go with these"
    assert "/a.js?visit=*" in (folder / "report.html").read_text()


@pytest.mark.usefixtures("unhurried")
def test_what_audits_and_tunings_measure_of_a_live_page_comes_from_the_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(places.CACHE_VARIABLE, str(tmp_path / "cache"))
    said: list[str] = []
    with live_app() as app:
        site = open_watched(app.url, LiveOptions(), said.append)
        assert [item.path.partition("?")[0] for item in site.page.resources] == ["/", "/a.css", "/a.js", "/feed.json"]
        assert site.url == "https://localhost/", "nothing of other hosts is known, as nothing of them came"
        asked = app.documents
        assert open_watched(app.url, LiveOptions(), said.append).page == site.page
        assert app.documents == asked + 1, "it is watched once: then only the address is checked"
        assert "simulated as it was on" in said[-1]

        digest = site_digest(site)
        change = Change(Action.HEADER, ((0, "/a.css"),), "why not", "u=6, i=?0")
        edition = make_edition(site, digest, [change], tmp_path)
        arms = (
            ServedArm(Arm("today", "eps"), site, digest),
            ServedArm(Arm("changed", "eps"), edition.site, edition.digest),
        )
        design = Design(arms, ("lcp_ms",), "mobile", seed=1, metrics=("fcp_ms", "lcp_ms"))

        async def looked() -> dict[str, Run]:
            with open_store(tmp_path) as store:
                async with Bench(design, store, tmp_path, ExperimentFacts(), unobserved) as bench:
                    return await bench.look(catalog.load_profile("fiber"))

        runs = asyncio.run(looked())
    signals = {
        label: item["effective_signal"]
        for label, load in runs.items()
        for item in load.placements
        if item["path"] == "/a.css"
    }
    assert signals["changed"] == "u=6"
    assert signals["today"] != "u=6"
