"""Writes README.md of this folder anew from the committed loads: python results/servers/table.py"""

from __future__ import annotations

import itertools
import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from decoded import MARK
from scipy.stats import spearmanr

from mixedsched.core.stats import paired_shift
from mixedsched.lab.comparison import Effect
from mixedsched.lab.study.lean import LeanStudy, read_lean
from mixedsched.lab.study.results import StudyResult
from mixedsched.report.papers.markdown import write_readme
from mixedsched.report.papers.script import run_script

HERE = Path(__file__).parent
TUNED = HERE.parent / "tuned"
METRICS = {"lcp_ms": "LCP", "fcp_ms": "FCP", "si_ms": "SI"}
MODELS = {
    "eps": "eps", "@caddy": "server-quic-go", "@quic-go": "server-quic-go", "@gtlsserver": "server-nghttp3",
    "@nginx": "server-nginx",
}  # fmt: skip
ARMS_LEAST = 3  # to rank
PLACES_LEAST = 4
BLOCKS_LEAST = 6  # for an interval
TIE = 0.02  # as a ratio of LCP: models that differ by less say nothing of a rank


def change(effect: Effect | None, blocks: int) -> str:
    """With its interval, where there are enough blocks for one."""
    if effect is None or effect.change_pct is None:
        return ""
    if effect.low_pct is None or effect.high_pct is None or blocks < BLOCKS_LEAST:
        return f"{effect.change_pct:+z.1f} %"
    return f"{effect.change_pct:+z.1f} % ({effect.low_pct:+z.1f} to {effect.high_pct:+z.1f}) {effect.verdict.value}"


def place_rows(result: StudyResult) -> Iterator[str]:
    """Of a Markdown table: each place and server, against eps."""
    for place in result.places:
        for arm in result.arms[1:]:
            effects = [place.effect(arm.label, key) for key in METRICS]
            if any(effect is not None for effect in effects):
                cells = " | ".join(change(effect, len(place.blocks)) for effect in effects)
                yield f"| {place.site} | {place.link} | `{arm.label}` | {len(place.blocks)} | {cells} |"
        if len(place.blocks):
            yield from tuned_row(place.site, place.link)


def tuned_row(site: str, link: str) -> Iterator[str]:
    """The order that `tune` has confirmed in Chromium for a place, if it has, against the best scheme that was there before."""
    file = TUNED / f"{site.replace('/', '-')}-{link}" / "tune.json"
    facts = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if facts.get("outcome") != "confirmed":
        return
    by_metric = {item["metric"]: item for item in facts["effects"] if item["link"] == link and item["arm"] == "tuned"}
    cells = [tuned_change(by_metric.get(key)) for key in METRICS]
    (baseline,) = {item["baseline"] for item in by_metric.values()}
    (blocks,) = {item["blocks"] for item in by_metric.values()}
    yield f"| {site} | {link} | tuned order, against `{baseline}` | {blocks} | {' | '.join(cells)} |"


def tuned_change(effect: dict[str, Any] | None) -> str:
    """As `change`, of an effect as `tune --json` has it."""
    if effect is None:
        return ""
    return "{change_pct:+z.1f} % ({ci_low_pct:+z.1f} to {ci_high_pct:+z.1f}) {verdict}".format(**effect)


def medians(study: LeanStudy) -> dict[tuple[str, str], dict[str, float]]:
    """LCP in ms by place and arm, over the blocks that count."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for place in study.result.places:
        if len(place.blocks):
            rows = {arm.label: place.row(number, "lcp_ms") for number, arm in enumerate(study.result.arms)}
            found[place.site.removesuffix(MARK), place.link] = {
                label: float(np.nanmedian(row)) for label, row in rows.items() if not np.isnan(row).all()
            }
    return found


def agreement(measured: LeanStudy, played: LeanStudy) -> str:
    """In words: whether the models rank the servers of a place as Chromium does."""
    simulated, correlations = medians(played), []
    pooled: tuple[list[float], list[float]] = ([], [])  # logarithms against the mean of the place
    for place, by_arm in medians(measured).items():
        models = simulated.get(place, {})
        arms = [arm for arm in by_arm if MODELS[arm] in models]
        if len(arms) >= ARMS_LEAST:
            both = [by_arm[arm] for arm in arms], [models[MODELS[arm]] for arm in arms]
            found = spearmanr(*both)
            correlations.append(0.0 if np.isnan(found.statistic) else float(found.statistic))
            for values, lcp_ms in zip(pooled, both, strict=True):
                values += list(np.log(lcp_ms) - np.log(lcp_ms).mean())
    if len(correlations) < PLACES_LEAST:
        return f"Places with loads of both: {len(correlations)}, which is too few to say whether the models rank servers alike."
    mean, least = statistics.fmean(correlations), min(correlations)
    return (
        f"Rank correlation (Spearman) of median LCP between Chromium and the models, place by place over the servers: "
        f"{mean:.2f} in the mean of {len(correlations)} places, {least:.2f} at the least. Caddy and quic-go share a model, "
        "and so a rank; where servers hardly differ, their ranks are chance. All places at once, each server's LCP against "
        f"the mean of its place: {spearmanr(*pooled).statistic:.2f} over {len(pooled[0])} values."
    )


def told_apart(measured: LeanStudy, played: LeanStudy) -> str:
    """In words: how the models rank those pairs of servers that Chromium tells apart, where ranks are not chance."""
    simulated = medians(played)
    alike = ties = pairs = 0
    for place in measured.result.places:
        models = simulated.get((place.site, place.link), {})
        lcp_ms = {arm.label: place.row(number, "lcp_ms") for number, arm in enumerate(measured.result.arms)}
        for one, other in itertools.combinations([label for label in lcp_ms if MODELS[label] in models], 2):
            found = paired_shift(np.log(lcp_ms[one] / lcp_ms[other]))
            if found.pairs < BLOCKS_LEAST or found.interval.low <= 0 <= found.interval.high:
                continue
            pairs += 1
            ratio = models[MODELS[one]] / models[MODELS[other]]
            ties += abs(ratio - 1) < TIE
            alike += abs(ratio - 1) >= TIE and (ratio > 1) == (found.shift > 0)
    return (
        f"Of the {pairs} pairs of servers whose LCP differs in Chromium at a place (the paired 95 % interval excludes zero), "
        f"the models rank {alike} alike and {pairs - alike - ties} the other way round; {ties} differ by less than "
        f"{TIE * 100:.0f} % in the models."
    )


def write_page() -> None:
    """From what there is."""
    files = {name: HERE / f"{name}.parquet" for name in ("browser", "models")}
    studies = {name: read_lean(file) for name, file in files.items() if file.exists()}
    heads = " | ".join(METRICS.values())
    rows = [f"| site | network | server | blocks | {heads} |", "|---|---|---|---:|" + "---|" * len(METRICS)]
    if "browser" in studies:
        rows += place_rows(studies["browser"].result)
    told = "Not played yet."
    if len(studies) == len(files):
        told = "\n\n".join(tell(studies["browser"], studies["models"]) for tell in (agreement, told_apart))
    write_readme(HERE, PLACES="\n".join(rows), MODELS=told)


if __name__ == "__main__":
    run_script(write_page)
