"""Whole tunings that are made up: a search, a race and a proof with every field that a real one leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import (
    Contender,
    Deviation,
    Dropped,
    HeaderRule,
    HtmlLine,
    NetworkProof,
    Outcome,
    Role,
    RungResult,
    Scored,
    Tuning,
)
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.pipe import play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import MetricFamily
from mixedsched.lab.model import Run
from mixedsched.model.mapping import Override
from mixedsched.model.page import Page
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind
from mixedsched.model.scheme import configure
from mixedsched.world import catalog
from tests.report.made_up_runs import LINK, MadeUp, made_up_plan

HERO_PATH = "/img/hero.jpg"
TUNED = Candidate(
    "mixed:alpha=0.3",
    cells=(((ChromiumPriority.HIGH, Kind.IMAGE), Priority(1, False)),),
    overrides=(Override(HERO_PATH, Priority(1, False), "the image of the largest paint"),),
)
CHANGE = Change(Action.FETCH_FIRST, ((0, HERO_PATH),), "it is the image of the largest paint")
CONTENDERS = (
    Contender("eps", Role.BASELINE, Candidate("eps")),
    Contender("sequential", Role.BASELINE, Candidate("sequential")),
    Contender("tuned", Role.TUNED, TUNED),
    Contender("headers", Role.HEADERS, Candidate("eps")),
    Contender("html", Role.HTML, Candidate("eps"), (CHANGE,)),
)
PAGE = {
    "format": "mixedsched.page/1",
    "name": "shop",
    "resources": [
        {"id": "html", "host": 0, "path": "/", "kind": "document", "mime": "text/html", "body_bytes": 9000,
         "found_by": None, "found_when": "start", "flags": ["main", "critical"]},
        {"id": "css", "host": 0, "path": "/site.css", "kind": "stylesheet", "mime": "text/css", "body_bytes": 30000,
         "found_by": "html", "found_when": "bytes", "found_at_bytes": 500, "flags": ["in_head", "critical"]},
        {"id": "hero", "host": 0, "path": HERO_PATH, "kind": "image", "mime": "image/jpeg", "body_bytes": 90000,
         "found_by": "html", "found_when": "bytes", "found_at_bytes": 4000, "flags": ["hero", "above_fold"]},
    ],
}  # fmt: skip


def scored(candidate: Candidate, lcp_ms: float, score: float, network: str = LINK.name) -> Scored:
    return Scored(candidate, score, 0.004, {network: PaintEstimate(lcp_ms * 0.5, lcp_ms, lcp_ms * 0.8)})


def made_up_proof(factors: Mapping[str, float], blocks: int, name: str = LINK.name) -> NetworkProof:
    """A proof whose arms take `factors` of eps' times."""
    labels = [item.label for item in CONTENDERS]
    plan = made_up_plan(blocks, labels, link=name, primary=("lcp_ms",))
    runs = [_with_hero(run) for run in MadeUp(plan, factors=factors).runs()]
    proof = analyse(plan, runs)
    race_plan = made_up_plan(2, [*labels[:3], "stock"], link=name, seed=99)
    race_runs = tuple(MadeUp(race_plan, seed=5, factors=factors).runs())
    return NetworkProof(
        profile=replace(LINK, name=name),
        bound=PaintEstimate(700.0, 1500.0, 1100.0),
        race=analyse(race_plan, race_runs),
        race_runs=race_runs,
        dropped=(Dropped("stock", 2, "tuned", 61.0, 0.0004),),
        proof=proof,
        runs=tuple(runs),
        effects=tuple(item for item in proof.effects if item.family is MetricFamily.PRIMARY),
    )


def _with_hero(run: Run) -> Run:
    """The browser says when the image of the largest paint was loaded."""
    request = next(item for item in run.page_load["requests"] if item["url"].endswith(HERO_PATH))
    observed = {
        **run.page_load["observed"],
        "lcp_load_start_ms": request["request_ms"],
        "lcp_load_end_ms": request["end_ms"],
    }
    return replace(run, page_load={**run.page_load, "observed": observed})


def simulated_loads() -> tuple[PlayedLoad, ...]:
    page = Discoveries.of(Page.from_dict(PAGE, "made up"))
    return tuple(play_pipe(page, configure(name, SCHEMES, catalog.load_mapping)) for name in ("stock", "sequential"))


def made_up_tuning(
    factors: Mapping[str, float] | None = None,
    *,
    blocks: int = 8,
    networks: Sequence[str] = (LINK.name,),
    **changes: Any,
) -> Tuning:
    """A confirmed one, unless changed: the tuned order takes 0.8 of eps' time."""
    factors = {"tuned": 0.8, "headers": 0.85, "html": 0.9, "sequential": 1.1} if factors is None else factors
    history = tuple((1 << step, 0.3 * 0.75**step - 0.2) for step in range(11))
    best = scored(TUNED, 1950.0, -0.2)
    fields: dict[str, Any] = {
        "site": "shop",
        "title": "A shop",
        "form_factor": "mobile",
        "objective": {"lcp_ms": 1.0},
        "budget_s": 600.0,
        "spent_s": 588.0,
        "seed": 1,
        "outcome": Outcome.CONFIRMED,
        "reason": "The tuned order is better than eps and sequential, and worse than sequential in nothing.",
        "rungs": (
            RungResult("pipe", 1600, 1600, 5.0, best, history),
            RungResult("stack", 220, 880, 88.0, best, history[:8]),
            RungResult("held out", 12, 96, 11.0, best),
        ),
        "baselines": {
            "eps": scored(Candidate("eps"), 2400.0, 0.0),
            "sequential": scored(Candidate("sequential"), 2640.0, 0.1),
            "mixed": scored(Candidate("mixed", published="gupta2024"), 5200.0, 0.77),
        },
        "best_baseline": "eps",
        "winner": best,
        "runners_up": (scored(Candidate("sequential"), 2000.0, -0.18),),
        "deviations": (
            Deviation("images of priority High", "u=1, i", "u=1", (HERO_PATH, "/a.jpg"), "one whole image before two halves"),
            Deviation(HERO_PATH, "u=3, i", "u=1", (HERO_PATH,), "the image of the largest paint"),
        ),
        "contenders": CONTENDERS,
        "networks": tuple(made_up_proof(factors, blocks, name) for name in networks),
        "headers": (HeaderRule("/img/hero*", "u=1, i=?0", (HERO_PATH,), "the largest paint", {LINK.name: 14.0}),),
        "html": (HtmlLine(CHANGE, {LINK.name: -9.0}, "html"),),
        "kept_pct": {Role.HEADERS: {LINK.name: 76.0}, Role.HTML: {LINK.name: 49.0}},
        "files": ("ship/headers.txt", "ship/nginx.conf", "mapping/tuned.toml"),
        "facts": {
            "command": "mixedsched tune shop --link sander-loss2 --budget 10m",
            "versions": {"mixedsched": "0.1.0"},
            "machine": {"processors": 2},
            "seeds": {"search": "1000 to 1007", "race": 5, "proof": 7},
        },
    }  # fmt: skip
    return Tuning(**{**fields, **changes})


def simulated_tuning(**changes: Any) -> Tuning:
    """One for which no browser was asked."""
    network = NetworkProof(LINK, PaintEstimate(700.0, 1500.0, 1100.0), simulated=simulated_loads())
    fields: dict[str, Any] = {
        "outcome": Outcome.SIMULATED,
        "networks": (network,),
        "contenders": (),
        "kept_pct": {},
        "reason": "",
    }
    return replace(made_up_tuning(networks=()), **{**fields, **changes})
