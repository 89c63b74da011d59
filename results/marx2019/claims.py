"""Plays a folder of pages under all schemes of Marx et al. 2019 and prints what its claims can be checked with, as Markdown.

python results/marx2019/claims.py FOLDER_OF_PAGES    (page files of format mixedsched.page/1)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jitter import jitter_tables
from markdown import factor, mean, mean_with_interval, table
from playing import Numbers, Scores, page_bytes, run_on_folder
from scipy.stats import rankdata, spearmanr
from study import BASELINE, BUFFERS_BYTES, LARGEST_BUFFER_BYTES, SAMPLE_MS, SCHEMES, SLOT_US, TABLE_2

from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.model.page import Page

SAME = 0.001  # indexes that differ by less count as equal
NEARLY_BEST = 0.01


def tables(pages: list[Page]) -> Iterator[str]:
    sizes = np.array([page_bytes(page) for page in pages])
    resources = [len(page.resources) for page in pages]
    scores = Scores(pages, BUFFERS_BYTES)
    yield (
        f"{len(pages)} pages of {min(resources)} to {max(resources)} resources and {sizes.min() / 1000:.0f} to "
        f"{sizes.max() / 1000:.0f} kB. ATF: above the fold. Speed-up: ByteIndex of rr over that of the scheme, page by "
        "page; means over pages with 95 % bootstrap intervals."
    )
    yield ""
    yield from _means(scores)
    yield from _buffers(scores)
    yield from _extremes(scores)
    yield from _size_classes(scores, sizes)
    yield from _winners(scores)
    yield from _rank_correlations(scores)
    yield from jitter_tables(pages)
    yield from _sensitivity(pages, scores)


def _means(scores: Scores) -> Iterator[str]:
    yield "## Mean speed-up over rr, beside Table 2"
    yield ""
    heads = ("scheme", "All", "paper", "ATF", "paper", "1000 kB, rr too", "1000 kB, rr without", "paper")
    yield from table(
        heads,
        (
            (
                f"`{name}`",
                mean_with_interval(scores.speed_up_of_all(name)),
                f"{paper.all:.2f}",
                mean_with_interval(scores.speed_up(name)),
                f"{paper.above_fold:.2f}",
                mean_with_interval(scores.speed_up(name, LARGEST_BUFFER_BYTES)),
                mean_with_interval(scores.speed_up(name, LARGEST_BUFFER_BYTES, 0)),
                f"{paper.buffered:.2f}",
            )
            for name, paper in TABLE_2.items()
        ),
    )


def _buffers(scores: Scores) -> Iterator[str]:
    yield "## Send buffers"
    yield ""
    yield "ATF speed-up over rr with the same buffer; then how many times as fast as without buffer the scheme itself is."
    yield ""
    buffered = BUFFERS_BYTES[1:]
    labels = [f"{size // 1000} kB" for size in buffered]
    yield from table(
        ("scheme", "none", *labels, *(f"itself, {label}" for label in labels)),
        (
            (
                f"`{name}`",
                *(mean(scores.speed_up(name, size)) for size in BUFFERS_BYTES),
                *(factor(_own_change(scores, name, size).mean()) for size in buffered),
            )
            for name in (BASELINE, *SCHEMES)
        ),
    )


def _own_change(scores: Scores, name: str, buffer_bytes: int) -> Numbers:
    return scores.above_fold_ms(name) / scores.above_fold_ms(name, buffer_bytes)


def _extremes(scores: Scores) -> Iterator[str]:
    yield "## Slower than rr, and the extremes"
    yield ""
    heads = ("scheme", "ATF slower", "by over 5 %", "worst", "page", "best", "page", "All slower", "worst", "best")
    rows = []
    for name in SCHEMES:
        seen, whole = scores.speed_up(name), scores.speed_up_of_all(name)
        rows.append(
            (
                f"`{name}`",
                str(_slower(seen, SAME)),
                str(_slower(seen, 0.05)),
                factor(seen.min()),
                scores.names[int(seen.argmin())],
                factor(seen.max()),
                scores.names[int(seen.argmax())],
                str(_slower(whole, SAME)),
                factor(whole.min()),
                factor(whole.max()),
            )
        )
    yield from table(heads, rows)
    slower = [sum(_slower(scores.speed_up(name), by) for name in SCHEMES) for by in (SAME, 0.05)]
    yield (
        f"Of {len(SCHEMES) * len(scores.names)} points (page, scheme), {slower[0]} are slower than rr above the fold, "
        f"{slower[1]} of them by over 5 %."
    )
    yield ""


def _slower(speed_up: Numbers, by: float) -> int:
    return int((speed_up < 1 - by).sum())


def _size_classes(scores: Scores, sizes: Numbers) -> Iterator[str]:
    yield "## By page size (thirds)"
    yield ""
    thirds = [third for third in np.array_split(np.argsort(sizes, kind="stable"), 3) if len(third)]
    labels = [f"{sizes[third[0]] / 1000:.0f}-{sizes[third[-1]] / 1000:.0f} kB ({len(third)})" for third in thirds]
    rows = [(f"`{name}`", *(mean_with_interval(scores.speed_up(name)[third]) for third in thirds)) for name in SCHEMES]
    over_schemes = np.mean([scores.speed_up(name) for name in SCHEMES], axis=0)
    rows.append(("all schemes", *(mean_with_interval(over_schemes[third]) for third in thirds)))
    yield from table(("scheme", *labels), rows)


def _winners(scores: Scores) -> Iterator[str]:
    yield "## Winners above the fold"
    yield ""
    names = (BASELINE, *SCHEMES)
    indexes = np.array([scores.above_fold_ms(name) for name in names])
    best = indexes.min(axis=0)
    ranks = rankdata(indexes, axis=0)
    rows = []
    for place, name in enumerate(names):
        wins, nearly = (int((indexes[place] <= best * (1 + within)).sum()) for within in (SAME, NEARLY_BEST))
        behind = f"{np.mean(indexes[place] / best - 1) * 100:.0f} %"
        rows.append((f"`{name}`", str(wins), str(nearly), f"{ranks[place].mean():.1f}", behind))
    heads = ("scheme", "best (ties count for all)", "within 1 % of the best", "mean rank", "behind the best on average")
    yield from table(heads, rows)


def _rank_correlations(scores: Scores) -> Iterator[str]:
    yield "## Order of the schemes against the paper's (Spearman)"
    yield ""
    pairs = {
        "All": ([row.all for row in TABLE_2.values()], [scores.speed_up_of_all(name).mean() for name in SCHEMES]),
        "ATF": ([row.above_fold for row in TABLE_2.values()], [scores.speed_up(name).mean() for name in SCHEMES]),
        "1000 kB, rr too": (
            [row.buffered for row in TABLE_2.values()],
            [scores.speed_up(name, LARGEST_BUFFER_BYTES).mean() for name in SCHEMES],
        ),
        "1000 kB, rr without": (
            [row.buffered for row in TABLE_2.values()],
            [scores.speed_up(name, LARGEST_BUFFER_BYTES, 0).mean() for name in SCHEMES],
        ),
    }
    kept = [place for place, name in enumerate(SCHEMES) if name != "zeroweight"]
    rows = [
        (label, _spearman(paper, ours), _spearman([paper[i] for i in kept], [ours[i] for i in kept]))
        for label, (paper, ours) in pairs.items()
    ]
    yield from table(("column", "ten schemes", "without zeroweight"), rows)


def _spearman(first: list[float], second: list[float]) -> str:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return "-"
    return f"{spearmanr(first, second).statistic:.2f}"


def _sensitivity(pages: list[Page], scores: Scores) -> Iterator[str]:
    yield "## The same with other settings"
    yield ""
    yield (
        "ATF speed-up, and with 1000 kB (rr too). Slots: at most one request per 10 ms, like the study's client. Sampled: "
        "progress sampled every 100 ms. Counted: all resources count the same, whatever their bytes; All as well."
    )
    yield ""
    buffers = (0, LARGEST_BUFFER_BYTES)
    slots = Scores(pages, buffers, PipeOptions(request_slot_us=SLOT_US))
    sampled = Scores(pages, buffers, sample_ms=SAMPLE_MS)
    counted = Scores(pages, buffers, weighting="count")
    runs = {"": scores, "slots": slots, "sampled": sampled, "counted": counted}
    heads = ["scheme"]
    for label in runs:
        heads += [f"{label or 'as above'}, none", f"{label or 'as above'}, 1000 kB"]
    rows = [
        (
            f"`{name}`",
            *(mean(run.speed_up(name, buffer_bytes)) for run in runs.values() for buffer_bytes in buffers),
            mean(counted.speed_up_of_all(name)),
            str(_slower(counted.speed_up(name), SAME)),
        )
        for name in SCHEMES
    ]
    yield from table((*heads, "counted, All", "counted, ATF slower than rr"), rows)


if __name__ == "__main__":
    run_on_folder(tables, __doc__)
