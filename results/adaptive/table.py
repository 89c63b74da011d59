"""Writes README.md of this folder anew from places.jsonl and the loads of the finder: python results/adaptive/table.py"""

import json
import math
import statistics
from collections import defaultdict
from pathlib import Path

from mixedsched.report.papers.markdown import write_readme
from mixedsched.report.papers.script import run_script

HERE = Path(__file__).parent
FINDER = HERE.parent / "finder" / "finder.json"


def pct(logs: list[float]) -> tuple[float, float]:
    """(mean, worst) of logarithms of ratios."""
    return (math.exp(statistics.fmean(logs)) - 1) * 100, (math.exp(max(logs)) - 1) * 100


def main() -> None:
    finder = json.loads(FINDER.read_text())
    fixed = {
        (place["site"], place["network"]): {item["scheme"]: item["cost_ms"] for item in place["schemes"]}
        for place in finder["matrix"]
    }
    runs = defaultdict(dict)
    for line in (HERE / "places.jsonl").read_text().splitlines():
        found = json.loads(line)
        runs[found["visits"], found["churn"], found["beacons"]][found["site"], found["link"]] = found
    lines = ["| what | places | mean regret | worst | safe order at the same places |", "|---|---:|---:|---:|---:|"]
    safe = {place: item["lcp_ms"] for place, item in runs[0, 0.0, False].items()}
    for (visits, churn, beacons), places in sorted(runs.items()):
        logs = [math.log(item["lcp_ms"] / min(fixed[place].values())) for place, item in places.items()]
        same = [math.log(safe[place] / min(fixed[place].values())) for place in places if place in safe]
        name = "safe order (`inferred`), page never seen" if not visits else f"`adaptive` after {visits} visits"
        name += (f", churn {churn:.0%}" if churn else "") + (", beacons" if beacons else "")
        mean, worst = pct(logs)
        lines.append(f"| {name} | {len(places)} | {mean:.2f} % | {worst:.1f} % | {pct(same)[0]:.2f} % |")
    for scheme in ("bucket", "sequential", "eps"):
        mean, worst = pct([math.log(costs[scheme] / min(costs.values())) for costs in fixed.values()])
        told = " (uses the manifest)" if scheme == "bucket" else ""
        lines.append(f"| `{scheme}`{told} | {len(fixed)} | {mean:.2f} % | {worst:.1f} % | |")
    rows = [
        "| site | network | safe order | " + " | ".join(_heads(runs)) + " |",
        "|---|---|---:|" + "---:|" * len(_heads(runs)),
    ]
    for place, costs in fixed.items():
        best = min(costs.values())
        cells = [f"{(safe[place] / best - 1) * 100:.1f}" if place in safe else ""]
        for key in sorted(runs):
            if key[0]:
                item = runs[key].get(place)
                cells.append("" if item is None else f"{(item['lcp_ms'] / best - 1) * 100:.1f} ({item['order']})")
        rows.append(f"| {place[0]} | {place[1]} | " + " | ".join(cells) + " |")
    write_readme(HERE, SUMMARY="\n".join(lines), PLACES="\n".join(rows))


def _heads(runs: dict[tuple[int, float, bool], object]) -> list[str]:
    return [
        f"{visits} visits{f', churn {churn:.0%}' if churn else ''}{', beacons' if beacons else ''}"
        for visits, churn, beacons in sorted(runs)
        if visits
    ]


if __name__ == "__main__":
    run_script(main)
