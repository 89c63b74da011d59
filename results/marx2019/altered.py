"""Schemes of the study with one rule changed, or kept from knowing something: what the rule and the knowledge are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from markdown import mean, mean_with_interval, table
from playing import Scores, changed, play_all, scheme_named
from study import BASELINE, SCHEMES

from mixedsched.core.schedulers._tree import TreePlace
from mixedsched.core.schedulers.firefox import LEADERS, UNBLOCKED
from mixedsched.core.schedulers.plus import HIGH
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.model.page import Page
from mixedsched.model.request import Flag, Kind, Request
from mixedsched.model.scheme import ConfiguredScheme

SEEN = frozenset({Flag.HERO, Flag.ABOVE_FOLD})

Replace = Callable[[Request, Any], Any]  # a request and its usual placement -> the one to use


def altered(spec: str, place: Replace) -> ConfiguredScheme:
    """A scheme that places some responses otherwise."""
    usual = scheme_named(spec)
    original = usual.scheme.place
    scheme = replace(
        usual.scheme, place=lambda request, mapping, values: place(request, original(request, mapping, values))
    )
    return replace(usual, scheme=scheme)


def is_delayed(request: Request) -> bool:
    return request.kind is Kind.SCRIPT and bool(request.hints & {Flag.ASYNC, Flag.DEFER})


def altered_schemes(pages: list[Page], scores: Scores) -> Iterator[str]:
    yield "## Schemes, altered"
    yield ""

    def lead(group: str, kinds: set[Kind]) -> Replace:
        return lambda request, place: TreePlace(group, place.weight) if request.kind in kinds else place

    def unchain_delayed(request: Request, place: TreePlace) -> TreePlace:
        return TreePlace(UNBLOCKED) if is_delayed(request) else place

    html_and_fonts = {Kind.DOCUMENT, Kind.FONT}
    lead_serial = lead(HIGH, html_and_fonts)
    variants = {
        "`zeroweight`": scheme_named("zeroweight"),
        "`zeroweight:other_image=0`": scheme_named("zeroweight:other_image=0"),
        "`zeroweight`, async and deferred scripts with weight 0": altered(
            "zeroweight", lambda request, place: 0 if is_delayed(request) else place
        ),
        "`zeroweight:other_image=0`, async and deferred scripts with weight 0": altered(
            "zeroweight:other_image=0", lambda request, place: 0 if is_delayed(request) else place
        ),
        "`s+`": scheme_named("s+"),
        "`s+`, HTML and fonts in the first chain": altered("s+", lead_serial),
        "`s+`, async and deferred scripts in Firefox's unblocked": altered("s+", unchain_delayed),
        "`s+`, both": altered("s+", lambda request, place: lead_serial(request, unchain_delayed(request, place))),
        "`firefox`": scheme_named("firefox"),
        "`firefox:js=code`": scheme_named("firefox:js=code"),
        "`firefox:js=survey`": scheme_named("firefox:js=survey"),
        "`firefox`, HTML among the leaders": altered("firefox", lead(LEADERS, {Kind.DOCUMENT})),
        "`firefox`, HTML and fonts among the leaders": altered("firefox", lead(LEADERS, html_and_fonts)),
        "`p+:chain=dfifo`": scheme_named("p+:chain=dfifo"),
        "`s+:chain=dfifo`": scheme_named("s+:chain=dfifo"),
        "`spdyrr:inside=wrr`": scheme_named("spdyrr:inside=wrr"),
        "`bucket:table=figure7`": scheme_named("bucket:table=figure7"),
    }
    base = play_all(pages, scheme_named(BASELINE), PipeOptions())
    rows = []
    for label, scheme in variants.items():
        indexes = play_all(pages, scheme, PipeOptions())
        speed_up = scores.above_fold_ms(BASELINE) / indexes.above_fold_ms
        rows.append(
            (
                label,
                mean(base.all_ms / indexes.all_ms),
                mean_with_interval(speed_up),
                str(int((speed_up < 0.999).sum())),
            )
        )
    yield from table(("scheme", "All", "ATF", "ATF slower than rr"), rows)


def without_hero(pages: list[Page], scores: Scores) -> Iterator[str]:
    yield "## Without knowing what is seen"
    yield ""
    yield "ATF speed-up when schemes are not told which images are the hero or above the fold; judged as before."
    yield ""
    blind = [changed(page, lambda item: item.model_copy(update={"flags": item.flags - SEEN})) for page in pages]
    rows = []
    for name in SCHEMES:
        indexes = play_all(blind, scheme_named(name), PipeOptions(), judged_as=pages)
        speed_up = scores.above_fold_ms(BASELINE) / indexes.above_fold_ms
        rows.append((f"`{name}`", mean_with_interval(scores.speed_up(name)), mean_with_interval(speed_up)))
    yield from table(("scheme", "told", "not told"), rows)
