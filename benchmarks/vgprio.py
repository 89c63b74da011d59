"""VGPrio against `tune` on the same pages, networks and seeds, on rung stack: results/vgprio/places.jsonl.

    python -m benchmarks.vgprio [SITE ...] [--links vgprio-bw10-rtt50,...] [--seed 1]
    python -m benchmarks.vgprio --table      # only what is made of the places that are there

Without names: all bundled sites over the six networks of the paper. A place (a site over a network) is a line; those that are
there are left as they are, so the same command goes on. Each place: VGPrio learns as it does, by 51 settings of ten loads;
`tune` searches with the same objective and its guard; then both orders and five fixed ones are played over seeds that neither
has seen. Networks vary a little from seed to seed, and the browser is the calibrated one, as where Chromium has the last word.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks._command import HOME, parser_of
from benchmarks._vgprio_page import write_pages
from mixedsched.advice.changes.page_change import PageModel
from mixedsched.advice.tuner import vgprio
from mixedsched.advice.tuner._contest import promising
from mixedsched.advice.tuner._search import run_search
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.objective import BASELINES, parse_objective
from mixedsched.advice.tuner.space import Space
from mixedsched.advice.tuner.trials import Limit, Options, Trials
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import MixedschedError
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.scenario import JUDGE_MODEL, Scenario, seeds_for
from mixedsched.lab.play.task import NamedScheme, PaintReader, Task
from mixedsched.report.papers.script import Countdown, run_script
from mixedsched.sites.opening import open_site, recipes
from mixedsched.world import catalog

FOLDER = HOME / "results" / "vgprio"
PLACES = FOLDER / "places.jsonl"
WORKING = HOME / "runs" / "vgprio" / "places.jsonl"  # grows while it runs; PLACES is written at its end
LINKS = (
    "vgprio-bw10-rtt50",
    "vgprio-bw2-rtt50",
    "sander-rtt50",
    "vgprio-bw10-loss2",
    "vgprio-bw10-rtt10",
    "vgprio-bw50-rtt50",
)
WORK_TWINS = "gupta2024-work/"  # the same sites with scripts that work: another question

FIXED = {  # by label; the first is what the paper calls Chrome
    "chrome": NamedScheme("chrome7"),
    "eps": NamedScheme("eps"),
    "sequential": NamedScheme("sequential"),
    "firefox": NamedScheme("firefox-tree"),
    "rr": NamedScheme("batched-rr:packets=1"),
}
CANDIDATES = 64  # of our search on rung stack
ON_PIPE = 1024
NEW_SEEDS, NEW_SEEDS_FROM = 30, 600  # of the evaluation; the search uses those before 510


def main() -> None:
    options = _options()
    if not options.table:
        sites = options.sites or [item.name for item in recipes() if not item.name.startswith(WORK_TWINS)]
        wanted = [(site, link) for link in options.links for site in sites]
        known = {(item["site"], item["link"]) for item in read_places() if item["seed"] == options.seed}
        missing = [place for place in wanted if place not in known]
        WORKING.parent.mkdir(parents=True, exist_ok=True)
        countdown = Countdown(len(missing))
        with Pool(PaintReader) as pool:
            for site, link in missing:
                place = _played(pool, site, link, options.seed)
                with WORKING.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(place, separators=(",", ":")) + "\n")
                countdown.done(f"{site} over {link}")
    places = list(read_places())
    FOLDER.mkdir(parents=True, exist_ok=True)
    PLACES.write_text("".join(json.dumps(place, separators=(",", ":")) + "\n" for place in places), encoding="utf-8")
    write_pages(places, FOLDER)


def read_places() -> Iterator[dict[str, Any]]:
    """All that are there, by network, in the order in which they were played."""
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for file in (PLACES, WORKING):
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            place = json.loads(line)
            found.setdefault((place["site"], place["link"], place["seed"]), place)
    yield from sorted(found.values(), key=lambda place: (place["seed"], LINKS.index(place["link"])))


def _played(pool: Pool[PaintEstimate | None], site: str, link: str, seed: int) -> dict[str, Any]:
    page = PageModel(open_site(site).page, {}).played()
    scene = Scenario(page, catalog.load_profile(link), (), catalog.load_browser_model(JUDGE_MODEL), is_varied=True)
    facts = {
        "site": site,
        "link": link,
        "seed": seed,
        "resources": len(page.resources),
        "bytes": sum(item.body_bytes for item in page.resources),
    }
    try:
        return {**facts, **_contest(pool, scene, seed)}
    except MixedschedError as error:
        return {**facts, "error": error.what}


def _contest(pool: Pool[PaintEstimate | None], scene: Scenario, seed: int) -> dict[str, Any]:
    learning = Options(seed=seed, stack=Limit(vgprio.ITERATIONS), penalty=0.0)
    space = Space.of([scene.page], ("eps",))
    rival = Trials(space, (scene,), vgprio.OBJECTIVE, pool, learning, time.monotonic, lambda _: None, BASELINES)
    knobs = vgprio.Knobs.of(scene.page)
    learned = vgprio.learn(rival, knobs)
    found = run_search(
        Space.of([scene.page]), (scene,), parse_objective("si", "mobile"), pool,
        Options(seed=seed, pipe=Limit(ON_PIPE), stack=Limit(CANDIDATES)), clock_s=time.monotonic,
    )  # fmt: skip
    better = promising(found)
    ours = better[0].candidate if better else found.baselines[found.best_baseline].candidate
    arms: dict[str, Any] = {**FIXED, "tune": ours}
    if learned is not None:
        arms["vgprio"] = learned.candidate
    return {
        "clusters": [len(paths) for paths in knobs.clusters],
        "learned_si_ms": None if learned is None else round(learned.index_ms, 1),
        "history": [] if learned is None else [[tried, round(index_ms, 1)] for tried, index_ms in learned.history],
        "simulated": {
            "vgprio": 0 if learned is None else learned.loads,
            "tune": sum(item.loads for item in found.rungs if item.rung != "pipe"),
        },
        "orders": {"vgprio": None if learned is None else _told(learned.candidate), "tune": _told(ours)},
        "arms": _evaluated(pool, scene, arms, seed),
    }


def _told(candidate: Candidate) -> dict[str, Any]:
    facts = candidate.to_dict()
    return {"scheme": facts["scheme"], "mapping": facts["mapping"], "cells": len(candidate.cells),
            "overrides": len(candidate.overrides)}  # fmt: skip


def _evaluated(
    pool: Pool[PaintEstimate | None], scene: Scenario, arms: dict[str, Any], seed: int
) -> dict[str, dict[str, list[float | None]]]:
    """FCP, LCP and Speed Index in ms of every arm, seed by seed; null for a load that never ended."""
    first = seeds_for(seed)[0] + NEW_SEEDS_FROM
    seeds = scene.seeds_of(range(first, first + NEW_SEEDS))
    results = iter(pool.play([Task(scene, arm, number) for arm in arms.values() for number in seeds]))
    found = {}
    for label in arms:
        paints = [next(results) for _ in seeds]
        found[label] = {
            key: [None if item is None else round(item.to_dict()[key], 1) for item in paints]
            for key in ("fcp_ms", "lcp_ms", "si_ms")
        }
    return found


def _options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = parser_of("vgprio", __doc__)
    parser.add_argument("sites", nargs="*", metavar="SITE", help="by default all bundled ones")
    parser.add_argument("--links", type=_links, default=LINKS, help="some of the paper's networks, with commas between")
    parser.add_argument("--seed", type=int, default=1, help="of learning, and of the loads that judge")
    parser.add_argument("--table", action="store_true", help="play nothing, write tables and picture anew")
    return parser.parse_args(words)


def _links(text: str) -> tuple[str, ...]:
    """The page knows no others."""
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in LINKS]:
        raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of {', '.join(LINKS)}")
    return names


if __name__ == "__main__":
    run_script(main)
