"""Writes README.md of this folder anew from the committed loads and those of the finder: python results/adaptive/table.py"""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from mixedsched.core.stats import paired_shift
from mixedsched.lab.learning.taught import is_adaptive
from mixedsched.lab.study.lean import read_lean
from mixedsched.lab.study.results import StudyResult
from mixedsched.report.papers.markdown import write_readme
from mixedsched.report.papers.script import run_script

HERE = Path(__file__).parent
FINDER = HERE.parent / "finder" / "finder.json"
BUNDLED, GENERATED = HERE / "places.jsonl", HERE / "generated.jsonl"
CHROMIUM = HERE / "browser.parquet"
BLOCKS_LEAST = 6  # for an interval
SCHEMES = ("bucket", "sequential", "eps")  # that are shown beside what is learned
LCP = "lcp_ms"

Place = tuple[str, str]  # site, link
Taught = tuple[int, float, bool]  # visits, churn, beacons
UNTAUGHT: Taught = (0, 0.0, False)


class Simulated:
    """LCP of simulated loads by place, with fixed schemes and with what is learned."""

    def __init__(self, fixed_ms: dict[Place, dict[str, float]], lines: Iterable[str]) -> None:
        self.fixed_ms = fixed_ms
        self.loads: dict[Taught, dict[Place, dict[str, Any]]] = defaultdict(dict)
        for found in map(json.loads, lines):
            place = found["site"], found["link"]
            self.loads[found["visits"], found["churn"], found["beacons"]][place] = found
            if "fixed_ms" in found:
                self.fixed_ms[place] = found["fixed_ms"]

    @classmethod
    def bundled(cls) -> Self:
        """At the places of the finder, which has played the fixed schemes."""
        fixed_ms = {
            (place["site"], place["network"]): {item["scheme"]: item["cost_ms"] for item in place["schemes"]}
            for place in json.loads(FINDER.read_text(encoding="utf-8"))["matrix"]
        }
        return cls(fixed_ms, lines_of(BUNDLED))

    @classmethod
    def generated(cls) -> Self:
        return cls({}, lines_of(GENERATED))

    def regret(self, place: Place, lcp_ms: float) -> float:
        """As a logarithm: against the best fixed scheme of the place."""
        return math.log(lcp_ms / min(self.fixed_ms[place].values()))

    def of(self, taught: Taught, place: Place) -> float | None:
        found = self.loads[taught].get(place)
        return None if found is None else self.regret(place, found[LCP])


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def pct(log: float) -> float:
    return (math.exp(log) - 1) * 100


def name_of(taught: Taught) -> str:
    visits, churn, beacons = taught
    if not visits:
        return "safe order (`inferred`), page never seen"
    return f"`adaptive` after {visits} visits{', beacons' if beacons else ''}{f', churn {churn:.0%}' if churn else ''}"


def summary(simulated: Simulated) -> Iterator[str]:
    """Of a Markdown table: regrets of each way of learning, and of some fixed schemes."""
    yield "| what | places | mean regret | median | best tenth | worst | more than 2 % worse | safe order at the same places |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for taught, places in sorted(simulated.loads.items()):
        logs = [simulated.regret(place, found[LCP]) for place, found in places.items()]
        same = [log for place in places if (log := simulated.of(UNTAUGHT, place)) is not None]
        yield f"| {name_of(taught)} | {figures(logs)} | {pct(statistics.fmean(same)):.2f} % |"
    for scheme in SCHEMES:
        logs = [simulated.regret(place, costs[scheme]) for place, costs in simulated.fixed_ms.items()]
        yield f"| `{scheme}`{' (uses the manifest)' if scheme == 'bucket' else ''} | {figures(logs)} | |"


def figures(logs: list[float]) -> str:
    """Cells of a row: number, mean, median, tenth percentile, worst, and how many are more than 2 % worse."""
    shares = (statistics.fmean(logs), float(np.median(logs)), float(np.quantile(logs, 0.1)))
    worse = sum(log > math.log(1.02) for log in logs)
    return f"{len(logs)} | {' | '.join(f'{pct(log):.2f} %' for log in shares)} | {pct(max(logs)):.1f} % | {worse}"


def with_late_updates(simulated: Simulated) -> str:
    """In words: the safe order against the better of two fixed ones, where Chromium raises images that layout finds in view."""
    costs = [found["raising_ms"] for found in simulated.loads[UNTAUGHT].values()]
    logs = [math.log(own["adaptive"] / min(own["sequential"], own["eps"])) for own in costs]
    return (
        f"with them the safe order's LCP is {pct(statistics.fmean(logs)):+.2f} % in the mean of {len(logs)} pages against the "
        f"better of `sequential` and `eps` at each, {pct(max(logs)):+.1f} % at worst, and more than 2 % later at "
        f"{sum(log > math.log(1.02) for log in logs)}."
    )


def places(simulated: Simulated) -> Iterator[str]:
    """Of a Markdown table: regrets of each place, with the name of the order that was learned."""
    ways = [taught for taught in sorted(simulated.loads) if taught != UNTAUGHT]
    heads = [name_of(taught).removeprefix("`adaptive` after ") for taught in ways]
    yield f"| site | network | safe order | {' | '.join(heads)} |"
    yield f"|---|---|---:|{'---:|' * len(heads)}"
    for place in simulated.fixed_ms:
        safe = simulated.of(UNTAUGHT, place)
        cells = ["" if safe is None else f"{pct(safe):.1f}"]
        for taught in ways:
            log = simulated.of(taught, place)
            cells.append("" if log is None else f"{pct(log):.1f} ({simulated.loads[taught][place]['order']})")
        yield f"| {place[0]} | {place[1]} | {' | '.join(cells)} |"


def in_chromium(result: StudyResult) -> Iterator[str]:
    """Of a Markdown table: LCP and FCP by the learned order in Chromium against fixed schemes, place by place."""
    heads = [
        "LCP by `adaptive`",
        "against `eps`",
        "against `bucket`",
        "against the best fixed scheme",
        "FCP against `eps`",
    ]
    yield f"| site | network | blocks | {' | '.join(heads)} |"
    yield "|---|---|---:|---:|---|---|---|---|"
    labels = [arm.label for arm in result.arms]
    (learns,) = (label for label in labels if is_adaptive(label))
    for place in result.places:
        if not len(place.blocks):
            continue
        lcp_ms = {label: place.row(number, LCP) for number, label in enumerate(labels)}
        fixed = {label: float(np.median(values)) for label, values in lcp_ms.items() if label != learns}
        best = min(fixed, key=lambda label: fixed[label])
        changes = [change(lcp_ms[learns], lcp_ms[label]) for label in ("eps", "bucket", best)]
        fcp = change(place.row(labels.index(learns), "fcp_ms"), place.row(labels.index("eps"), "fcp_ms"))
        cells = (
            f"{np.median(lcp_ms[learns]) / 1000:.2f} s | {changes[0]} | {changes[1]} | `{best}`: {changes[2]} | {fcp}"
        )
        yield f"| {place.site} | {place.link} | {len(place.blocks)} | {cells} |"


def change(own_ms: np.ndarray[Any, np.dtype[np.float64]], other_ms: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """The paired change of LCP in per cent, with its 95 % interval where there are enough blocks for one."""
    found = paired_shift(np.log(own_ms / other_ms))
    text = f"{pct(found.shift):+z.1f} %"
    if found.pairs < BLOCKS_LEAST:
        return text
    return f"{text} ({pct(found.interval.low):+z.1f} to {pct(found.interval.high):+z.1f})"


def write_page() -> None:
    """From what there is."""
    bundled, generated = Simulated.bundled(), Simulated.generated()
    not_yet = ["Not measured yet."]
    parts = {
        "SUMMARY": summary(bundled),
        "GENERATED": summary(generated) if generated.fixed_ms else not_yet,
        "RAISED": [with_late_updates(generated)] if generated.fixed_ms else not_yet,
        "CHROMIUM": in_chromium(read_lean(CHROMIUM).result) if CHROMIUM.exists() else not_yet,
        "PLACES": places(bundled),
    }
    write_readme(HERE, **{mark: "\n".join(lines) for mark, lines in parts.items()})


if __name__ == "__main__":
    run_script(write_page)
