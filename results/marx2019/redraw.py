"""Figures 8, 11, 12 and 13 of Marx et al. 2019 and the tables of tables.md, from what is committed, in under a minute.

    python results/marx2019/redraw.py
    python results/marx2019/redraw.py --keep    # first keeps what `study run` has played of lossy.toml and lossy-in-order.toml

Indexes of all pages come from indexes.csv (collect.py), loads under loss from *.parquet; the page of Davies and Meenan is
played. A study of which blocks are missing is told as far as it is; data of another version are refused.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from bridge import bridge_tables
from collect import HEADS, read_rows
from davies_meenan import bundled_page
from lossy import keep, lossy_tables
from playing import play
from study import BASELINE, LARGEST_BUFFER_BYTES, SCHEMES, TABLE_2

from mixedsched.core.sim.jitter import Jitter
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.errors import StudyError
from mixedsched.report.papers.figures import DotsPanel, dots_figure
from mixedsched.report.papers.markdown import claims_table, table
from mixedsched.report.papers.script import run_script
from mixedsched.report.papers.verdicts import Finding, PaperClaim, Statement, over_sites
from mixedsched.report.simulation import write_plot

HERE = Path(__file__).parent
BUFFERED = f"atf_{LARGEST_BUFFER_BYTES}_ms"
COLUMNS = {"All": "all_ms", "ATF": "atf_0_ms", "1000 kB": BUFFERED}
NAMES = {"bundled": "bundled sites", "generated": "generated pages", "recorded": "recorded pages"}

Values = Mapping[str, Mapping[tuple[str, str], float]]
"""By column: the index in ms of a page under a scheme."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="first keep what `study run` has played")
    if parser.parse_args().keep:
        keep()
    collections = _collections()
    _figures(collections)
    (HERE / "tables.md").write_text("\n".join(_tables(collections)), encoding="utf-8")


def twin_of(page: str) -> str:
    """The site of a recording: mobile and desktop ones count once."""
    bare = page.removeprefix("cdp-").removeprefix("crux-").removesuffix("-mobile")
    return bare.removeprefix("m.").replace(".m.", ".")


def _collections() -> dict[str, Values]:
    """By name. Raises StudyError for a file of another version, or none."""
    found: dict[str, dict[str, dict[tuple[str, str], float]]] = {}
    rows = read_rows()
    if not rows or any(len(row) != len(HEADS) for row in rows):
        raise StudyError("indexes.csv is missing or of another version", fix="make it anew with collect.py")
    for row in rows:
        facts = dict(zip(HEADS, row, strict=True))
        columns = found.setdefault(facts["pages"], {})
        for column in ("bytes", *COLUMNS.values()):
            columns.setdefault(column, {})[facts["page"], facts["scheme"]] = float(facts[column])
    return found


def _gains(values: Values, scheme: str, column: str, change: Callable[[float], float] = float) -> dict[str, float]:
    """Index of rr over that of the scheme, by page."""
    indexes = values[column]
    return {
        page: change(indexes[page, BASELINE] / indexes[page, scheme]) for page, name in indexes if name == scheme
    }  # fmt: skip


def _mean_gain(values: Values, scheme: str, column: str) -> Finding:
    return over_sites(_gains(values, scheme, column), np.mean, twin_of)


# Figures


def _figures(collections: Mapping[str, Values]) -> None:
    page = bundled_page()
    rows = [play(page, scheme) for scheme in (BASELINE, *SCHEMES)]
    rows += [play(page, name, PipeOptions(send_buffer_bytes=LARGEST_BUFFER_BYTES)) for name in (BASELINE, "bucket")]
    write_plot(rows, HERE / "figure-8-and-11.svg")
    jitter = {in_order: Jitter("random", low=1, high=3, in_order=in_order) for in_order in (False, True)}
    late = [play(page, name, PipeOptions(jitter=item)) for name in (BASELINE, "fifo") for item in jitter.values()]
    write_plot(late, HERE / "figure-13.svg")
    for name, values in collections.items():
        (HERE / f"figure-12-{name}.svg").write_text(_figure_12(NAMES.get(name, name), values), encoding="utf-8")


def _figure_12(name: str, values: Values) -> str:
    sizes = {page: size for (page, scheme), size in values["bytes"].items() if scheme == BASELINE}
    pages = sorted(sizes, key=sizes.__getitem__)
    panels = []
    for label, column in (("no send buffer", "atf_0_ms"), ("1000 kB of send buffer, rr too", BUFFERED)):
        series = []
        for scheme in SCHEMES:
            gains = _gains(values, scheme, column, lambda ratio: float(np.log2(ratio)))
            series.append((scheme, [gains[page] for page in pages]))
        panels.append(DotsPanel(f"Above the fold, {label}", series))
    words = [
        (
            f"{len(pages)} {name}, from the smallest ({sizes[pages[0]] / 1000:.0f} kB) to the largest "
            f"({sizes[pages[-1]] / 1000:.0f} kB). Up: sooner than rr, in doublings: +1 is x2, +2 is x4, -1 is /2."
        )
    ]
    return dots_figure("Figure 12: speed-up over rr, page by page", words, pages, panels, span=(-2.0, 4.0))


# Tables


def _tables(collections: Mapping[str, Values]) -> Iterator[str]:
    yield "# Marx et al. 2019 on three collections of pages\n"
    yield (
        "`python results/marx2019/redraw.py` makes this page and the pictures from indexes.csv and *.parquet. Gains are means "
        "over sites of the ByteIndex of `rr` over that of the scheme, with intervals of 95 % from resampled sites; a site's "
        "mobile and desktop recordings count once. Verdicts by the rule of docs/reproductions.md.\n"
    )
    for label, column in COLUMNS.items():
        yield f"## Mean gain, {label}\n"
        yield table(
            ("scheme", "paper", *(NAMES.get(name, name) for name in collections), "verdict"),
            _rows(collections, label, column),
        )
    yield (
        "`zeroweight` is the paper's winner above the fold and on no collection ours: it gives async scripts weight 24, beside "
        "the heroes' 8. With weight 0 for them and for unseen images it gains x2.55 on the recorded pages (causes.md). So it "
        "depends on how many async scripts pages have; the paper's pages are not published. With the send buffer, `rr` has it "
        "too.\n"
    )
    yield "## Claims over pages\n"
    yield claims_table(_claims(collections))
    yield from lossy_tables()
    yield from bridge_tables()


def _rows(collections: Mapping[str, Values], label: str, column: str) -> Iterator[list[str]]:
    for scheme, published in TABLE_2.items():
        number = {"All": published.all, "ATF": published.above_fold, "1000 kB": published.buffered}[label]
        found = {name: _mean_gain(values, scheme, column) for name, values in collections.items()}
        item = Statement(scheme, found, published=number, unit="")
        cells = [f"{value.value:.2f} ({value.low:.2f}-{value.high:.2f})" for value in found.values()]
        yield [f"`{scheme}`", f"{number:.2f}", *cells, item.verdict.value]


def _claims(collections: Mapping[str, Values]) -> list[PaperClaim]:
    def statement(text: str, of: Callable[[Values], Finding], **options: object) -> Statement:
        return Statement(text, {NAMES.get(name, name): of(values) for name, values in collections.items()}, **options)  # type: ignore[arg-type]

    def gain_pct(scheme: str, column: str, than: str = BASELINE) -> Callable[[Values], Finding]:
        """Median change of the index against another scheme."""

        def found(values: Values) -> Finding:
            ours, theirs = _gains(values, scheme, column), _gains(values, than, column)
            return over_sites({page: (theirs[page] / ours[page] - 1) * 100 for page in ours}, np.median, twin_of)

        return found

    def slower_points(values: Values) -> Finding:
        """Share of schemes that are slower than rr on a page, over pages."""
        gains = {scheme: _gains(values, scheme, "atf_0_ms") for scheme in SCHEMES}
        pages = gains[SCHEMES[0]]
        return over_sites(
            {page: 100 * np.mean([gains[name][page] < 0.999 for name in SCHEMES]) for page in pages}, np.mean, twin_of
        )

    def shrinkage_pct(scheme: str) -> Callable[[Values], Finding]:
        def found(values: Values) -> Finding:
            before, after = _gains(values, scheme, "atf_0_ms"), _gains(values, scheme, BUFFERED)
            return over_sites({page: (after[page] / before[page] - 1) * 100 for page in before}, np.mean, twin_of)

        return found

    sooner = [statement(f"index of `{name}` against `rr`", gain_pct(name, "atf_0_ms"), sign=-1) for name in SCHEMES]
    return [
        PaperClaim("1", "rr is clearly worst; almost no point is slower", "0 of 430 points, or few", [
            *sooner, statement("points slower than rr", slower_points, published=0.0, tolerance=15.0),
        ]),
        PaperClaim("5", "All: modest gains, fifo and dfifo are best", "x1.27", [
            *(statement(f"index of all under `fifo` against `{name}`", gain_pct("fifo", "all_ms", name), sign=-1)
              for name in SCHEMES if name not in {"fifo", "dfifo"}),
        ]),
        PaperClaim("7", "1000 kB of send buffer shrink every gain but those of firefox and s+", "x2.49 to x1.83", [
            *(statement(f"gain of `{name}` with the buffer against without", shrinkage_pct(name),
                        sign=1 if name in {"firefox", "s+"} else -1) for name in SCHEMES),
        ]),
        PaperClaim("14", "sequential beats taking turns: make fifo the default", "x1.93 against x1.49", [
            statement("index of `fifo` against `wrr`", gain_pct("fifo", "atf_0_ms", "wrr"), sign=-1),
            statement("index of `dfifo` against `spdyrr`", gain_pct("dfifo", "atf_0_ms", "spdyrr"), sign=-1),
        ]),
    ]  # fmt: skip


if __name__ == "__main__":
    run_script(main)
