"""From ByteIndex to what people see: does it order schemes as Chromium's paints do?

Data: results/calibration, and lossy.parquet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from lossy import median_of, read
from playing import play_all, scheme_named
from scipy.stats import spearmanr

from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.report.papers.markdown import finding, table
from mixedsched.report.papers.verdicts import over_sites
from mixedsched.sites.opening import open_site

CALIBRATION = Path(__file__).parents[1] / "calibration" / "calibration.json"


def bridge_tables() -> Iterator[str]:
    """Rank correlations over schemes, site by site, then over sites."""
    sites = json.loads(CALIBRATION.read_text(encoding="utf-8"))["sites"]
    found: dict[tuple[str, str], dict[str, float]] = {}
    for site in sites:
        for metric in ("fcp", "lcp"):
            measured: dict[str, float] = site["measured_ms"][metric]
            page = open_site(site["site"]).page
            played = {name: play_all([page], scheme_named(name), PipeOptions()) for name in measured}
            for which, indexes in (
                ("ATF", {name: float(item.above_fold_ms[0]) for name, item in played.items()}),
                ("All", {name: float(item.all_ms[0]) for name, item in played.items()}),
            ):
                found.setdefault((which, metric), {})[site["site"]] = _agreement(indexes, measured)
    yield "## A bridge to people\n"
    yield (
        f"ByteIndex on rung `pipe` against paints measured in Chromium (results/calibration: {len(sites)} bundled sites over "
        "slow-4g and 4g, ten schemes each, one load): Spearman's correlation over the schemes of a site, medians over sites.\n"
    )
    rows = [
        [f"ByteIndex, {which}", metric.upper(), finding(over_sites(values), "")]
        for (which, metric), values in found.items()
    ]  # fmt: skip
    yield table(("index", "paint in Chromium", "correlation"), rows, left=2)
    yield from _under_loss()


def _under_loss() -> Iterator[str]:
    loads, *_ = read("lossy")
    if not loads:
        return
    links = list(dict.fromkeys(link for link, _, _ in loads))
    arms = list(dict.fromkeys(arm for _, arm, _ in loads))
    yield (
        "The same with both from rung `stack` (lossy.toml; paints are estimates). Speed Index was not measured in Chromium "
        "for these schemes.\n"
    )
    rows = []
    for link in links:
        cells = [link]
        for paint in ("lcp_ms", "si_ms"):
            values = {}
            for site in loads[link, arms[0], paint]:
                indexes = {arm: median_of(loads[link, arm, "byte_index_atf_ms"][site]) for arm in arms}
                values[site] = _agreement(indexes, {arm: median_of(loads[link, arm, paint][site]) for arm in arms})
            cells.append(finding(over_sites(values), ""))
        rows.append(cells)
    yield table(("network", "LCP", "Speed Index"), rows)


def _agreement(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """NaN where either is the same for all schemes."""
    names = [name for name in one if name in other and np.isfinite(one[name]) and np.isfinite(other[name])]
    first, second = [one[name] for name in names], [other[name] for name in names]
    if len(names) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(spearmanr(first, second).statistic)
