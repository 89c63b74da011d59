"""The page of Davies and Meenan under every scheme of the study: completion times and ByteIndexes, as Markdown.

python results/marx2019/davies_meenan.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from jitter import jitter_tables
from markdown import factor, seconds, table
from playing import changed, page_bytes, play, play_all, scheme_named
from study import BASELINE, BUFFERS_BYTES, SAMPLE_MS, SCHEMES, SLOT_US

from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.core.sim.record import ByteIndexes, byte_indexes
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Flag, Kind
from mixedsched.report.papers.script import run_script
from mixedsched.sites.making import build, list_recipes
from mixedsched.world import places

SITE = "davies-meenan"
COLUMNS = {
    "HTML": "html",
    "`top.js`": "top.js",
    "font": "striped.woff2",
    "hero": "visible.jpg",
    "`bottom.js`": "bottom.js",
    "background": "background.png",
}
VARIANTS = ("zeroweight:other_image=0",)
FULL_TABLES_BYTES = (BUFFERS_BYTES[0], BUFFERS_BYTES[-1])


def bundled_page() -> Page:
    """The page of the bundled site, which is generated if it has not been yet."""
    home = places.home()
    recipe = next(item for item in list_recipes(home / "sites") if item.name == SITE)
    return build(recipe, home / "build" / "sites", home / "sites" / "node_modules").page


def as_in_the_study(page: Page) -> Page:
    """As the study's client plays it: what the document finds is requested at once, however little of it is there. The
    font is found by the complete document, the hero and bottom.js by the complete top.js, as they are anyway.
    """

    def found_at_once(item: Resource) -> Resource:
        if item.found_by != page.main.id or item.kind is Kind.FONT:
            return item
        return item.model_copy(update={"found_when": "requested", "found_at_bytes": 0})

    return changed(page, found_at_once)


def with_scripts_above_fold(page: Page) -> Page:
    """The same page with both scripts in the above-the-fold set. For judging only: schemes would see the flag."""

    def flagged(item: Resource) -> Resource:
        if item.kind is not Kind.SCRIPT:
            return item
        return item.model_copy(update={"flags": item.flags | {Flag.CRITICAL}})

    return changed(page, flagged)


def tables() -> Iterator[str]:
    page = bundled_page()
    packets = play(page, BASELINE).packets
    yield f"{len(page.resources)} resources, {page_bytes(page):,} B, {packets} packets, {packets / 100:.1f} s."
    yield ""
    for title, variant in (("As bundled", page), ("Requested as in the study", as_in_the_study(page))):
        for buffer_bytes in FULL_TABLES_BYTES:
            yield f"## {title}, {_told(buffer_bytes)}: seconds until complete, and ByteIndex"
            yield ""
            yield from _completions(variant, PipeOptions(send_buffer_bytes=buffer_bytes))
    yield from _buffers(page)
    yield from _best(page)
    yield from jitter_tables([page])


def _told(buffer_bytes: int) -> str:
    return f"{buffer_bytes // 1000} kB" if buffer_bytes else "no send buffer"


def _completions(page: Page, options: PipeOptions) -> Iterator[str]:
    rows = []
    baseline = byte_indexes(play(page, BASELINE, options))
    for spec in (BASELINE, *SCHEMES, *VARIANTS):
        load = play(page, spec, options)
        times, indexes = load.times(), byte_indexes(load)
        rows.append(
            (
                f"`{spec}`",
                *(seconds(times[name].complete_ms) for name in COLUMNS.values()),
                seconds(indexes.all_ms),
                seconds(indexes.atf_ms),
                factor(baseline.all_ms / indexes.all_ms),
                factor(baseline.atf_ms / indexes.atf_ms),
            )
        )
    yield from table(("scheme", *COLUMNS, "All", "ATF", "All, over rr", "ATF, over rr"), rows)


def _buffers(page: Page) -> Iterator[str]:
    yield "## As bundled, all send buffers: ATF ByteIndex in seconds, and over rr with the same buffer"
    yield ""
    baseline = [_indexes(page, BASELINE, size).atf_ms for size in BUFFERS_BYTES]
    rows = []
    for spec in (BASELINE, *SCHEMES, *VARIANTS):
        indexes = [_indexes(page, spec, size).atf_ms for size in BUFFERS_BYTES]
        over_rr = [factor(slow / ms) for slow, ms in zip(baseline, indexes, strict=True)]
        rows.append((f"`{spec}`", *(f"{seconds(ms)}, {told}" for ms, told in zip(indexes, over_rr, strict=True))))
    yield from table(("scheme", *(_told(size) for size in BUFFERS_BYTES)), rows)


def _indexes(page: Page, spec: str, buffer_bytes: int) -> ByteIndexes:
    return byte_indexes(play(page, spec, PipeOptions(send_buffer_bytes=buffer_bytes)))


def _best(page: Page) -> Iterator[str]:
    yield "## The best ATF speed-up, without buffer and with 1000 kB, under other assumptions"
    yield ""
    scripts = with_scripts_above_fold(page)
    rows = [
        ("as bundled", *_best_of(page, page)),
        ("requested as in the study", *_best_of(as_in_the_study(page), page)),
        ("one request in 10 ms", *_best_of(page, page, slot_us=SLOT_US)),
        ("looked at every 100 ms", *_best_of(page, page, sample_ms=SAMPLE_MS)),
        ("both scripts in the set", *_best_of(page, scripts)),
        ("both scripts in the set, and schemes know them as critical", *_best_of(scripts, scripts)),
        ("hero not known to be one", *_best_of(_without_hero(page), page)),
        *(
            (f"hero asked for {delay_ms} ms after `top.js`", *_best_of(_late_hero(page, delay_ms), page))
            for delay_ms in (500, 1000, 1500)
        ),
    ]
    yield from table(("assumption", *(_told(size) for size in FULL_TABLES_BYTES)), rows)


def _best_of(page: Page, judge: Page, slot_us: int = 0, sample_ms: float | None = None) -> Iterator[str]:
    """The best scheme and its speed-up, for each send buffer."""
    for size in FULL_TABLES_BYTES:
        options = PipeOptions(send_buffer_bytes=size, request_slot_us=slot_us)
        indexes = {
            spec: play_all([page], scheme_named(spec), options, judged_as=[judge], sample_ms=sample_ms).above_fold_ms[0]
            for spec in (BASELINE, *SCHEMES)
        }
        best = min(SCHEMES, key=indexes.__getitem__)
        yield f"{factor(indexes[BASELINE] / indexes[best])} (`{best}`)"


def _without_hero(page: Page) -> Page:
    return changed(page, lambda item: item.model_copy(update={"flags": item.flags - {Flag.HERO, Flag.ABOVE_FOLD}}))


def _late_hero(page: Page, delay_ms: float) -> Page:
    return changed(
        page, lambda item: item.model_copy(update={"delay_ms": delay_ms}) if Flag.HERO in item.flags else item
    )


def main() -> None:
    for line in tables():
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    run_script(main)
