"""How many packets in a row are lost at 10 Mbit/s, under Chrome's order.

python results/sander2022/loss_runs.py [bundled|generated|FOLDER ...]

Writes data/loss-runs.json; claim F5-3 is about it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping

import numpy as np
from data import BASELINE, DATA, twin_of
from play import collection, pages_named, study_of

from mixedsched.core.sim.load import PlayedLoad
from mixedsched.errors import PageLoadError
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import NamedScheme, Task
from mixedsched.lab.study.places import SimulatedPlace, chosen, open_places, seed_of, sites_of
from mixedsched.report.papers.script import run_script, tell
from mixedsched.report.papers.verdicts import Finding, over_sites

RUNS = DATA / "loss-runs.json"
LINK = "sander-bw10"
BLOCKS = 3

BySite = dict[str, Counter[int]]


class RunsReader:
    """The runs of a load, or none where it comes to no end."""

    until = None

    def __init__(self, scenario: Scenario) -> None:
        pass

    def read(self, _: Task, load: PlayedLoad | PageLoadError) -> dict[int, int]:
        return {} if isinstance(load, PageLoadError) else dict(load.facts["loss_runs"])


def play(pages: str) -> BySite:
    study = study_of("bandwidth", pages)
    places = open_places(study, chosen(sites_of(study), study, f"*@{LINK}"), tell).values()
    found: BySite = {}
    with Pool(RunsReader) as pool:
        for place in places:
            assert isinstance(place, SimulatedPlace)
            blocks = range(1, BLOCKS + 1)
            tasks = [Task(place.scenario, NamedScheme(BASELINE), seed_of(study, block)) for block in blocks]
            counts = found[place.site.name] = Counter()
            for runs in pool.play(tasks):
                counts.update(runs)
    return found


def read_runs() -> Mapping[str, Mapping[str, Mapping[int, int]]]:
    """By collection of pages and site: how often so many packets in a row. Nothing where nobody has played them."""
    if not RUNS.exists():
        return {}
    told = json.loads(RUNS.read_text(encoding="utf-8"))
    return {
        pages: {site: {int(length): count for length, count in runs.items()} for site, runs in sites.items()}
        for pages, sites in told.items()
    }


def findings(runs: Mapping[str, Mapping[str, Mapping[int, int]]]) -> dict[str, Finding]:
    """By name. "shares ...": lost packets in runs of two or more, in points beyond 50. "longest ...": 90th percentile."""
    found = {}
    for pages, sites in runs.items():
        lossy = {site: counts for site, counts in sites.items() if counts}
        shares = {
            site: 100.0 * sum(length * count for length, count in counts.items() if length > 1) / lost - 50.0
            for site, counts in lossy.items()
            for lost in [sum(length * count for length, count in counts.items())]
        }
        longest = {site: float(max(counts)) for site, counts in lossy.items()}
        found[f"shares {pages}"] = over_sites(shares, np.mean, twin_of)
        found[f"longest {pages}"] = over_sites(longest, _ninth_tenth, twin_of)
    return found


def _ninth_tenth(values: np.ndarray, axis: int) -> np.ndarray:
    return np.quantile(values, 0.9, axis=axis)


def main() -> None:
    parser = argparse.ArgumentParser(description="Counts packets lost in a row at 10 Mbit/s.")
    parser.add_argument(
        "pages", nargs="*", default=["bundled"], type=pages_named, help="bundled, generated, or a folder of page files"
    )
    known: dict[str, object] = dict(read_runs())
    for pages in map(collection, parser.parse_args().pages):
        known[pages] = {site: dict(sorted(runs.items())) for site, runs in play(pages).items()}
    RUNS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run_script(main)
