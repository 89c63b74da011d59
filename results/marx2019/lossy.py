"""The paper's open question: the same schemes where packets are lost and congestion control answers, on rung `stack`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from study import BASELINE, SCHEMES

from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study.lean import read_lean, write_lean
from mixedsched.report.papers.markdown import finding, table
from mixedsched.report.papers.verdicts import Finding, over_sites
from mixedsched.world.store import StudyStore

HERE = Path(__file__).parent
RUNS = HERE.parents[1] / "runs"
STUDIES = ("lossy", "lossy-in-order")
KEPT = ("lcp_ms", "si_ms", "finished_ms", "byte_index_ms", "byte_index_atf_ms", "hol_bytes")
NETWORKS = {
    "sander-bw2": "no loss",
    "sander-loss2": "2 % loss",
    "sander-loss5": "5 % loss",
    "sander-burst10": "bursts of 10",
}
METRICS = {"byte_index_atf_ms": "ByteIndex, ATF", "lcp_ms": "LCP (first guess)", "si_ms": "Speed Index (first guess)"}

Loads = Mapping[tuple[str, str, str], Mapping[str, Mapping[int, float]]]
"""By link, arm and metric: values by site and block."""


def keep() -> None:
    """Write what runs/marx2019-* holds as one small file for each study."""
    for name in STUDIES:
        database = RUNS / f"marx2019-{name}" / DATABASE_NAME
        if database.is_file():
            with StudyStore(f"sqlite:///{database}") as store:
                write_lean(store, store.studies()[0], HERE / f"{name}.parquet", KEPT)


def read(name: str) -> tuple[Loads, float, int]:
    """All loads, the share of planned loads that are there, and how many these are. Raises StudyError for another version."""
    path = HERE / f"{name}.parquet"
    if not path.is_file():
        return {}, 0.0, 0
    lean = read_lean(path)
    places = {place.id: place for place in lean.places}
    found: dict[tuple[str, str, str], dict[str, dict[int, float]]] = {}
    for load in lean.loads:
        place = places[load.place_id]
        for metric in (*METRICS, "hol_bytes"):
            if load.status == "ok" and load.values.get(metric) is not None:
                key = place.link, load.arm, metric
                found.setdefault(key, {}).setdefault(place.site, {})[load.block] = load.values[metric]
    planned = sum(place.planned for place in lean.result.places) * len(lean.result.arms)
    return found, len(lean.loads) / planned, len(lean.loads)


def median_of(blocks: Mapping[int, float], among: Iterable[int] | None = None) -> float:
    """Over these blocks; over all by default."""
    return float(np.median([blocks[number] for number in (blocks if among is None else among)]))


def _change(ours: Mapping[str, Mapping[int, float]], theirs: Mapping[str, Mapping[int, float]]) -> Finding:
    """Median over sites of the relative change of the median over those blocks that both have."""
    changes = {}
    for site, blocks in ours.items():
        if common := sorted(blocks.keys() & theirs.get(site, {}).keys()):
            changes[site] = (median_of(blocks, common) / median_of(theirs[site], common) - 1) * 100
    return over_sites(changes)


def lossy_tables() -> Iterator[str]:
    loads, share, count = read("lossy")
    if not loads:
        return
    arms = [arm for arm in SCHEMES if any(key[1] == arm for key in loads)]
    links = [link for link in NETWORKS if any(key[0] == link for key in loads)]
    yield "## Under loss, with congestion control\n"
    yield (
        f"`mixedsched study run results/marx2019/lossy.toml`: rung `stack`, 2 Mbit/s, 100 ms, CUBIC, bundled sites, eight "
        f"blocks; {count} loads, {share:.0%} of those planned. Medians over sites of the change against `rr`; below 0 "
        "is sooner.\n"
    )
    for metric, label in METRICS.items():
        yield f"### {label}\n"
        rows = [
            [f"`{arm}`", *(finding(_change(loads[link, arm, metric], loads[link, BASELINE, metric])) for link in links)]
            for arm in arms
        ]
        yield table(("scheme", *(NETWORKS[link] for link in links)), rows)
    yield "### Bytes that waited behind a gap (HOL), median over sites in kB\n"
    rows = [
        [
            f"`{arm}`",
            *(
                f"{np.median([median_of(blocks) for blocks in loads[link, arm, 'hol_bytes'].values()]) / 1000:.0f}"
                for link in links
            ),
        ]
        for arm in (BASELINE, *arms)
    ]
    yield table(("scheme", *(NETWORKS[link] for link in links)), rows)
    yield from _in_order(loads)


def _in_order(free: Loads) -> Iterator[str]:
    held, share, count = read("lossy-in-order")
    if not held:
        return
    arms = [arm for arm in (BASELINE, *SCHEMES) if any(key[1] == arm for key in held)]
    links = [link for link in NETWORKS if any(key[0] == link for key in held)]
    yield "### What independent streams are worth\n"
    yield (
        "`mixedsched study run results/marx2019/lossy-in-order.toml`: the same loads, but nothing passes a lost packet, as "
        f"over TCP. Change of the ByteIndex above the fold by that, medians over sites; {count} loads, {share:.0%} of all.\n"
    )
    metric = "byte_index_atf_ms"
    rows = [
        [
            f"`{arm}`",
            *(
                finding(_change(held[link, arm, metric], free[link, arm, metric]))
                if (link, arm, metric) in held
                else "-"
                for link in links
            ),
        ]
        for arm in arms
    ]
    yield table(("scheme", *(NETWORKS[link] for link in links)), rows)
