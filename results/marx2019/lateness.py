"""What early and late requests and a send buffer do to the gains: experiments on pages, and one on the published figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from davies_meenan import bundled_page
from markdown import factor, mean, seconds, table
from playing import Numbers, Scores, changed, page_bytes
from study import BASELINE, BUFFERS_BYTES, LARGEST_BUFFER_BYTES, SCHEMES, TABLE_2

from mixedsched.model.page import Page, Resource

LARGE_DOCUMENT_BYTES = 120_000
BYTES_PER_MS = 140  # of the pipe
FAST_BYTES_PER_MS = 12_500  # of the local load that the study's request times come from: 100 Mbit/s


def playback(pages: list[Page]) -> Iterator[str]:
    yield "## Requests as in the study's playback"
    yield ""
    yield (
        "What the main document finds is asked for as early as at 100 Mbit/s, however little of the document is there; what "
        "others find while they arrive, when they are complete. ATF speed-up over rr with the same buffer."
    )
    yield ""
    scores = Scores([_as_in_the_study(page) for page in pages], BUFFERS_BYTES)
    labels = [f"{size // 1000} kB" for size in BUFFERS_BYTES]
    rows = []
    for name in SCHEMES:
        speed_ups = [scores.speed_up(name, size) for size in BUFFERS_BYTES]
        slower = int((speed_ups[0] < 0.999).sum())
        rows.append((f"`{name}`", mean(scores.speed_up_of_all(name)), *map(mean, speed_ups), str(slower)))
    yield from table(("scheme", "All", *labels, "ATF slower than rr"), rows)


def _as_in_the_study(page: Page) -> Page:
    """What the main document finds is asked for when a fast load would have; what others find, when these are complete."""

    def found(item: Resource) -> Resource:
        if item.found_when != "bytes":
            return item
        facts: dict[str, Any] = {"found_when": "complete", "found_at_bytes": 0}
        if item.found_by == page.main.id:
            facts = {
                **facts,
                "found_when": "requested",
                "delay_ms": item.delay_ms + item.found_at_bytes / FAST_BYTES_PER_MS,
            }
        return item.model_copy(update=facts)

    return changed(page, found)


def delayed_requests(pages: list[Page]) -> Iterator[str]:
    yield "## A buffer emulated by late requests"
    yield ""
    yield (
        "No send buffer, but everything that the main document finds is asked for as much later as a buffer of that size takes "
        "to drain. ATF speed-up over rr with the same delay."
    )
    yield ""
    delays_ms = [size / BYTES_PER_MS for size in BUFFERS_BYTES]
    scores = [Scores([_with_late_requests(page, delay_ms) for page in pages]) for delay_ms in delays_ms]
    rows = [(f"`{name}`", *(mean(item.speed_up(name)) for item in scores)) for name in SCHEMES]
    yield from table(("scheme", *(f"{delay_ms / 1000:.1f} s" for delay_ms in delays_ms)), rows)


def _with_late_requests(page: Page, delay_ms: float) -> Page:
    return changed(
        page,
        lambda item: (
            item.model_copy(update={"delay_ms": item.delay_ms + delay_ms}) if item.found_by == page.main.id else item
        ),
    )


def one_added_delay() -> Iterator[str]:
    """If a buffer does nothing but add k times rr's index to every index, a gain g becomes (1 + k) / (1 / g + k)."""
    fifo = TABLE_2["fifo"]
    added = (1 - fifo.buffered / fifo.above_fold) / (fifo.buffered - 1)
    yield "## The paper's own columns: ATF, and 1000K if the buffer only adds a delay"
    yield ""
    yield f"One delay for all schemes, {added:.2f} of rr's index, chosen so that `fifo` fits. Needs no page."
    yield ""
    yield from table(
        ("scheme", "ATF", "with the delay", "1000K"),
        (
            (
                f"`{name}`",
                f"{row.above_fold:.2f}",
                f"{(1 + added) / (1 / row.above_fold + added):.2f}",
                f"{row.buffered:.2f}",
            )
            for name, row in TABLE_2.items()
        ),
    )


def large_documents(pages: list[Page], scores: Scores) -> Iterator[str]:
    yield f"## Pages with an HTML document of {LARGE_DOCUMENT_BYTES // 1000} kB and more"
    yield ""
    yield "ATF ByteIndex in seconds without buffer -> with 1000 kB, and the speed-up over rr with the same buffer likewise."
    yield ""
    chosen = [place for place, page in enumerate(pages) if page.main.body_bytes >= LARGE_DOCUMENT_BYTES]
    shown = (BASELINE, "bucket", "firefox", "bucket-html")
    rows = []
    for place in sorted(chosen, key=lambda place: -pages[place].main.body_bytes):
        size = f"{pages[place].main.body_bytes / 1000:.0f} of {page_bytes(pages[place]) / 1000:.0f}"
        rows.append((scores.names[place], size, *(_with_and_without(scores, name, place) for name in shown)))
    yield from table(("page", "HTML, of kB", *(f"`{name}`" for name in shown)), rows)
    yield "On how many pages a scheme is faster by over 1 % with 1000 kB than without, by its own index:"
    yield ""
    yield from table(
        ("scheme", f"of these {len(chosen)}", f"of all {len(pages)}"),
        (
            (f"`{name}`", str(int(faster[chosen].sum())), str(int(faster.sum())))
            for name in (BASELINE, *SCHEMES)
            for faster in (scores.above_fold_ms(name, LARGEST_BUFFER_BYTES) < 0.99 * scores.above_fold_ms(name),)
        ),
    )


def _with_and_without(scores: Scores, name: str, place: int) -> str:
    bare, buffered = (scores.above_fold_ms(name, size)[place] for size in (0, LARGEST_BUFFER_BYTES))
    text = f"{seconds(bare)} -> {seconds(buffered)}"
    if name == BASELINE:
        return text
    speed_ups = (scores.speed_up(name, size)[place] for size in (0, LARGEST_BUFFER_BYTES))
    return f"{text} ({' -> '.join(map(factor, speed_ups))})"


def drops(scores: Scores) -> Iterator[str]:
    yield "## What 1000 kB cost the best speed-up of a page"
    yield ""
    drops = {name: factor(value) for name, value in zip(scores.names, _drop(scores), strict=True)}
    largest = sorted(drops, key=lambda name: -_drop(scores)[scores.names.index(name)])[:3]
    bundled = Scores([bundled_page()], (0, LARGEST_BUFFER_BYTES))
    yield (
        f"The Davies-Meenan page: by {factor(_drop(bundled)[0])}. The three largest of these pages: "
        + ", ".join(f"{name} {drops[name]}" for name in largest)
        + f". Median: {factor(float(np.median(_drop(scores))))}."
    )
    yield ""


def _drop(scores: Scores) -> Numbers:
    bare, buffered = (
        np.max([scores.speed_up(name, size) for name in SCHEMES], axis=0) for size in (0, LARGEST_BUFFER_BYTES)
    )
    drop: Numbers = bare / buffered
    return drop
