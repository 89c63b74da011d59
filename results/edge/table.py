"""Writes README.md of this folder anew from the committed loads: python results/edge/table.py"""

import json
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mixedsched.core.stats import paired_shift

HERE = Path(__file__).parent
DATA, TEXT = HERE / "loads.jsonl", HERE / "README.md.in"
METRICS = {"lcp_ms": "LCP", "fcp_ms": "FCP", "si_ms": "SI"}
PAIRS = {
    "nginx": "edge+nginx", "caddy": "edge+caddy", "edge+caddy:eps": "edge+caddy",
}  # fmt: skip
BLOCKS_LEAST = 6  # for an interval at 95 %

Place = tuple[str, str]


def good_loads() -> dict[Place, dict[str, dict[int, dict[str, Any]]]]:
    """By place, arm and block."""
    found: dict[Place, dict[str, dict[int, dict[str, Any]]]] = {}
    for line in DATA.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if not row["why"]:
            found.setdefault((row["site"], row["link"]), {}).setdefault(row["arm"], {})[row["block"]] = row
    return found


def change(first: dict[int, dict[str, Any]], second: dict[int, dict[str, Any]], metric: str) -> str:
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


def rows() -> Iterator[str]:
    """Of a Markdown table: each place and pair of arms."""
    for (site, link), arms in good_loads().items():
        for before, after in PAIRS.items():
            if before not in arms or after not in arms:
                continue
            times = [statistics.median(row["lcp_ms"] for row in arms[arm].values()) / 1000 for arm in (before, after)]
            cells = " | ".join(change(arms[before], arms[after], metric) for metric in METRICS)
            blocks = len(arms[before].keys() & arms[after].keys())
            yield f"| {site} | {link} | {before} | {after} | {blocks} | {times[0]:.2f} s → {times[1]:.2f} s | {cells} |"


def failed() -> str:
    lines = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    bad = [row for row in lines if row["why"]]
    reasons = sorted({row["why"].partition(":")[0] for row in bad})
    return f"{len(bad)} of {len(lines)} loads gave no result and were repeated" + (
        f" ({', '.join(reasons)})." if bad else "."
    )


def versions() -> str:
    found = {json.dumps(json.loads(line)["versions"]) for line in DATA.read_text(encoding="utf-8").splitlines()}
    return "; ".join(
        ", ".join(f"{name} {number}" for name, number in json.loads(text).items()) for text in sorted(found)
    )


def write_readme() -> None:
    """From what there is."""
    heads = " | ".join(f"{name}, change" for name in METRICS.values())
    table = [
        "| site | network | from | to | blocks | median LCP | " + heads + " |",
        "|---|---|---|---|---:|---|---|---|---|",
        *rows(),
    ]
    text = TEXT.read_text(encoding="utf-8").replace("@TABLE@", "\n".join(table))
    text = text.replace("@FAILED@", failed()).replace("@VERSIONS@", versions())
    (HERE / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_readme()
