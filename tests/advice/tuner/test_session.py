"""Sessions: simulated ones in this process, stopped and gone on with; and a whole one of a small site in real Chromium."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from mixedsched.advice.tuner._looks import view_of_manifest
from mixedsched.advice.tuner._search import SearchResult
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.job import Shares, Subject, TuneSurroundings
from mixedsched.advice.tuner.objective import BASELINES
from mixedsched.advice.tuner.result import Outcome, Role, RungResult, Scored
from mixedsched.advice.tuner.session import TuneSession
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.results import open_store
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.report.tune import render_tuning, write_tuning
from mixedsched.sites.opening import load_site
from mixedsched.sites.site import site_digest
from mixedsched.world import catalog
from tests.advice.replaying import Replaying
from tests.advice.tuner.sessions import PAGE, Stopped, job_of, tuned
from tests.lab.scripted import Watching
from tests.patience import patiently, why_void


def test_a_hero_behind_others_is_found_and_what_remains_with_headers_is_told(tmp_path: Path) -> None:
    found = tuned(job_of(tmp_path))
    assert (found.outcome, found.shipped) == (Outcome.SIMULATED, True)
    assert found.winner is not None
    (network,) = found.networks
    best = found.baselines[found.best_baseline].by_network["slow-4g"]
    assert network.bound.lcp_ms <= found.winner.by_network["slow-4g"].lcp_ms < best.lcp_ms
    assert "hero" in [name for rule in found.headers for name in rule.covers]
    assert found.kept_pct[Role.HEADERS]["slow-4g"] > 90  # one file to hurry, which headers can say
    assert "above the earliest that this network allows" in found.reason
    assert len(network.simulated) == 2
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.slow
def test_a_session_that_is_stopped_tells_the_best_so_far_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole = tuned(job_of(tmp_path / "whole"))
    stopped_early = tuned(job_of(tmp_path), Stopped(0))
    assert (stopped_early.outcome, stopped_early.winner) == (Outcome.INTERRUPTED, None)
    write_tuning(stopped_early, tmp_path / "tune.html")
    assert render_tuning(stopped_early) is not None
    outcomes = [tuned(job_of(tmp_path), Stopped(calls)).outcome for calls in (3, 5, 7)]
    assert outcomes[0] is Outcome.INTERRUPTED
    again = tuned(job_of(tmp_path))
    assert again.to_dict() == {**whole.to_dict(), "rungs": again.to_dict()["rungs"]}
    assert [rung.tried for rung in again.rungs] == [rung.tried for rung in whole.rungs]


def test_what_an_earlier_start_has_chosen_to_ship_stays_although_there_is_no_time_to_try_it_again(
    tmp_path: Path,
) -> None:
    first = tuned(job_of(tmp_path))
    again = tuned(job_of(tmp_path), spent_s=700.0)
    assert first.headers
    assert (again.headers, again.html, again.kept_pct) == (first.headers, first.html, first.kept_pct)


@pytest.mark.parametrize("resources", [1, 3], ids=["one resource", "no hero"])
def test_pages_that_leave_nothing_to_gain_say_so(resources: int, tmp_path: Path) -> None:
    page = Page(format=PAGE_FORMAT, name="plain", resources=PAGE.resources[:resources])
    found = tuned(job_of(tmp_path, subject=Subject("plain", "plain", page, None, "d")))
    assert (found.outcome, found.winner, found.shipped) == (Outcome.NOTHING_TO_GAIN, None, False)
    assert "No order can be better than" in found.reason
    assert "no images" in found.notes[0] if resources == 1 else "waits for no image" in found.notes[0]
    assert any("`mixedsched audit`" in note for note in found.notes)


def test_several_networks_are_tuned_for_together(tmp_path: Path) -> None:
    networks = (catalog.load_profile("slow-4g"), catalog.load_profile("4g"))
    found = tuned(job_of(tmp_path, networks=networks))
    assert [item.name for item in found.networks] == ["slow-4g", "4g"]
    assert found.winner is not None
    assert list(found.winner.by_network) == ["slow-4g", "4g"]
    assert all(item.bound.lcp_ms <= found.winner.by_network[item.name].lcp_ms for item in found.networks)


def test_ctrl_c_in_a_search_that_was_continued_tells_the_best_that_it_had_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paints = {"slow-4g": PaintEstimate(900.0, 1200.0, 1000.0)}
    eps, nip = (Scored(item, score, 0.0, paints) for item, score in ((BASELINES["eps"], 0.0), (Candidate("nip"), -0.2)))
    nothing_yet = SearchResult((RungResult("stack", 8, 8, 1.0, None),), (), {"eps": eps}, "eps")
    searches = [nothing_yet]

    def search(*_: object, **__: object) -> SearchResult:
        if not searches:
            raise KeyboardInterrupt
        return searches.pop()

    monkeypatch.setattr("mixedsched.advice.tuner.session.run_search", search)
    monkeypatch.setattr("mixedsched.advice.tuner.session.best_so_far", lambda *_: replace(nothing_yet, best=(nip,)))
    job = job_of(tmp_path, rung="browser", candidates=None)
    world = TuneSurroundings(lambda: 0.0, 0.0, lambda _: None, Watching(), lambda _: None, Replaying())
    with open_store(tmp_path) as store:
        session = TuneSession(job, world, store)
        session.known.view = view = replace(view_of_manifest(job), costs_s={"slow-4g": 1.0})
        with pytest.raises(KeyboardInterrupt):
            session._search(view, Shares(10.0, 0, 0, 0.0))
        found = session.result({}, interrupted=True)
    assert (found.outcome, found.winner) == (Outcome.INTERRUPTED, nip)


HTML = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>t</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"></head><body>
<img fetchpriority="high" src="a.jpg" width="40" height="30" alt="">
<img fetchpriority="high" src="b.jpg" width="40" height="30" alt="">
<img fetchpriority="low" src="hero.jpg" width="400" height="300" alt=""><p>Two pictures too many come first.</p></body></html>
"""


@pytest.mark.usefixtures("chromium", "real_time")
def test_a_small_site_is_looked_at_searched_and_proved_in_chromium(tmp_path: Path) -> None:
    site_folder = tmp_path / "small"
    site_folder.mkdir()
    (site_folder / "index.html").write_text(HTML)
    for name, size in (("a", (1000, 750)), ("b", (1000, 750)), ("hero", (500, 380))):
        Image.effect_noise(size, 40).convert("RGB").save(site_folder / f"{name}.jpg", quality=60)
    site = load_site(site_folder)
    job = job_of(
        tmp_path, subject=Subject("shop", "shop", site.page, site, site_digest(site)), rung="browser", budget_s=5.0,
        networks=(catalog.load_profile("4g"),),
    )  # fmt: skip
    watching = Watching()
    found = patiently(lambda: tuned(job, watching=watching), lambda found: not found.facts["missing_blocks"])
    assert why_void(watching.runs) == []
    assert found.winner is not None
    (network,) = found.networks
    assert network.proof is not None
    assert network.proof.complete_blocks == 1  # what is always planned; one proves nothing
    assert (found.outcome, found.shipped) == (Outcome.UNCONFIRMED, False)
    assert "1 complete block proves nothing" in found.reason
    winner = next(item for item in found.contenders if item.role is Role.TUNED)
    assert winner.is_by_headers, "one arm proves the order and what is shipped"
    effect = network.effects[0]
    assert effect.change is not None
    assert effect.change < 0  # by some 300 ms: two images of 270 kB less beside the hero
    write_tuning(found, tmp_path / "tune.html")

    idle = Watching()
    again = tuned(replace(job, folder=tmp_path), watching=idle)
    assert idle.runs == []
    assert again.to_dict()["networks"] == found.to_dict()["networks"]
