"""A tuning for the server that one has, where that is here: it is looked at, and proved, on the real one."""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import pytest

from mixedsched.advice.changes.own_server import own_server
from mixedsched.advice.tuner.job import BROWSER, Subject, TuneSurroundings
from mixedsched.advice.tuner.result import Role, Tuning
from mixedsched.advice.tuner.session import carry_out
from mixedsched.lab.engine import stored_runs
from mixedsched.lab.model import RunStatus
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.scenario import JUDGE_MODEL
from mixedsched.lab.play.task import PaintReader
from mixedsched.lab.results import open_store
from mixedsched.world import catalog
from tests.advice.tuner.sessions import job_of
from tests.lab.scripted import Watching
from tests.patience import patiently
from tests.world.browser.h3_site import noise_png
from tests.world.servers.sites import installed

pytestmark = pytest.mark.usefixtures("chromium", "real_time")

DOCUMENT = (
    '<!DOCTYPE html><html lang="en"><head><title>t</title><link rel="icon" href="data:,">'
    '<link rel="stylesheet" href="/a.css"></head><body><div class="hero"></div></body></html>'
)
STYLE = (
    ".hero { width: 100vw; height: 100vh; background: url(/hero.png) center / cover } /* "
    f"{random.Random(1).randbytes(60_000).hex()} */"
)
"""No compression makes it small, and the largest paint is known only when it has come: to preload that image helps."""


BUDGET_S = 25.0
"""Of each start, and enough for one: every further one adds as much, where a busy machine has let no block be complete."""


def test_a_change_of_the_document_is_proved_on_the_real_server(tmp_path: Path) -> None:
    version = installed("caddy").version
    assert version is not None
    site, results = tmp_path / "shop", tmp_path / "results"
    site.mkdir()
    results.mkdir()
    (site / "index.html").write_text(DOCUMENT, encoding="utf-8")
    (site / "a.css").write_text(STYLE, encoding="utf-8")
    (site / "hero.png").write_bytes(noise_png(120, 120, seed=1))

    starts = itertools.count(1)

    def tuned() -> Tuning:
        server = own_server("caddy")
        job = job_of(
            results, subject=Subject.named(str(site), None), server=server, schemes=(server.model,),
            rung=BROWSER, networks=(catalog.load_profile("slow-4g"),), model=catalog.load_browser_model(JUDGE_MODEL),
            budget_s=BUDGET_S * next(starts),
        )  # fmt: skip
        began_s = time.monotonic()
        world = TuneSurroundings(
            time.monotonic, began_s, lambda _: None, Watching(), lambda _: None, Pool(PaintReader, 1)
        )
        return carry_out(job, world, {})

    found = patiently(tuned, lambda tuning: bool(tuning.networks[0].effects))
    arms = {item.label: (item.role, item.on) for item in found.contenders}
    assert arms["tuned"] == (Role.TUNED, "@caddy")
    assert arms["@caddy"] == (Role.BASELINE, "@caddy")
    assert found.facts["versions"]["@caddy"] == version.name
    assert found.to_dict()["server"]["proved"] == "real"
    (effect,) = found.networks[0].effects[:1]
    assert effect.baseline == "@caddy"
    assert effect.change is not None
    assert effect.change < 0, "the image no longer waits for the style sheet"
    assert asked_by(results, "tuned") == {"https://shop.test/"}
    assert asked_by(results, "@caddy") == {"https://shop.test/a.css"}
    assert found.headers == ()


def asked_by(results: Path, arm: str) -> set[str]:
    """What asked for the image in the loads of an arm."""
    with open_store(results) as store:
        runs = [run for experiment in store.experiments() for run in stored_runs(store, experiment.digest)]
    return {
        item["asked_by"]
        for run in runs
        if run.arm == arm and run.status is RunStatus.OK
        for item in run.page_load["requests"]
        if item["url"].endswith("/hero.png")
    }
