"""Writes README.md of this folder anew from the committed loads: python results/edge/table.py"""

import json
import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mixedsched.core.stats import paired_shift
from mixedsched.report.papers.markdown import write_readme
from mixedsched.report.papers.script import run_script

HERE = Path(__file__).parent
DATA = HERE / "loads.jsonl"
METRICS = {"lcp_ms": "LCP", "fcp_ms": "FCP", "si_ms": "SI"}
PAIRS = {
    "nginx": "edge+nginx", "caddy": "edge+caddy", "edge+caddy:eps": "edge+caddy",
}  # fmt: skip
BLOCKS_LEAST = 6  # for an interval at 95 %

Place = tuple[str, str]
Load = dict[str, Any]


def good_loads(loads: Sequence[Load]) -> dict[Place, dict[str, dict[int, Load]]]:
    """By place, arm and block."""
    found: dict[Place, dict[str, dict[int, Load]]] = {}
    for load in loads:
        if not load["why"]:
            found.setdefault((load["site"], load["link"]), {}).setdefault(load["arm"], {})[load["block"]] = load
    return found


def change(first: dict[int, Load], second: dict[int, Load], metric: str) -> str:
    """Of the second arm against the first, over the blocks that both have."""
    blocks = sorted(first.keys() & second.keys())
    if not blocks:
        return ""
    shift = paired_shift([math.log(second[block][metric] / first[block][metric]) for block in blocks])
    words = f"{100 * math.expm1(shift.shift):+.1f} %"
    if len(blocks) < BLOCKS_LEAST:
        return words
    low, high = (100 * math.expm1(end) for end in (shift.interval.low, shift.interval.high))
    return f"{words} ({low:+.1f} to {high:+.1f})"


def rows(loads: Sequence[Load]) -> Iterator[str]:
    """Of a Markdown table: each place and pair of arms."""
    for (site, link), arms in good_loads(loads).items():
        for before, after in PAIRS.items():
            if before not in arms or after not in arms:
                continue
            times = [statistics.median(load["lcp_ms"] for load in arms[arm].values()) / 1000 for arm in (before, after)]
            cells = " | ".join(change(arms[before], arms[after], metric) for metric in METRICS)
            blocks = len(arms[before].keys() & arms[after].keys())
            yield f"| {site} | {link} | {before} | {after} | {blocks} | {times[0]:.2f} s → {times[1]:.2f} s | {cells} |"


def failed(loads: Sequence[Load]) -> str:
    bad = [load["why"].partition(":")[0] for load in loads if load["why"]]
    reasons = f" ({', '.join(sorted(set(bad)))})" if bad else ""
    return f"{len(bad)} of {len(loads)} loads gave no result and were repeated{reasons}."


def versions(loads: Sequence[Load]) -> str:
    found = {", ".join(f"{name} {number}" for name, number in load["versions"].items()) for load in loads}
    return "; ".join(sorted(found))


def main() -> None:
    """From what there is."""
    loads = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    heads = " | ".join(f"{name}, change" for name in METRICS.values())
    table = [
        f"| site | network | from | to | blocks | median LCP | {heads} |",
        "|---|---|---|---|---:|---|" + "---|" * len(METRICS),
        *rows(loads),
    ]
    write_readme(HERE, TABLE="\n".join(table), FAILED=failed(loads), VERSIONS=versions(loads))


if __name__ == "__main__":
    run_script(main)
