"""What does a load cost without TTI, and does it measure the same? Both ways side by side, in paired loads.

`python -m benchmarks.load_cost` loads five sites in Chromium, with TTI and without, in pairs over the same link seed, in random
order. It keeps a line for each load in results/load-cost/LINK.jsonl, and goes on where it stopped; `--minutes` ends it before
the first pair that would begin later. It ends with two tables: what a load costs beyond itself, and how far the metrics moved.
`--tell` only makes the tables. docs/measuring.md holds them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from benchmarks._command import HOME, parser_of, say_all
from mixedsched.core import stats
from mixedsched.core.metrics import PAGE_METRICS, QUICK_METRICS, metric_named
from mixedsched.lab._lab import Lab, LabSetup
from mixedsched.lab.model import Arm, Run
from mixedsched.report.papers.script import Countdown, run_script, tell
from mixedsched.sites.opening import open_site
from mixedsched.world import catalog

RESULTS = HOME / "results" / "load-cost"
SITES = ("agency", "davies-meenan", "paper-kit", "sb-admin", "apache-manual")
WAYS: Mapping[str, tuple[str, ...]] = {"with TTI": PAGE_METRICS, "without": QUICK_METRICS}
_SCHEME = "sequential"
_MOMENTS = ("load_ms", "last_visual_change_ms", "trace_end_ms")
_SETTLED_MS = 1000.0  # after the load event, the soonest end of a load without TTI

Row = dict[str, Any]


def main() -> None:
    arguments = _arguments()
    file = RESULTS / f"{arguments.link}.jsonl"
    if not arguments.tell:
        file.parent.mkdir(parents=True, exist_ok=True)
        asyncio.run(_measure(arguments, file))
    rows = _rows(file)
    say_all([*cost_table(rows), "", *shift_table(rows)])


async def _measure(arguments: argparse.Namespace, file: Path) -> None:
    end_s = time.monotonic() + arguments.minutes * 60
    done = {(row["site"], row["pair"]) for row in _rows(file)}
    missing = {
        name: [pair for pair in range(1, arguments.pairs + 1) if (name, pair) not in done]
        for name in arguments.sites.split(",")
    }
    countdown = Countdown(sum(map(len, missing.values())))
    for name, pairs in missing.items():
        if pairs and time.monotonic() < end_s:
            await _measure_site(name, arguments.link, pairs, end_s, file, countdown)


async def _measure_site(
    name: str, link: str, pairs: Sequence[int], end_s: float, file: Path, countdown: Countdown
) -> None:
    """One laboratory for each way; the first load of each is a warm-up."""
    site, profile = open_site(name, say=tell), catalog.load_profile(link)
    async with AsyncExitStack() as stack:
        labs: dict[str, Lab] = {}
        for way, metrics in WAYS.items():
            setup = LabSetup(profile, "mobile", {_SCHEME: site}, metrics=metrics)
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mixedsched-load-cost-"))
            labs[way] = await stack.enter_async_context(Lab(setup, [Arm(_SCHEME, _SCHEME)], Path(folder)))
            await labs[way].run(arm=_SCHEME, block=0, attempt=1, position=0, link_seed=0)
        for pair in pairs:
            if time.monotonic() > end_s:
                break
            runs: dict[str, Run] = {}
            for position, way in enumerate(random.Random(f"{name}/{pair}").sample(sorted(WAYS), len(WAYS))):
                runs[way] = await labs[way].run(arm=_SCHEME, block=pair, attempt=1, position=position, link_seed=pair)
            _keep(file, [{"site": name, "pair": pair, "way": way, **_found(run)} for way, run in runs.items()])
            countdown.done(f"{name}, pair {pair}: {', '.join(f'{way} {run.status}' for way, run in runs.items())}")


def _found(run: Run) -> Row:
    load = run.page_load
    observed = load.get("observed", {})
    return {
        "status": run.status.value,
        "reason": run.reason,
        "cost_s": run.cost_s,
        "overhead_s": round(run.overhead_s, 3),
        "timings_ms": load.get("timings_ms"),
        "score": run.score,
        **load.get("metrics", {}),
        **{name: observed.get(name) for name in _MOMENTS},
    }


def _keep(file: Path, rows: Sequence[Row]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(row) + "\n")


def _rows(file: Path) -> list[Row]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _pairs_of(rows: Sequence[Row], site: str) -> list[tuple[Row, Row]]:
    """Those of which both loads count, the one with TTI first."""
    by_pair: dict[int, dict[str, Row]] = {}
    for row in rows:
        if row["site"] == site and row["status"] == "ok":
            by_pair.setdefault(row["pair"], {})[row["way"]] = row
    found = [tuple(ways.get(way) for way in WAYS) for _, ways in sorted(by_pair.items())]
    return [(long, quick) for long, quick in found if long is not None and quick is not None]


def _sites_of(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["site"] for row in rows))


def cost_table(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of Markdown. Late paints and tasks: loads with TTI in which the last one came over 1 s after the load event: a
    load without TTI may not see it.
    """
    titles = ("site", "pairs", "load", "beyond it, with TTI", "without", "late paints", "late tasks")
    yield f"| {' | '.join(titles)} |"
    yield "|---" * len(titles) + "|"
    for site in _sites_of(rows):
        pairs = _pairs_of(rows, site)
        if not pairs:
            continue
        load_ms, long_s, quick_s = (
            statistics.median(column)
            for column in (
                [row["load_ms"] for pair in pairs for row in pair],
                [long["overhead_s"] for long, _ in pairs],
                [quick["overhead_s"] for _, quick in pairs],
            )
        )
        painted = sum(
            max(long["last_visual_change_ms"], long["lcp_ms"]) > long["load_ms"] + _SETTLED_MS for long, _ in pairs
        )
        worked = sum(long["tti_ms"] > long["load_ms"] + _SETTLED_MS for long, _ in pairs)
        cells = (site, len(pairs), f"{load_ms / 1000:.1f} s", f"{long_s:.1f} s", f"{quick_s:.1f} s", painted, worked)
        yield f"| {' | '.join(map(str, cells))} |"


def shift_table(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of Markdown: without TTI against with it, over the pairs of a site, and the median over the sites."""
    metrics = [metric_named(key) for key in QUICK_METRICS]
    yield f"| site | {' | '.join(item.short for item in metrics)} |"
    yield "|---" * (len(metrics) + 1) + "|"
    shifts: dict[str, list[float]] = {item.key: [] for item in metrics}
    for site in _sites_of(rows):
        pairs = _pairs_of(rows, site)
        if not pairs:
            continue
        cells = []
        for item in metrics:
            steps = [
                math.log(quick[item.key] / long[item.key])
                if item.scale == "ratio"
                else quick[item.key] - long[item.key]
                for long, quick in pairs
            ]
            changes = [stats.hodges_lehmann(steps), *_interval(steps)]
            if item.scale == "ratio":
                changes = [100 * math.expm1(step) for step in changes]
            shifts[item.key].append(changes[0])
            told = [item.format_change(change) for change in changes]
            cells.append(f"{told[0]} ({told[1]} to {told[2]})")
        yield f"| {site} | {' | '.join(cells)} |"
    medians = [item.format_change(statistics.median(shifts[item.key])) if shifts[item.key] else "–" for item in metrics]
    yield f"| median of the sites | {' | '.join(medians)} |"


def _interval(steps: Sequence[float]) -> tuple[float, float]:
    interval = stats.signed_rank_interval(steps)
    return interval.low, interval.high


def _arguments() -> argparse.Namespace:
    parser = parser_of("load_cost", __doc__)
    parser.add_argument("--sites", default=",".join(SITES), help="sites, with commas between")
    parser.add_argument("--link", default="cable", help="a network profile")
    parser.add_argument("--pairs", type=int, default=10, help="of each site")
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="begin no pair later than this; the same command goes on"
    )
    parser.add_argument("--tell", action="store_true", help="only make the tables, of what is stored")
    return parser.parse_args()


if __name__ == "__main__":
    run_script(main)
