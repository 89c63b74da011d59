"""What `calibrate` refuses, and what it makes of folders of earlier results."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mixedsched.advice.calibration.loads import read_loads
from mixedsched.cli._sites import open_site
from mixedsched.lab.engine import run_record
from mixedsched.lab.model import Arm, Plan, Run, RunStatus
from mixedsched.lab.plan import arms_of, make_plan
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.results import open_store
from mixedsched.model.browser_model import parse_browser_model
from mixedsched.sites.site import site_digest
from mixedsched.world import catalog
from tests.command import refusal, run

SCHEMES = ("sequential", "stock", "eps")
LINK = catalog.load_profile("slow-4g")
refused = partial(refusal, "calibrate")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sites") / "tiny"
    folder.mkdir()
    (folder / "index.html").write_text(
        '<!DOCTYPE html><title>t</title><script src="a.js"></script><img src="b.png"><p>hello'
    )
    (folder / "a.js").write_text("//" + "a" * 30_000)
    (folder / "b.png").write_bytes(b"\x89PNG" + b"b" * 40_000)
    return folder


def stored(site: Path, folder: Path, lcp_ms: dict[str, float], *, link_argument: str = "", **changes: Any) -> Path:
    """A folder as `compare` leaves it, with two loads a scheme. link_argument: how the network was named, where it is none of
    ours. changes: of the plan."""
    opened = open_site(str(site))
    plan = make_plan(
        site=opened.name, site_digest=site_digest(opened), link="slow-4g", link_facts=LINK.facts(), form_factor="mobile",
        arms=arms_of(list(lcp_ms)), baseline="sequential", primary=("lcp_ms",),
        seed=1, blocks=2,
    )  # fmt: skip
    plan = Plan.from_dict({**plan.to_dict(), **changes})
    folder.mkdir()
    facts = {"site_argument": str(site), "machine": {"cores": 2}, "versions": {"chromium": "156", "code": "earlier"}}
    facts |= {"link_argument": link_argument} if link_argument else {}
    with open_store(folder) as store:
        store.save_plan(plan.digest, plan.to_dict(), facts)
        for block in (1, 2):
            for name, value in lcp_ms.items():
                run = made_up_run(opened.url, name, block, value * (1 + block / 100))
                store.add_run(plan.digest, block, 1, name, run_record(run))
    return folder


def made_up_run(url: str, arm: str, block: int, lcp_ms: float) -> Run:
    requests = [
        {"url": url + path, "resource_type": kind, "priority": "High", "transfer_bytes": 10, "start_ms": at, "request_ms": at,
         "end_ms": at + 300.0, "finished": True}
        for path, kind, at in (("", "Document", 0.0), ("a.js", "Script", 320.0), ("b.png", "Image", 321.0))
    ]  # fmt: skip
    metrics = {"fcp_ms": lcp_ms * 0.8, "lcp_ms": lcp_ms}
    return Run(block, 1, arm, 0, RunStatus.OK, page_load={"metrics": metrics, "requests": requests, "observed": {}})


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (("--schemes", "eps,stock"), 2, "2 schemes have no ranking to speak of"),
        (("--schemes", "eps,stock,magic"), 2, "magic"),
        (("--schemes", "eps,stock,@nginx,@caddy"), 2, "@nginx and @caddy cannot be simulated"),
        (("--schemes", "eps,stock,adaptive"), 2, "adaptive is not simulated as it is measured"),
        (("--link", "nowhere"), 3, "no network profile 'nowhere'"),
        (("nosuchsite",), 3, "there is no site 'nosuchsite'"),
        (("--store", "model.json"), 2, "model.json cannot be a browser model"),
        (("agency", "--from", "x"), 2, "sites are named beside --from"),
    ],
)
def test_bad_options_are_refused(arguments: tuple[str, ...], exit_code: int, said: str, tmp_path: Path) -> None:
    error = refused(*arguments, "--out", str(tmp_path / "out"))
    assert error.exit_code == exit_code
    assert said in error.what


def test_a_folder_without_results_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    error = refused("--from", str(tmp_path / "empty"), "--out", str(tmp_path / "out"))
    assert (error.exit_code, error.what) == (3, "there are no loads to compare with")
    assert f"{tmp_path / 'empty'} contains no results" in error.why


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"site_digest": "other"}, "has changed since"),
        ({"link_facts": {}}, "the network slow-4g has changed since"),
        ({"link": "nowhere"}, "there is no network profile 'nowhere'"),
        ({"conditions": {"browser": "firefox"}}, "its loads were made in Firefox"),
        ({"conditions": {"throttling": "simulate"}}, "come from Lighthouse's model of a slow network"),
    ],
)
def test_loads_of_another_site_network_or_browser_are_left_out(
    changes: dict[str, Any], why: str, site: Path, tmp_path: Path
) -> None:
    folder = stored(site, tmp_path / "results", dict.fromkeys(SCHEMES, 900.0), **changes)
    assert why in refused("--from", str(folder), "--out", str(tmp_path / "out")).why


def test_loads_under_too_few_schemes_are_left_out(site: Path, tmp_path: Path) -> None:
    folder = stored(site, tmp_path / "results", {"sequential": 900.0, "eps": 950.0})
    assert (
        "only 2 schemes have a load that counts" in refused("--from", str(folder), "--out", str(tmp_path / "out")).why
    )


@pytest.mark.parametrize("arm", ["@caddy", "adaptive"])
def test_loads_of_what_cannot_be_simulated_are_left_out(arm: str, site: Path, tmp_path: Path) -> None:
    """Other people's servers, and a scheme that learned from visits before it was measured."""
    lcp_ms = {"sequential": 900.0, "stock": 1300.0, arm: 1000.0}
    folder = stored(site, tmp_path / "results", lcp_ms)
    assert (
        "only 2 schemes have a load that counts" in refused("--from", str(folder), "--out", str(tmp_path / "out")).why
    )


def test_an_arm_whose_table_is_gone_is_left_out_and_the_others_count(site: Path, tmp_path: Path) -> None:
    gone = Arm("mixed", "mixed", str(tmp_path / "gone.toml"), "d")
    arms = [asdict(arm) for arm in (*arms_of(list(SCHEMES)), gone)]
    folder = stored(site, tmp_path / "results", dict.fromkeys((*SCHEMES, "mixed"), 900.0), arms=arms)
    loads, remarks = read_loads(folder, print, warm_up=False)
    assert [arm.label for arm in loads.arms] == list(SCHEMES)
    assert "tiny, slow-4g: no load counts under mixed" in remarks


def test_loads_over_a_trace_and_over_a_network_of_ones_own_count(site: Path, tmp_path: Path) -> None:
    lcp_ms = dict.fromkeys(SCHEMES, 900.0)
    trace = catalog.load_profile("commuter-4g")
    bundled = stored(site, tmp_path / "bundled", lcp_ms, link=trace.name, link_facts=trace.facts())
    assert read_loads(bundled, print, warm_up=False)[0].network == trace

    file = tmp_path / "attic.toml"
    file.write_text('name = "attic"\ndescription = "d"\nsource = "s"\nrate_down_bps = 2_000_000\nrtt_ms = 60\n')
    attic = catalog.load_profile(str(file))
    own = stored(site, tmp_path / "own", lcp_ms, link=attic.name, link_facts=attic.facts(), link_argument=str(file))
    assert read_loads(own, print, warm_up=False)[0].network == attic


def test_earlier_results_become_agreement_constants_and_files(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = stored(site, tmp_path / "results", {"sequential": 900.0, "stock": 1300.0, "eps": 1000.0})
    before = sorted(file.name for file in folder.iterdir())
    arguments = ("--from", folder, "--no-grid", "--out", tmp_path / "out", "--store", tmp_path / "mine.toml")
    result = run("calibrate", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert [(item["site"], item["link"], item["loads"]) for item in facts["sites"]] == [("tiny", "slow-4g", 6)]
    assert facts["sites"][0]["measured_ms"]["lcp"]["stock"] == pytest.approx(1300 * 1.015)
    assert any("another version of the source (earlier)" in note for note in facts["notes"])
    stored_facts = json.loads((tmp_path / "out" / "calibration.json").read_text())
    assert stored_facts["summary"] == facts["summary"]
    model = parse_browser_model((tmp_path / "mine.toml").read_text(), "mine.toml")
    assert (model.name, model.early_low) == ("mine", 2)
    assert (tmp_path / "out" / "calibration.svg").read_text().startswith("<?xml")
    assert sorted(file.name for file in folder.iterdir()) == before  # nothing is written where others may be writing
    monkeypatch.setattr(Pool, "results", lambda *_: pytest.fail("nothing is played again"))
    again = run("calibrate", *arguments)  # the same for people
    assert again.exit_code == 0, again.stderr
    assert "fitted median" in " ".join(again.stdout.split())


def test_help_has_an_example() -> None:
    told = " ".join(run("calibrate", "--help").stdout.split())
    assert "Example: mixedsched calibrate agency argon --link slow-4g" in told
