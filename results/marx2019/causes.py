"""Experiments that show why a claim of Marx et al. 2019 holds or does not, on a folder of pages; as Markdown.

python results/marx2019/causes.py FOLDER_OF_PAGES
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from altered import altered_schemes, without_hero
from cases import case_tables
from lateness import delayed_requests, drops, large_documents, one_added_delay, playback
from markdown import mean, table
from playing import Numbers, Scores, page_bytes, play, run_on_folder
from scipy.stats import spearmanr
from study import BASELINE, BUFFERS_BYTES, SCHEMES

from mixedsched.core.metrics.byte_index import byte_index_ms
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.record import above_fold_ids, weight_of
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Flag, Kind

BEST = "bucket-html"


def tables(pages: list[Page]) -> Iterator[str]:
    scores = Scores(pages, BUFFERS_BYTES)
    yield from _what_the_pages_hold(pages)
    yield from _room_for_gain(pages, scores)
    yield from _parts(pages)
    yield from altered_schemes(pages, scores)
    yield from without_hero(pages, scores)
    yield from playback(pages)
    yield from delayed_requests(pages)
    yield from one_added_delay()
    yield from large_documents(pages, scores)
    yield from drops(scores)
    yield from case_tables()


def _what_the_pages_hold(pages: list[Page]) -> Iterator[str]:
    yield "## What the pages hold"
    yield ""
    yield "Share of a page's bytes, mean over pages; and of the bytes of its above-the-fold set."
    yield ""
    groups = (
        "HTML",
        "other documents",
        "style sheets",
        "scripts",
        "async and deferred scripts",
        "fonts",
        "hero",
        "other images",
        "rest",
    )
    of_all = np.array([_shares(page, groups, above_fold=False) for page in pages]).mean(axis=0)
    of_set = np.array([_shares(page, groups, above_fold=True) for page in pages]).mean(axis=0)
    yield from table(
        ("group", "of all bytes", "of the set"),
        (
            (group, f"{whole * 100:.0f} %", f"{seen * 100:.0f} %")
            for group, whole, seen in zip(groups, of_all, of_set, strict=True)
        ),
    )
    heroes = sum(any(Flag.HERO in item.flags for item in page.resources) for page in pages)
    deferred = sum(Flag.DEFER in item.flags for page in pages for item in page.resources)
    yield f"{heroes} of {len(pages)} pages have a hero. Scripts flagged `defer`: {deferred}."
    yield ""


def _shares(page: Page, groups: tuple[str, ...], *, above_fold: bool) -> list[float]:
    ids = above_fold_ids(page)
    counted = [item for item in page.resources if item.id in ids or not above_fold]
    total = max(1, sum(weight_of(item) for item in counted))
    return [sum(weight_of(item) for item in counted if _group(page, item) == group) / total for group in groups]


def _group(page: Page, item: Resource) -> str:
    match item.kind:
        case Kind.DOCUMENT:
            return "HTML" if item is page.main else "other documents"
        case Kind.SCRIPT:
            return "async and deferred scripts" if item.flags & {Flag.ASYNC, Flag.DEFER} else "scripts"
        case Kind.IMAGE:
            return "hero" if Flag.HERO in item.flags else "other images"
        case Kind.STYLESHEET:
            return "style sheets"
        case Kind.FONT:
            return "fonts"
        case _:
            return "rest"


def _room_for_gain(pages: list[Page], scores: Scores) -> Iterator[str]:
    yield "## Size, share above the fold, and gain"
    yield ""
    sizes = np.array([page_bytes(page) for page in pages])
    shares = np.array([_share_above_fold(page) for page in pages])
    thirds = [third for third in np.array_split(np.argsort(sizes, kind="stable"), 3) if len(third)]
    yield from table(
        ("pages up to", "bytes above the fold, mean", "ATF speed-up of `bucket-html`"),
        (
            (
                f"{sizes[third[-1]] / 1000:.0f} kB",
                f"{shares[third].mean() * 100:.0f} %",
                mean(scores.speed_up(BEST)[third]),
            )
            for third in thirds
        ),
    )
    with_share = spearmanr(scores.speed_up(BEST), shares).statistic
    with_size = spearmanr(scores.speed_up(BEST), sizes).statistic
    yield f"Rank correlation of the speed-up of `{BEST}` with that share: {with_share:.2f}; with page size: {with_size:.2f}."
    yield ""


def _share_above_fold(page: Page) -> float:
    ids = above_fold_ids(page)
    return sum(weight_of(item) for item in page.resources if item.id in ids) / max(1, page_bytes(page))


def _parts(pages: list[Page]) -> Iterator[str]:
    yield "## Speed-up of parts of the above-the-fold set"
    yield ""
    yield "Means over the pages that have the part; in brackets on how many of them the scheme is slower than rr."
    yield ""
    parts: dict[str, Callable[[str], bool]] = {
        "HTML": lambda group: group == "HTML",
        "style sheets and scripts": lambda group: group in {"style sheets", "scripts", "async and deferred scripts"},
        "fonts": lambda group: group == "fonts",
        "hero": lambda group: group == "hero",
        "all but fonts": lambda group: group != "fonts",
        "all but HTML and fonts": lambda group: group not in {"HTML", "fonts"},
    }
    members = {
        part: [
            {item.id: weight_of(item) for item in page.resources if item.id in ids and is_in(_group(page, item))}
            for page in pages
            for ids in (above_fold_ids(page),)
        ]
        for part, is_in in parts.items()
    }
    loads = {name: [play(page, name) for page in pages] for name in (BASELINE, *SCHEMES)}
    rows = []
    for name in SCHEMES:
        speed_ups = [_speed_up_of_part(loads[BASELINE], loads[name], weights) for weights in members.values()]
        rows.append((f"`{name}`", *(f"{values.mean():.2f} ({(values < 0.999).sum()})" for values in speed_ups)))
    pages_with = (f"{part} ({sum(map(bool, weights))})" for part, weights in members.items())
    yield from table(("scheme", *pages_with), rows)


def _speed_up_of_part(base: list[PlayedLoad], other: list[PlayedLoad], members: list[dict[str, int]]) -> Numbers:
    def index_ms(load: PlayedLoad, weights: dict[str, int]) -> float:
        return byte_index_ms((weights[item.id], item.complete_ms) for item in load.resources if item.id in weights)

    return np.array(
        [
            index_ms(b, weights) / index_ms(o, weights)
            for b, o, weights in zip(base, other, members, strict=True)
            if weights
        ]
    )


if __name__ == "__main__":
    run_on_folder(tables, __doc__)
