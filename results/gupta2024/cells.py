"""Every cell of figures 4, 5a and 5b: the paper's, ours with its interval or why there is none; and all readings of Table I."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from judge import stand_ins
from loads import CHROMIUM, LINKS, MIXED, MODEL, NONE, REAL_SITES, STACK, STAND_INS, WORKING, Loads
from published import FIGURES, METRICS, NAMES, SITES, cell

from mixedsched.report.papers.markdown import finding, table
from mixedsched.report.papers.verdicts import Finding, over_sites

SHORT = {"fcp_ms": "FCP", "lcp_ms": "LCP", "tti_ms": "TTI", "tbt_ms": "TBT", "si_ms": "Speed Index"}
HIGH_MEDIA = "mixed:high_media=N"
WORKING_SITES = ("wikipedia", "etsy", "amazon")
NOT_THERE = "-"


@dataclass(frozen=True, slots=True)
class Measured:
    """Ours beside a bar of the paper's."""

    found: Finding
    why_not: str = ""  # where there is nothing to find

    @property
    def words(self) -> str:
        if self.why_not or not self.found.units:
            return self.why_not or NOT_THERE
        few = "" if self.found.is_enough else f", {self.found.units} blocks"
        return finding(self.found) + few


def measured(loads: Loads, link: str, figure: str, metric: str, site: str, mixed: str = MIXED) -> Measured:
    """One cell of ours. site: the paper's name of a stand-in, or a site of real contents."""
    name = site if site in REAL_SITES else f"{STAND_INS}{site}"
    if metric == "tbt_ms" and site in WORKING_SITES:
        name = f"{WORKING}{site}"
    if metric == "tti_ms" and loads.source == STACK:
        return Measured(NONE, "only a browser has it")
    found = loads.improvement(name, link, FIGURES[figure], metric, mixed)
    if not found.units:
        if metric == "tti_ms":
            return Measured(NONE, "asked over `cdn` alone")
        is_blocked = loads.level(name, link, MIXED, metric).units > 0
        return Measured(NONE, "sometimes 0" if is_blocked else "no loads yet")
    return Measured(found)


def cells_page(loads: Mapping[str, Loads], links: Sequence[str]) -> str:
    parts = [_INTRODUCTION]
    for figure, rival in FIGURES.items():
        parts += [
            f"## Figure {figure}: over `{rival}`, {link} ({LINKS[link]})\n\n{_figure(loads, figure, link)}"
            for link in links
        ]
    parts.append(_shifts(loads, links))
    parts.append(_model(loads))
    parts.append(_readings(loads[STACK], links))
    return "\n".join(parts)


_INTRODUCTION = """# Gupta & Bartos 2024: every cell of figures 4 and 5

Written by `draw.py` from `data/`. Improvements of `mixed` in per cent of the rival's median, above zero is better, with 95 %
intervals over paired blocks (Hodges and Lehmann). The eight named as in the paper are synthetic stand-ins, the last four real
contents. TBT of Wikipedia, Etsy and Amazon is that of the variants whose scripts work (`gupta2024-work`). "N" is the reading
of Table I by which High media are not incremental (`mixed:high_media=N`). Rung `stack` estimates its metrics: a first guess.
"""


def _figure(loads: Mapping[str, Loads], figure: str, link: str) -> str:
    rows = []
    for metric in METRICS:
        for site in (*SITES, *REAL_SITES):
            said = cell(figure, metric, site).words if site in NAMES else NOT_THERE
            found = [
                measured(loads[source], link, figure, metric, site, mixed).words
                for source in (STACK, CHROMIUM)
                for mixed in (MIXED, HIGH_MEDIA)
            ]
            rows.append((SHORT[metric], NAMES.get(site, f"`{site}`"), said, *found))
    return table(("metric", "site", "paper", "stack", "stack, N", "Chromium", "Chromium, N"), rows, left=2)


def _shifts(loads: Mapping[str, Loads], links: Sequence[str]) -> str:
    """Layout shifts, as values."""
    rows = []
    for source in (STACK, CHROMIUM):
        for link in links:
            for site in WORKING_SITES:
                values = [
                    loads[source].level(f"{WORKING}{site}", link, arm, "cls") for arm in (MIXED, *FIGURES.values())
                ]
                if values[0].units:
                    rows.append((source, link, NAMES[site], *(f"{value.value:.3f}" for value in values)))
    heads = ("by", "network", "site", MIXED, *FIGURES.values())
    words = "Values of CLS of the variants that shift. The paper: below 0.1 everywhere, on Amazon 73 % less.\n\n"
    return f"## Section VI-D: layout shifts\n\n{words}{table(heads, rows, left=3)}"


def _model(loads: Mapping[str, Loads]) -> str:
    """What Lighthouse's own model makes of loads whose order of bytes it does not know."""
    rows = []
    for metric in METRICS:
        for site in SITES:
            found = measured(loads[MODEL], "cdn", "4", metric, site)
            if found.found.units:
                observed = measured(loads[CHROMIUM], "cdn", "4", metric, site)
                rows.append((SHORT[metric], NAMES[site], cell("4", metric, site).words, observed.words, found.words))
    words = (
        "Lighthouse's default computes its metrics by a model of a slow phone from one fast load, as the paper may have done. "
        "Such numbers are never combined with observed ones.\n\n"
    )
    shown = table(("metric", "site", "paper", "observed", "by the model"), rows, left=2) if rows else "No loads yet.\n"
    return f"## Figure 4 by Lighthouse's own model, cdn\n\n{words}{shown}"


def _readings(loads: Loads, links: Sequence[str]) -> str:
    """The median improvement over the stand-ins, for every reading that was played."""
    arms = [arm for arm in loads.arms(links[-1]) if arm.partition(":")[0] == MIXED]
    parts = []
    for link in links:
        rows = [
            (
                f"`{arm}`",
                *(
                    finding(over_sites(values, np.median)) if values else NOT_THERE
                    for values in _medians(loads, link, arm)
                ),
            )
            for arm in arms
        ]
        heads = (
            "reading",
            *(f"{SHORT[key]} over `{rival}`" for rival in FIGURES.values() for key in ("fcp_ms", "lcp_ms")),
        )
        parts.append(f"### {link}\n\n{table(heads, rows)}")
    words = "Medians over the eight stand-ins, rung `stack`, with 95 % intervals over sites.\n\n"
    return f"## All readings of Table I and Algorithm 1\n\n{words}" + "\n".join(parts)


def _medians(loads: Loads, link: str, arm: str) -> Iterator[dict[str, float]]:
    for rival in FIGURES.values():
        for key in ("fcp_ms", "lcp_ms"):
            yield loads.improvements(stand_ins(), link, rival, key, arm)
