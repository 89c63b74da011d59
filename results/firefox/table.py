"""Writes README.md of this folder anew from the committed loads: python results/firefox/table.py"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mixedsched.lab.study.lean import read_lean
from mixedsched.lab.study.results import StudiedPlace, StudyResult
from mixedsched.report.papers.markdown import write_readme
from mixedsched.report.papers.script import run_script

HERE = Path(__file__).parent
BROWSERS = ("chromium", "firefox")
LCP = "lcp_ms"


def cells(result: StudyResult, place: StudiedPlace, number: int) -> str:
    """Of a Markdown table: median LCP with the least and the greatest, and the change against the baseline."""
    times_s = place.row(number, LCP) / 1000
    times_s = times_s[~np.isnan(times_s)]
    seen = f"{np.median(times_s):.2f} s ({times_s.min():.2f} to {times_s.max():.2f})"
    effect = place.effect(result.arms[number].label, LCP)
    if effect is None or effect.change_pct is None or effect.low_pct is None or effect.high_pct is None:
        return f"{seen} | "
    return (
        f"{seen} | {effect.change_pct:+.1f} % ({effect.low_pct:+.1f} to {effect.high_pct:+.1f}) {effect.verdict.value}"
    )


def rows(results: dict[str, StudyResult]) -> Iterator[str]:
    first = results[BROWSERS[0]]
    for place in first.places:
        for number, arm in enumerate(first.arms):
            beside = [
                cells(result, same, number)
                for result in results.values()
                for same in result.places
                if same.site == place.site
            ]
            yield f"| {place.site} | `{arm.label}` | {' | '.join(beside)} |"


def main() -> None:
    results = {name: read_lean(HERE / f"{name}.parquet").result for name in BROWSERS}
    table = [
        "| site | scheme | Chromium: LCP | change | Firefox: LCP | change |",
        "|---|---|---|---|---|---|",
        *rows(results),
    ]
    write_readme(HERE, TABLE="\n".join(table))


if __name__ == "__main__":
    run_script(main)
