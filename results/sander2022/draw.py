"""Draws figures 5 to 9 and judges every claim, from what is committed in data/: python results/sander2022/draw.py

Writes figures/, claims.md and counts.md beside this file. An unfinished study is drawn as far as it is, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from claims import claims_of
from claims_losses import points_of
from data import (
    BANDWIDTHS,
    BURSTS,
    HERE,
    HOL,
    LOSSES,
    NAMES,
    PARALLEL,
    ROUND_TRIPS,
    SI,
    Pages,
    correlation,
    minus,
    read_all,
    twin_of,
)
from loss_runs import findings, read_runs
from sizes import bytes_of

from mixedsched.report.papers.figures import (
    BesideRow,
    Curve,
    CurvesPanel,
    DotsPanel,
    beside_figure,
    curves_figure,
    dots_figure,
)
from mixedsched.report.papers.markdown import claims_table, finding, table
from mixedsched.report.papers.script import run_script
from mixedsched.report.papers.verdicts import over_sites

FIGURES = HERE / "figures"
WORDS = {
    **{f"bw{rate}": f"{rate} Mbit/s" for rate in (1, 2, 5, 10, 50)},
    **{f"loss{rate}": f"{rate} % loss" for rate in (1, 2, 5)},
    **{f"rtt{rtt}": f"{rtt} ms" for rtt in (10, 50)},
    **{f"burst{length}": f"bursts of {length}" for length in (5, 10, 15)},
}
SCENARIOS: Mapping[str, tuple[str, Sequence[str], Mapping[str, str]]] = {
    "figure-5": ("Figure 5: bandwidth (100 ms, no added loss)", BANDWIDTHS, {}),
    "figure-6": ("Figure 6: random loss (2 Mbit/s, 100 ms)", LOSSES, {"bw2": "no loss"}),
    "figure-8": ("Figure 8: round trips (2 Mbit/s, 2 % loss)", ROUND_TRIPS, {"loss2": "100 ms"}),
    "figure-9": ("Figure 9: bursts of loss (2 Mbit/s, 100 ms, 2 %)", BURSTS, {"loss2": "random"}),
}
IN_ORDER_LINKS = ("loss2", "loss5", "burst15")
IN_ORDER_ARMS = ("chrome7", "packet-rr", "firefox-tree", "sequential")
BATCHES = (5, 10, 15, 30)


def main() -> None:
    everything = read_all()
    pages = {name: _without(item, "reno") for name, item in everything.items()}
    reno = {name: _only(item, "reno") for name, item in everything.items()}
    FIGURES.mkdir(exist_ok=True)
    for name, item in pages.items():
        for key, (title, links, words) in SCENARIOS.items():
            if item.is_measured:  # over few of the networks
                links = [link for link in links if item.differences(SI, link, PARALLEL[0])]
            if len(links) > 1:
                title = f"{title}, {item.title}"
                _write(FIGURES / f"{key}-{name}.svg", _curves(title, item, links, WORDS | words))
                _write(FIGURES / f"{key}-paired-{name}.svg", _intervals(title, item, links, WORDS | words))
        if not item.is_measured:
            _write(FIGURES / f"figure-7-{name}.svg", _correlations(item))
    claims = claims_of(pages, reno, findings(read_runs()))
    progress = ", ".join(
        f"{name}: {item.progress[0]} of {item.progress[1]} blocks" for name, item in everything.items()
    )
    is_partial = any(item.progress[0] < item.progress[1] for item in everything.values())
    told = [replace(claim, is_partial=is_partial) for claim in claims]
    _write(
        HERE / "claims.md",
        f"# The claims of Sander et al. 2022\n\n{_INTRODUCTION.format(progress)}\n{claims_table(told)}",
    )
    _write(HERE / "counts.md", _counts(pages))


_INTRODUCTION = """`python results/sander2022/draw.py` writes this page from `data/`.
[docs/reproductions.md](../../docs/reproductions.md) is the rule. Complete blocks so far: {}.
"""


def _without(pages: Pages, prefix: str) -> Pages:
    others = ("in-order", "readings")  # other receivers and readings of the same links
    return Pages(
        pages.name, {name: item for name, item in pages.results.items() if not name.startswith((prefix, *others))}
    )


def _only(pages: Pages, prefix: str) -> Pages:
    return Pages(pages.name, {name: item for name, item in pages.results.items() if name.startswith(prefix)})


def _curves(title: str, pages: Pages, links: Sequence[str], words: Mapping[str, str]) -> str:
    rows = [
        [_panel(pages, key, link, f"{what}, {words[link]}") for link in links]
        for key, what in ((SI, "Speed Index"), (HOL, "HOL"))
    ]
    return curves_figure(
        title,
        [
            "Difference of medians relative to Chrome's, one step a site; thin where Mann-Whitney's p is not below 0.005.",
            "Left of zero a strategy is better than Chrome.",
            *([] if pages.is_measured else ["Simulated on rung stack: Speed Index is an estimate."]),
        ],
        rows,
        x_label="change against Chrome",
        span=(-60.0, 60.0),
    )


def _panel(pages: Pages, key: str, link: str, title: str) -> CurvesPanel:
    curves, blocks, sites = [], [], 0
    for scheme in PARALLEL:
        found = sorted(pages.differences(key, link, scheme), key=lambda item: item.change_pct)
        points = [(item.change_pct, (place + 1) / len(found), item.is_significant) for place, item in enumerate(found)]
        curves.append(Curve(NAMES[scheme], points))
        blocks += [item.loads for item in found]
        sites = max(sites, len(found))
    loads = " to ".join(str(count) for count in sorted({min(blocks), max(blocks)})) if blocks else ""
    note = f"{sites} sites, {loads} loads each" if blocks else "no loads yet"
    return CurvesPanel(title, curves, note)


def _intervals(title: str, pages: Pages, links: Sequence[str], words: Mapping[str, str]) -> str:
    """What the paper's medians hide: loads of a block are pairs, and sites are a sample."""
    rows = []
    for key, what in ((SI, "Speed Index"), (HOL, "HOL")):
        for link in links:
            for scheme in PARALLEL:
                found = [
                    (
                        "medians of all loads, as the paper",
                        over_sites(pages.change(key, link, scheme), np.median, twin_of),
                    ),
                    ("pairs of a block", over_sites(pages.paired(key, link, scheme), np.median, twin_of)),
                ]
                rows.append(BesideRow(f"{what}, {words[link]}, {NAMES[scheme]}", None, found))
    return beside_figure(
        f"{title}: medians over sites",
        ["Change against Chrome, with intervals of 95 % from resampled sites; hollow: fewer than eight sites."],
        rows,
    )


def _correlations(pages: Pages) -> str:
    si, hol, rates = points_of(pages, PARALLEL)
    found = [
        ("Speed Index and HOL", correlation(si, hol)),
        ("Speed Index and loss rate", correlation(si, rates)),
        ("loss rate and HOL", correlation(hol, rates)),
    ]
    sites = sorted(found[0][1], key=lambda site: bytes_of(pages.name, site))
    panels = [DotsPanel(title, [("all strategies", [values[site] for site in sites])]) for title, values in found]
    return dots_figure(
        f"Figure 7: Spearman's coefficient by site, {pages.title}",
        ["Over four loss rates and four strategies; sites from left to right by bytes, smallest first."],
        [f"{site} ({bytes_of(pages.name, site) / 1e6:.2f} MB)" for site in sites],
        panels,
    )


def _counts(pages: Mapping[str, Pages]) -> str:
    parts = ["# Sander et al. 2022: counts, batches, and an in-order receiver\n\nWritten by `draw.py`.\n"]
    for item in pages.values():
        rows = []
        links = dict.fromkeys(link for _, group, _ in SCENARIOS.values() for link in group)
        for link in (*links, "bw50"):
            for scheme in (*PARALLEL, "sequential"):
                si, hol = item.change(SI, link, scheme), item.change(HOL, link, scheme)
                if si:
                    values = np.array(list(si.values()))
                    counts = [int((values < -b).sum()) for b in (5, 25)] + [int((values > b).sum()) for b in (5, 25)]
                    surely = " / ".join(map(str, item.surely(link, scheme)))
                    found = [finding(over_sites(part, np.median, twin_of)) for part in (si, hol)]
                    rows.append(
                        (WORDS[link], NAMES.get(scheme, scheme), str(len(si)), *map(str, counts), surely, *found)
                    )
        heads = (
            "network",
            "strategy",
            "sites",
            "better 5 %",
            "25 %",
            "worse 5 %",
            "25 %",
            "surely better / worse",
            "Speed Index, median",
            "HOL, median",
        )
        parts.append(f"## {_heading(item)}, against Chrome\n\n{table(heads, rows, left=2)}")
        parts += [_batches(item), _failures(item)]
    parts += [_in_order(item) for item in read_all().values() if "in-order" in item.results]
    return "\n".join(parts)


def _heading(pages: Pages) -> str:
    return pages.title[0].upper() + pages.title[1:]


def _batches(pages: Pages) -> str:
    """Turns of several packets against turns of one."""
    rows = []
    for link in BURSTS:
        for packets in BATCHES:
            scheme = f"batched-rr:packets={packets}"
            if pages.change(HOL, link, scheme):
                parts = [
                    minus(pages.change(key, link, scheme), pages.change(key, link, "packet-rr")) for key in (HOL, SI)
                ]
                rows.append(
                    (
                        WORDS[link],
                        str(packets),
                        *(finding(over_sites(part, np.median, twin_of), "points") for part in parts),
                    )
                )
    heads = ("network", "packets a turn", "HOL", "Speed Index")
    words = "Change against Chrome, minus that of turns of one packet (RR): medians over sites.\n\n"
    return f"## {_heading(pages)}: turns of several packets\n\n{words}{table(heads, rows)}" if rows else ""


def _in_order(pages: Pages) -> str:
    """The same seeds with a receiver that hands on nothing behind a lost packet."""
    rows = []
    for link in IN_ORDER_LINKS:
        for arm in IN_ORDER_ARMS:
            usual_study = "loss" if link == "loss5" else "bursts"
            cells = []
            for key in (SI, "lcp_ms"):
                usual, ordered = (pages.values(study, link, arm, key) for study in (usual_study, "in-order"))
                both = [site for site in ordered if site in usual]
                length = {site: min(len(usual[site]), len(ordered[site])) for site in both}
                change = {
                    site: 100.0 * float(np.mean(np.log(ordered[site][: length[site]] / usual[site][: length[site]])))
                    for site in both
                }
                cells.append(finding(over_sites(change, np.median, twin_of)) if change else "-")
            rows.append((WORDS[link], NAMES.get(arm, arm), *cells))
    words = "How much later if all is delivered in order, as over TCP: same seeds, medians over sites of mean log ratios.\n\n"
    found = table(("network", "strategy", "Speed Index", "LCP"), rows, left=2)
    return f"## {_heading(pages)}: what inter-stream blocking is worth\n\n{words}{found}"


def _failures(pages: Pages) -> str:
    """Loads that never finished, by network: the paper repeated such loads, here their blocks do not count."""
    rows = []
    for result in pages.results.values():
        for link in result.links:
            places = [place for place in result.places if place.link == link]
            failed, attempted = sum(sum(item.failed) for item in places), sum(sum(item.attempted) for item in places)
            if failed:
                share = f"{failed} ({100 * failed / attempted:.1f} %)"
                rows.append((WORDS[link.removeprefix("sander-")], str(attempted), share))
    found = table(("network", "loads", "failed"), rows)
    return f"## {_heading(pages)}: loads that never finished\n\n{found}" if rows else ""


def _write(path: Path, content: str) -> None:
    path.write_text(content.rstrip() + "\n")


if __name__ == "__main__":
    run_script(main)
