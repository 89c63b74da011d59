"""A small page, and loads of it that are made up from a simulation with a browser model, which the fit must find again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mixedsched.advice.calibration._fit import Case, paints_of
from mixedsched.advice.calibration.loads import SiteLoads
from mixedsched.advice.calibration.session import START
from mixedsched.advice.changes.observed import as_listed
from mixedsched.lab.model import Arm, Run
from mixedsched.lab.plan import make_plan
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import LoadTimes, NamedScheme, Player, Task, TimesReader
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page
from mixedsched.world import catalog
from tests.advice.changes.shop import HOSTS, PAGE, made_up_run

NETWORK = catalog.load_profile("slow-4g")
SCHEMES = ("sequential", "stock", "eps", "fifo")
TRUTH = replace(START, script_ms_per_kb=0.9, style_ms_per_kb=0.1, paint_ms=60.0)


def smaller(page: Page, share: float, name: str) -> Page:
    """The page with bodies of that share, so that there are several sites."""
    resources = [
        item.model_copy(update={"body_bytes": max(400, round(item.body_bytes * share))}) for item in page.resources
    ]
    return Page(format="mixedsched.page/1", name=name, resources=tuple(resources))


def played(page: Page, model: BrowserModel, schemes: tuple[str, ...] = SCHEMES) -> dict[str, list[LoadTimes]]:
    player, scenario = Player(TimesReader), Scenario(page, NETWORK, model=model)
    times = {name: player.play(Task(scenario, NamedScheme(name), 1)) for name in schemes}
    return {name: [found] for name, found in times.items() if found is not None}


def case_of(page: Page, model: BrowserModel) -> Case:
    """A case whose paints were made by this model."""
    case = Case(page.name, as_listed(page), {}, dict.fromkeys(SCHEMES, 0.0), played(page, model))
    paints = paints_of(case, model)
    return replace(
        case,
        fcp_ms={name: item.fcp_ms for name, item in paints.items()},
        lcp_ms={name: item.lcp_ms for name, item in paints.items()},
    )


def loads_of(
    page: Page, fcp_ms: Mapping[str, float], lcp_ms: Mapping[str, float], blocks: int = 2, **changes: Any
) -> SiteLoads:
    """Loads of the shop with these paints, a per cent apart from block to block."""
    arms = [Arm(name, name) for name in lcp_ms]
    plan = make_plan(
        site=page.name, site_digest="d", link=NETWORK.name, link_facts=NETWORK.facts(), form_factor="mobile", arms=arms,
        baseline=arms[0].label, primary=("fcp_ms", "lcp_ms"), seed=1, blocks=blocks,
    )  # fmt: skip
    runs = tuple(
        made_up_load(name, block, fcp_ms[name] * (1 + block / 100), lcp_ms[name] * (1 + block / 100))
        for block in range(1, blocks + 1)
        for name in lcp_ms
    )
    facts = {"machine": {"cores": 2}, "versions": {"chromium": "156"}}
    fields: dict[str, Any] = {"failed": 0, "facts": facts, "source": "made up"}
    return SiteLoads(page.name, page, HOSTS, NETWORK, plan, runs, **{**fields, **changes})


def made_up_load(arm: str, block: int, fcp_ms: float, lcp_ms: float) -> Run:
    run = made_up_run(arm=arm, block=block)
    metrics = {**run.page_load["metrics"], "fcp_ms": fcp_ms, "lcp_ms": lcp_ms}
    return replace(run, page_load={**run.page_load, "metrics": metrics})


__all__ = ["NETWORK", "PAGE", "SCHEMES", "TRUTH", "case_of", "loads_of", "made_up_load", "played", "smaller"]
