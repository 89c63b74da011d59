"""Draws figures 3, 4, 5a and 5b and judges every claim, from what is committed in data/: python results/gupta2024/draw.py

Writes figures/, claims.md and cells.md beside this file. An unfinished study is drawn as far as it is, and says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cells import HIGH_MEDIA, SHORT, cells_page, measured
from claims import claims_of
from loads import CHROMIUM, HERE, LINKS, MIXED, REAL_SITES, STACK, Loads, read_all
from published import FIGURES, METRICS, NAMES, SITES, cell

from mixedsched.report.papers.figures import BesideRow, beside_figure
from mixedsched.report.papers.markdown import claims_table
from mixedsched.report.papers.script import run_script
from mixedsched.report.papers.shares import BarsPanel, bars_figure

DRAWN = HERE / "figures"
PAGES = HERE / "data" / "pages.json"  # kinds of the stand-ins' resources, with their number and bytes
DRAWN_LINKS = ("cdn", "slow-4g")
COLUMNS = {  # of Table I
    "document": "Docs",
    "stylesheet": "Style Sheet",
    "font": "Font",
    "script": "Script",
    "image": "Media",
    "media": "Media",
    "xhr": "Others",
    "other": "Others",
}
SPAN = (-100.0, 100.0)  # of figures 4 and 5, in per cent; what is beyond is drawn at the end


def main() -> None:
    loads = read_all()
    played = {link for item in loads.values() for result in item.studies.values() for link in result.links}
    links = [link for link in LINKS if link in played or link in DRAWN_LINKS]
    DRAWN.mkdir(exist_ok=True)
    _write(DRAWN / "figure-3.svg", _pages(json.loads(PAGES.read_text(encoding="utf-8"))))
    for figure, rival in FIGURES.items():
        for link in DRAWN_LINKS:
            _write(DRAWN / f"figure-{figure}-{link}.svg", _figure(loads, figure, rival, link))
    _write(HERE / "claims.md", _claims(loads, links))
    _write(HERE / "cells.md", cells_page(loads, links))


def _pages(kinds: Mapping[str, Mapping[str, tuple[int, int]]]) -> str:
    """Figure 3 of our stand-ins. kinds: by site and kind, number and bytes."""
    count = {column: [0] * len(SITES) for column in dict.fromkeys(COLUMNS.values())}
    size_bytes = {column: [0] * len(SITES) for column in count}
    for place, site in enumerate(SITES):
        for kind, (number, of_bytes) in kinds[site].items():
            count[COLUMNS[kind]][place] += number
            size_bytes[COLUMNS[kind]][place] += of_bytes
    return bars_figure(
        "Figure 3: the stand-ins of the eight sites",
        [
            "Synthetic: which numbers are known of the real sites and which are assumed is told in docs/synthetic.md.",
            "The paper's own bars cannot be read from its text.",
        ],
        [NAMES[site] for site in SITES],
        [
            BarsPanel("(a) number of resources", count),
            BarsPanel("(b) share of resources by kind", _shares(count), "%"),
            BarsPanel("(c) share of bytes by kind", _shares(size_bytes), "%"),
        ],
    )


def _shares(amounts: Mapping[str, list[int]]) -> dict[str, list[float]]:
    totals = [sum(column) or 1 for column in zip(*amounts.values(), strict=True)]
    return {
        kind: [round(100 * value / total, 2) for value, total in zip(row, totals, strict=True)]
        for kind, row in amounts.items()
    }


def _figure(loads: Mapping[str, Loads], figure: str, rival: str, link: str) -> str:
    rows = []
    for metric in METRICS:
        for site in (*SITES, *REAL_SITES):
            said = cell(figure, metric, site) if site in NAMES else None
            found = [
                (f"{source}{', High media N' if mixed == HIGH_MEDIA else ''}", item.found)
                for source in (STACK, CHROMIUM)
                for mixed in (MIXED, HIGH_MEDIA)
                for item in [measured(loads[source], link, figure, metric, site, mixed)]
                if item.found.units
            ]
            if found:
                words = f" ({said.words})" if said is not None and said.direction is not None else ""
                label = f"{SHORT[metric]}, {NAMES.get(site, site)}{words}"
                rows.append(BesideRow(label, None if said is None else said.percent, found))
    return beside_figure(
        f"Figure {figure}: mixed delivery over {rival}, {link}",
        [
            "Improvement in per cent: right of zero mixed is better. In brackets what the paper says of the bar.",
            f"Network: {LINKS[link]}. Intervals of 95 % over paired blocks; hollow: too few blocks; beyond 100 %: at the edge.",
            "The four last sites of each metric are real contents, the others stand-ins. Rung stack estimates its metrics.",
        ],
        rows,
        span=SPAN,
    )


def _claims(loads: Mapping[str, Loads], links: list[str]) -> str:
    progress = "; ".join(
        f"{name}: {done} of {wanted}"
        for name, item in loads.items()
        for done, wanted in [item.progress(links)]
        if wanted
    )
    parts = [_INTRODUCTION.format(progress or "none")]
    for link in links:
        note = " (the paper's network)" if link == "cdn" else ""
        is_partial = not loads[CHROMIUM].studies or any(
            done < wanted for item in loads.values() for done, wanted in [item.progress([link])]
        )
        told = [replace(claim, is_partial=is_partial) for claim in claims_of(loads, link)]
        parts.append(f"## Over {link}{note}\n\n{claims_table(told)}")
    return "\n".join(parts)


_INTRODUCTION = """# The claims of Gupta & Bartos 2024

`python results/gupta2024/draw.py` writes this page from `data/`; [docs/reproductions.md](../../docs/reproductions.md) is the
rule, [cells.md](cells.md) has every cell. Complete blocks so far: {}.
"""


def _write(path: Path, content: str) -> None:
    path.write_text(content.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    run_script(main)
