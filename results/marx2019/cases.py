"""Two pages made up after the two cases that Marx et al. 2019 outline in their figure 12, and all schemes on them.

Sizes are ours where theirs are not told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from altered import altered, is_delayed
from markdown import factor, seconds, table
from playing import play, scheme_named
from study import BASELINE, BUFFERS_BYTES, SCHEMES

from mixedsched.core.schedulers._levels import Level
from mixedsched.core.schedulers._marx import Rank
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.record import byte_indexes
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.scheme import ConfiguredScheme

_MIMES = {
    "document": "text/html",
    "stylesheet": "text/css",
    "script": "text/javascript",
    "image": "image/jpeg",
    "font": "font/woff2",
}


def hero_and_deferred_scripts(style_bytes: int = 30_000) -> Page:
    """Case 1: few resources; a small hero image behind four very large scripts of the head, all deferred."""
    return _page(
        "case-1",
        _resource("html", "document", 8_000, flags=["main", "critical"]),
        _resource("style.css", "stylesheet", style_bytes, 500, ["in_head", "critical"]),
        *(_resource(f"large{i}.js", "script", 400_000, 700 + 100 * i, ["in_head", "defer"]) for i in range(4)),
        _resource("hero.jpg", "image", 60_000, 2_500, ["above_fold", "hero"]),
    )


def large_document() -> Page:
    """Case 2: an HTML document of 167 kB that finds style sheet, scripts and images all along."""
    return _page(
        "case-2",
        _resource("html", "document", 167_000, flags=["main", "critical"]),
        _resource("style.css", "stylesheet", 60_000, 1_500, ["in_head", "critical"]),
        _resource("lib.js", "script", 90_000, 2_000, ["in_head", "critical"]),
        *(_resource(f"body{i}.js", "script", 40_000, 20_000 + 20_000 * i, []) for i in range(5)),
        _resource("hero.jpg", "image", 30_000, 10_000, ["above_fold", "hero"]),
        *(_resource(f"image{i}.jpg", "image", 30_000, 17_000 + 7_000 * i, []) for i in range(19)),
        {**_resource("font.woff2", "font", 20_000), "found_by": "style.css", "found_when": "complete"},
    )


def case_tables() -> Iterator[str]:
    schemes = {
        **{f"`{spec}`": scheme_named(spec) for spec in (BASELINE, *SCHEMES, "firefox:js=code", "chrome7")},
        "`dfifo`, deferred scripts at the lowest level": altered(
            "dfifo", lambda request, place: Level(Rank.LOWEST) if is_delayed(request) else place
        ),
        "`zeroweight`, deferred scripts with weight 0": altered(
            "zeroweight", lambda request, place: 0 if is_delayed(request) else place
        ),
    }
    yield "## Case 1: a small hero behind large deferred scripts of the head"
    yield ""
    yield "By size of the critical style sheet. Hero complete in seconds; ATF speed-up over rr."
    yield ""
    styles_bytes = (5_000, 30_000, 120_000, 300_000)
    yield from table(
        ("scheme", *(f"{size // 1000} kB" for size in styles_bytes)),
        (
            (label, *(_case_1(hero_and_deferred_scripts(size), scheme) for size in styles_bytes))
            for label, scheme in schemes.items()
        ),
    )
    yield "## Case 2: HTML of 167 kB"
    yield ""
    yield "HTML complete in seconds, ATF ByteIndex in seconds, and speed-up over rr with the same buffer."
    yield ""
    page = large_document()
    yield from table(
        ("scheme", *(f"{size // 1000} kB" for size in BUFFERS_BYTES)),
        ((f"`{spec}`", *(_case_2(page, spec, size) for size in BUFFERS_BYTES)) for spec in (BASELINE, *SCHEMES)),
    )


def _case_1(page: Page, scheme: ConfiguredScheme) -> str:
    load, base = play_pipe(Discoveries.of(page), scheme), play(page, BASELINE)
    ratio = byte_indexes(base).atf_ms / byte_indexes(load).atf_ms
    return f"{seconds(load.times()['hero.jpg'].complete_ms)}, {factor(ratio)}"


def _case_2(page: Page, spec: str, buffer_bytes: int) -> str:
    options = PipeOptions(send_buffer_bytes=buffer_bytes)
    load, base = play(page, spec, options), play(page, BASELINE, options)
    html_ms, index_ms = load.times()["html"].complete_ms, byte_indexes(load).atf_ms
    return f"{seconds(html_ms)}, {seconds(index_ms)}, {factor(byte_indexes(base).atf_ms / index_ms)}"


def _page(name: str, *resources: dict[str, Any]) -> Page:
    return Page.from_dict({"format": PAGE_FORMAT, "name": name, "resources": list(resources)})


def _resource(
    name: str, kind: str, body_bytes: int, at_bytes: int | None = None, flags: list[str] | None = None
) -> dict[str, Any]:
    """at_bytes: where the document makes it known; None = not by the document's bytes."""
    facts = {
        "id": name,
        "path": f"/{name}",
        "kind": kind,
        "mime": _MIMES[kind],
        "body_bytes": body_bytes,
        "flags": flags or [],
    }
    return (
        facts if at_bytes is None else {**facts, "found_by": "html", "found_when": "bytes", "found_at_bytes": at_bytes}
    )
