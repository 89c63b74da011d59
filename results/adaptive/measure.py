"""Plays the places of results/finder under what visits have taught, and appends a line for each to places.jsonl.

    python results/adaptive/measure.py --visits 8 [--churn 0.22] [--beacons] [--only SITE,SITE] [--jobs 2]

What is there already is not played again. Costs are those of the finder: the geometric mean of LCP over the same seeds, on rung
`stack` with the browser model `chromium`. Visits have other seeds.
"""

import argparse
import json
import math
import multiprocessing
import signal
import statistics
from pathlib import Path
from typing import Any

from mixedsched.lab.learning.taught import TaughtScheme
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import NamedScheme, PaintReader, Player, SchemeChoice, Task
from mixedsched.report.papers.script import Countdown, run_script
from mixedsched.sites.pages import load_page
from mixedsched.world import catalog

HERE = Path(__file__).parent
FINDER = HERE.parent / "finder" / "finder.json"
DATA = HERE / "places.jsonl"
TEACHING_SEED = 1


class OneTeaching(TaughtScheme):
    """Learns once from the visits of one seed, whatever the seed of the load that is told."""

    def taught(self, scenario: Scenario, seed: int, scheme: Any) -> Any:  # noqa: ARG002
        return super().taught(scenario, TEACHING_SEED, scheme)


def cost_ms(player: Player[Any], scenario: Scenario, choice: SchemeChoice, seeds: list[int]) -> float:
    return math.exp(statistics.fmean(math.log(player.play(Task(scenario, choice, seed)).lcp_ms) for seed in seeds))


def play(job: tuple[str, str, int, float, bool]) -> dict[str, Any]:
    site, link, visits, churn, beacons = job
    network = catalog.load_profile(link)
    scenario = Scenario(load_page(site), network, model=catalog.load_browser_model("chromium"))
    player, seeds = Player(PaintReader), [1, 2, 3, 4] if network.is_random else [1]
    found: dict[str, Any] = {"site": site, "link": link, "visits": visits, "churn": churn, "beacons": beacons}
    if not visits:
        return {**found, "order": "safe", "lcp_ms": round(cost_ms(player, scenario, NamedScheme("adaptive"), seeds), 3)}
    choice = OneTeaching("adaptive", visits, churn, beacons)
    found["lcp_ms"] = round(cost_ms(player, scenario, choice, seeds), 3)
    learned = choice.taught(scenario, TEACHING_SEED, choice.configured(catalog.load_mapping)).facts["learned"]
    return {**found, "order": learned["order"], "expected": learned["expected_lcp_ratio"], "left": learned["left"]}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--visits", type=int, default=8, help="to learn from; 0 for a page that was never seen")
    options.add_argument("--churn", type=float, default=0.0, help="share of the page that is new at each visit")
    options.add_argument("--beacons", action="store_true", help="pages tell the server of their paints")
    options.add_argument("--only", help="sites, with commas between; by default all of the finder")
    options.add_argument("--jobs", type=int, default=2, help="processes that simulate")
    given = options.parse_args()
    finder = json.loads(FINDER.read_text())
    sites = given.only.split(",") if given.only else finder["sites"]
    jobs = [(site, link, given.visits, given.churn, given.beacons) for site in sites for link in finder["networks"]]
    done = [json.loads(line) for line in DATA.read_text().splitlines()] if DATA.exists() else []
    known = {tuple(item[key] for key in ("site", "link", "visits", "churn", "beacons")) for item in done}
    missing = [job for job in jobs if job not in known]
    countdown = Countdown(len(missing))
    # After Ctrl-C this process ends the others.
    with (
        multiprocessing.Pool(given.jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool,
        DATA.open("a") as file,
    ):
        for found in pool.imap_unordered(play, missing):
            file.write(json.dumps(found) + "\n")
            file.flush()
            countdown.done(f"{found['site']} over {found['link']}")


if __name__ == "__main__":
    run_script(main)
