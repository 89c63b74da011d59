"""Plays places under what visits have taught, and appends a line for each to a file here.

    python results/adaptive/measure.py --visits 20 [--churn 0.22] [--beacons] [--pages generated] [--only SITE,SITE] [--jobs 2]

Bundled pages are played at the places of results/finder, which has the costs of the fixed schemes; `generated` are 60 pages
that `mixedsched generate` makes up, the same ones everywhere as in results/sander2022. What the file has
already is not played again. Costs are those of the finder: the geometric mean of LCP over the same seeds, on rung `stack` with
the browser model `chromium`. Visits have other seeds.
"""

import argparse
import json
import math
import multiprocessing
import signal
import statistics
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

from mixedsched.lab.learning.taught import TaughtScheme
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import NamedScheme, PaintReader, Player, SchemeChoice, Task
from mixedsched.model.page import Page
from mixedsched.report.papers.script import Countdown, run_script
from mixedsched.sites.generate import generate_page
from mixedsched.sites.pages import load_page
from mixedsched.world import catalog

HERE = Path(__file__).parent
FINDER = HERE.parent / "finder" / "finder.json"
BUNDLED, GENERATED = HERE / "places.jsonl", HERE / "generated.jsonl"
SIZE_CLASSES, PAGES_OF_A_CLASS = ("small", "medium", "large"), 20
TEACHING_SEED = 1
RAISED = ("adaptive", "sequential", "eps")  # also simulated with the late updates of Chromium


class OneTeaching(TaughtScheme):
    """Learns once from the visits of one seed, whatever the seed of the load that is told."""

    def taught(self, scenario: Scenario, seed: int, scheme: Any) -> Any:  # noqa: ARG002
        return super().taught(scenario, TEACHING_SEED, scheme)


@dataclass(frozen=True)
class Job:
    """One line of a file."""

    site: str
    link: str
    visits: int
    churn: float
    beacons: bool

    @property
    def page(self) -> Page:
        size_class, _, seed = self.site.rpartition("-")
        return generate_page(size_class, int(seed)) if size_class in SIZE_CLASSES else load_page(self.site)

    @property
    def scenario(self) -> Scenario:
        return Scenario(self.page, catalog.load_profile(self.link), model=catalog.load_browser_model("chromium"))

    def played(self) -> dict[str, Any]:
        """What is found, with the costs of fixed schemes where the finder does not have them."""
        scenario = self.scenario
        if self.visits:
            choice = OneTeaching("adaptive", self.visits, self.churn, self.beacons)
            lcp_ms = cost_ms(scenario, choice)
            told = choice.taught(scenario, TEACHING_SEED, choice.configured(catalog.load_mapping)).facts["learned"]
            return {
                "lcp_ms": lcp_ms,
                "order": told["order"],
                "expected": told["expected_lcp_ratio"],
                "left": told["left"],
            }
        found: dict[str, Any] = {"order": "safe", "lcp_ms": cost_ms(scenario, NamedScheme("adaptive"))}
        if self.site in generated_sites():
            raising = replace(scenario, raises=True)
            found["fixed_ms"] = {name: cost_ms(scenario, NamedScheme(name)) for name in fixed_schemes()}
            found["raising_ms"] = {name: cost_ms(raising, NamedScheme(name)) for name in RAISED}
        return found


def cost_ms(scenario: Scenario, choice: SchemeChoice) -> float:
    """LCP, the geometric mean over the seeds."""
    player, seeds = Player(PaintReader), [1, 2, 3, 4] if scenario.network_of(1).is_random else [1]
    paints = (player.play(Task(scenario, choice, seed)) for seed in seeds)
    return round(math.exp(statistics.fmean(math.log(paint.lcp_ms) for paint in paints)), 3)


def fixed_schemes() -> list[str]:
    """Those of the finder."""
    return list(json.loads(FINDER.read_text(encoding="utf-8"))["schemes"])


def generated_sites() -> list[str]:
    return [f"{size_class}-{seed}" for seed in range(1, PAGES_OF_A_CLASS + 1) for size_class in SIZE_CLASSES]


def play(job: Job) -> dict[str, Any]:
    return {**asdict(job), **job.played()}


def missing(given: argparse.Namespace, file: Path) -> Iterator[Job]:
    """What was asked for and is not in the file."""
    finder = json.loads(FINDER.read_text(encoding="utf-8"))
    sites = finder["sites"] if given.pages == "bundled" else generated_sites()
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    known = {tuple(json.loads(line)[key] for key in Job.__dataclass_fields__) for line in lines}
    for site in given.only.split(",") if given.only else sites:
        for link in given.links.split(",") if given.links else finder["networks"]:
            job = Job(site, link, given.visits, given.churn, given.beacons)
            if astuple(job) not in known:
                yield job


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--visits", type=int, default=8, help="0: the safe order, and for generated pages the fixed schemes"
    )
    options.add_argument("--churn", type=float, default=0.0, help="share of URLs that are new at each visit")
    options.add_argument("--beacons", action="store_true", help="visitors' browsers report their paints")
    options.add_argument("--pages", choices=("bundled", "generated"), default="bundled")
    options.add_argument("--only", default="", help="names of pages; all by default")
    options.add_argument("--links", default="", help="names of networks; those of the finder by default")
    options.add_argument("--jobs", type=int, default=2, help="processes that simulate")
    given = options.parse_args()
    file = BUNDLED if given.pages == "bundled" else GENERATED
    jobs = list(missing(given, file))
    countdown = Countdown(len(jobs))
    # After Ctrl-C this process ends the others.
    ignoring = (signal.signal, (signal.SIGINT, signal.SIG_IGN))
    with multiprocessing.Pool(given.jobs, *ignoring) as pool, file.open("a", encoding="utf-8") as lines:
        for found in pool.imap_unordered(play, jobs):
            lines.write(json.dumps(found) + "\n")
            lines.flush()
            countdown.done(f"{found['site']} over {found['link']}")


if __name__ == "__main__":
    run_script(main)
