"""An audit of a small page in real Chromium: three loads, all of it, and going on where it stopped."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from mixedsched.advice.audit.result import Alternative, Audit, audit_facts
from mixedsched.advice.audit.session import AuditJob, AuditSurroundings, _AuditSession, run_audit
from mixedsched.errors import UsageError
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.play.scenario import JUDGE_MODEL
from mixedsched.sites.opening import load_site
from mixedsched.sites.site import site_digest
from mixedsched.world import catalog
from mixedsched.world.store import Store
from tests.advice.audit.made_up import made_up_audit
from tests.advice.replaying import Replaying
from tests.lab.scripted import Watching
from tests.patience import patiently, why_void

HTML = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>t</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<script src="heavy.js"></script>
<link rel="stylesheet" href="site.css">
</head><body><div id="hero"></div><p>A page whose picture is named by its style alone.</p></body></html>
"""
CSS = "body { margin: 0 } #hero { height: 300px; background: url(hero.jpg) 0 0 / cover }"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> AuditJob:
    folder = tmp_path_factory.mktemp("audit")
    site_folder = folder / "small"
    site_folder.mkdir()
    (site_folder / "index.html").write_text(HTML)
    (site_folder / "site.css").write_text(CSS)
    (site_folder / "heavy.js").write_bytes(b"// " + bytes(range(65, 91)) * 2000)
    Image.effect_noise((600, 450), 40).convert("RGB").save(site_folder / "hero.jpg", quality=60)
    site = load_site(site_folder)
    return AuditJob(
        site=site,
        site_digest=site_digest(site),
        networks=(catalog.load_profile("4g"),),
        baseline="eps",
        form_factor="mobile",
        budget_s=1.0,  # room for the one block that is always planned
        seed=1,
        folder=folder,
        versions={"code": "under test"},
        model=catalog.load_browser_model(JUDGE_MODEL),
    )


def carried_out(job: AuditJob) -> tuple[Audit, Watching]:
    """With a clock that stands still: the time is never up."""
    watching = Watching()
    world = AuditSurroundings(lambda: 0.0, 0.0, lambda _: None, watching, Replaying())
    return asyncio.run(run_audit(job, world)), watching


def measured(job: AuditJob) -> tuple[Audit, list[Run]]:
    """An audit with its block, and all runs that were made for it."""
    made: list[Run] = []

    def once() -> Audit:
        audit, watching = carried_out(job)
        made.extend(watching.runs)
        return audit

    return patiently(once, lambda audit: audit.complete_blocks == 1), made


@pytest.mark.usefixtures("chromium", "real_time")
def test_an_audit_finds_what_is_late_measures_the_remedy_and_goes_on(job: AuditJob) -> None:
    audit, made = measured(job)
    assert why_void(made) == []
    good = [run for run in made if run.status is RunStatus.OK]
    assert len(good) >= 3
    assert all(run.metric("tti_ms") >= run.metric("fcp_ms") > 0 for run in good)
    (network,) = audit.networks
    assert network.look.hero == (0, "/hero.jpg")
    assert ("/heavy.js", "blocks") in {(item.key[1], item.reason.value) for item in network.findings}
    assert ("/hero.jpg", "found_late") in {(item.key[1], item.reason.value) for item in network.findings}

    assert set(network.look.run.page_load["inspection"]) >= {"text_compression", "image_format", "caching"}
    assert all(run.page_load["inspection"] is None for run in network.runs if run.status is RunStatus.OK), "as usual"
    assert not audit.wastes.knows_caching, "a folder does not tell"

    assert audit.chosen is not None
    effect = network.effect(audit.chosen.label, "lcp_ms")
    assert effect is not None
    assert effect.blocks == audit.complete_blocks == 1
    assert effect.change is not None
    assert effect.change < 0  # by about 40 %: a chain of two round trips less
    facts = json.loads(json.dumps(audit_facts(audit), allow_nan=False))
    assert facts["verdict"] == "open"  # one block proves nothing

    again, idle = carried_out(job)
    assert idle.runs == []
    assert audit_facts(again)["contenders"] == facts["contenders"]
    assert audit_facts(again)["networks"] == json.loads(json.dumps(facts["networks"]))


@pytest.mark.parametrize("begun", [0, 1, 2])
def test_how_many_contenders_an_earlier_start_measured_is_known_from_its_loads(
    begun: int, job: AuditJob, tmp_path: Path
) -> None:
    world = AuditSurroundings(lambda: 0.0, 0.0, lambda _: None, Watching(), Replaying())
    contenders = [Alternative(label, "eps", (), {}) for label in ("changed", "changed in part")]
    network = job.networks[0]
    with Store(f"sqlite:///{tmp_path / 'results.sqlite'}") as store:
        session = _AuditSession(replace(job, folder=tmp_path), world, store)
        if begun:
            plan = session._bench(session._arms(contenders[:begun])).design.plan(network, 7)
            store.save_plan(plan.digest, plan.to_dict(), {})
        assert session._begun(network, contenders) == begun


@pytest.mark.parametrize(("blocks", "noted"), [(6, 0), (8, 8)])
def test_the_blocks_at_which_results_that_could_decide_were_first_shown_are_noted(
    blocks: int, noted: int, job: AuditJob, tmp_path: Path
) -> None:
    """Whoever goes on after that looks at the data once more; two networks need seven blocks to decide anything."""
    world = AuditSurroundings(lambda: 0.0, 0.0, lambda _: None, Watching(), Replaying())
    audit, more = made_up_audit([0.8] * blocks), made_up_audit([0.8] * 12)
    plans = [item.comparison.plan for item in audit.networks if item.comparison is not None]
    with Store(f"sqlite:///{tmp_path / 'results.sqlite'}") as store:
        for plan in plans:
            store.save_plan(plan.digest, plan.to_dict(), {"title": "t", **job.work})
        session = _AuditSession(replace(job, folder=tmp_path), world, store)
        session._note_look(audit)
        session._note_look(replace(more, looked=noted))
        assert {(item.facts["title"], item.facts.get("looked", 0)) for item in store.experiments()} == {
            ("t", noted or 12)
        }


def test_a_folder_with_another_audit_is_refused(job: AuditJob, tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path / 'results.sqlite'}") as store:
        store.save_plan("0123", {}, {"audit": "of another site"})
    with pytest.raises(UsageError, match="something other than this audit"):
        carried_out(replace(job, folder=tmp_path))
