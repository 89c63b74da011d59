"""What a browser withholds, and when it lets go, without any network."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim._withheld import playback_of
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries, Playback
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.request import ChromiumPriority, Kind
from tests.core.sim.pages import page, pages, resource, scheme
from tests.examples import examples

HTML = resource("html", 1000, kind="document")
HEAD_SCRIPT = resource("head.js", 10_000, "html@10", "script", flags=["in_head"])
HEAD_STYLE = resource("head.css", 1000, "html@5", "stylesheet", flags=["in_head"])

EARLY = {"early_low": 2, "early_medium": 2}


def browser(**constants: Any) -> BrowserModel:
    return BrowserModel("made up", "", **constants)


def image(name: str, found: str = "html@20", priority: str = "Low", **more: Any) -> dict[str, Any]:
    return resource(name, 1, found, "image", chromium_priority=priority, **more)


def begun(model: BrowserModel, *resources: dict[str, Any]) -> tuple[Playback, list[str]]:
    """A load whose document is there since 0, and the requests that have left since."""
    made = page(HTML, *resources)
    played = playback_of(Discoveries.of(made, model))
    assert played.pop_due(0) == [0]
    played.delivered(0, 1000, 0)
    return played, leaving(played, made, 0)


def leaving(played: Playback, made: Page, now_us: int) -> list[str]:
    return [made.resources[index].id for index in played.pop_due(now_us)]


def names(played: Playback, now_us: int, *resources: dict[str, Any]) -> list[str]:
    return leaving(played, page(HTML, *resources), now_us)


# Until the body is reached


def test_a_low_request_waits_in_the_head_while_two_others_are_under_way() -> None:
    low = [image(name) for name in "abc"]
    _, left = begun(browser(**EARLY), HEAD_SCRIPT, *low)
    assert left == ["head.js", "a"]


def test_two_of_medium_may_leave_whatever_else_is_under_way() -> None:
    listed = [HEAD_STYLE, HEAD_SCRIPT, *(image(name, priority="Medium") for name in "abc"), image("low")]
    _, left = begun(browser(**EARLY), *listed)
    assert left == ["head.css", "head.js", "a", "b"]


def test_all_leave_when_the_parser_gets_past_the_scripts_of_the_head() -> None:
    listed = [HEAD_SCRIPT, *(image(name) for name in "abc")]
    played, left = begun(browser(**EARLY, script_ms_per_kb=0.5), *listed)
    assert left == ["head.js", "a"]
    played.completed(1, 7000)
    assert names(played, 7000, *listed) == ["b"]  # in the place of the script, which still runs
    assert played.next_due_us() == 12_000
    assert names(played, 12_000, *listed) == ["c"]


def test_style_sheets_hold_the_parser_up_only_before_a_script() -> None:
    low = [image(name) for name in "abcd"]
    assert begun(browser(**EARLY), HEAD_STYLE, *low)[1] == ["head.css", "a", "b", "c", "d"]
    listed = [HEAD_STYLE, HEAD_SCRIPT, *low]
    played, left = begun(browser(**EARLY), *listed)
    assert left == ["head.css", "head.js"]
    played.completed(2, 5)
    assert names(played, 5, *listed) == ["a"]
    played.completed(1, 9)
    assert names(played, 9, *listed) == ["b", "c", "d"]


def test_what_blocks_is_never_withheld_nor_what_leads_to_it() -> None:
    outer = resource("outer.css", 10, "html@1", "stylesheet", chromium_priority="VeryLow")
    inner = resource("inner.css", 10, "outer.css", "stylesheet", chromium_priority="Low", flags=["in_head"])
    many = [resource(f"{place}.js", 10, "html@2", "script", flags=["in_head"]) for place in range(4)]
    last = resource("last.js", 10, "html@2", "script", chromium_priority="Low", flags=["in_head"])
    listed = [outer, inner, *many, last]
    played, left = begun(browser(**EARLY, low_per_host=1, low_per_page=1), *listed)
    assert left == ["0.js", "1.js", "2.js", "3.js", "last.js", "outer.css"]
    played.completed(1, 5)
    assert names(played, 5, *listed) == ["inner.css"]


# At any time


def test_one_of_medium_or_below_waits_while_its_host_has_enough_under_way() -> None:
    urgent = [image(f"high{place}", priority="High") for place in range(3)]
    listed = [*urgent, image("medium", priority="Medium"), image("low"), image("elsewhere", host=1)]
    played, left = begun(browser(low_per_host=3), *listed)
    assert left == ["high0", "high1", "high2", "elsewhere"]
    played.completed(1, 5)
    assert played.next_due_us() == 5
    assert names(played, 5, *listed) == ["medium"]


def test_who_waits_leaves_by_priority_and_then_as_found() -> None:
    listed = [
        image("lowest", "html@20", "VeryLow"),
        image("b"),
        image("a"),
        image("medium", "first!", "Medium", delay_ms=1),
        image("first", priority="High"),
    ]
    played, left = begun(browser(low_per_host=1), *listed)
    assert left == ["first"]
    assert names(played, 1000, *listed) == []
    for place, expected in ((5, "medium"), (4, "b"), (2, "a"), (3, "lowest")):
        played.completed(place, 2000)
        assert names(played, 2000, *listed) == [expected]


def test_no_more_of_medium_and_below_are_under_way_than_a_page_may_have() -> None:
    listed = [image(f"i{place}", host=place) for place in range(5)] + [image("high", priority="High")]
    _, left = begun(browser(low_per_page=2), *listed)
    assert left == ["high", "i0", "i1"]


def test_documents_do_not_count() -> None:
    _, left = begun(browser(low_per_host=1), resource("frame", 10, "html@0", "document"), image("a"), image("b"))
    assert left == ["frame", "a"]


def test_what_is_due_at_once_leaves_in_order_of_priority() -> None:
    _, left = begun(browser(low_per_page=9), image("a"), HEAD_SCRIPT, HEAD_STYLE)
    assert left == ["head.css", "head.js", "a"]


# Work and layout


def test_what_scripts_and_style_sheets_find_waits_for_their_work_and_for_asking() -> None:
    script = resource("x.js", 2000, "html@0", "script")
    sheet = resource("x.css", 3000, "html@0", "stylesheet")
    listed = [script, sheet, resource("by.js", 1, "x.js", "xhr"), resource("by.css", 1, "x.css", "stylesheet")]
    model = browser(script_ms_per_kb=1.0, style_ms_per_kb=2.0, document_ms_per_kb=50.0, ask_ms=0.5)
    played, left = begun(model, *listed)
    assert (left, played.next_due_us()) == ([], 500)
    assert names(played, 500, *listed) == ["x.js", "x.css"]
    played.completed(1, 1000)
    played.completed(2, 1000)
    assert names(played, 3499, *listed) == []
    assert names(played, 3500, *listed) == ["by.js"]
    assert played.next_due_us() == 7500


def test_fonts_and_images_of_style_sheets_are_asked_for_at_the_first_layout() -> None:
    late = resource("late.css", 100, "html@0", "stylesheet", flags=["in_head"])
    font = resource("font", 1, "head.css", "font")
    imported = resource("imported.css", 1, "head.css", "stylesheet")
    listed = [HEAD_STYLE, late, font, imported]
    played, _ = begun(browser(finds_at_layout=True, style_ms_per_kb=1.0), *listed)
    played.completed(1, 1000)
    assert names(played, 2000, *listed) == ["imported.css"]
    played.completed(2, 5000)
    assert played.next_due_us() == 5100
    assert names(played, 5100, *listed) == ["font"]


def test_images_of_the_first_screen_become_high_at_the_layout() -> None:
    listed = [
        HEAD_STYLE,
        image("below"),
        image("seen", flags=["above_fold"]),
        image("hero", "head.css", flags=["hero"]),
    ]
    played, left = begun(browser(finds_at_layout=True, low_per_host=1), *listed)
    assert left == ["head.css"]
    played.completed(1, 9)
    assert names(played, 9, *listed) == ["below", "seen", "hero"]
    assert played.resource(2).chromium_priority is ChromiumPriority.LOW
    assert {played.resource(index).chromium_priority for index in (3, 4)} == {ChromiumPriority.HIGH}


# Whatever the page

limits = st.none() | st.integers(1, 4)
models = st.builds(
    browser,
    script_ms_per_kb=st.sampled_from([0.0, 0.7]),
    style_ms_per_kb=st.sampled_from([0.0, 0.3]),
    document_ms_per_kb=st.sampled_from([0.0, 0.2]),
    ask_ms=st.sampled_from([0.0, 3.0]),
    early_low=limits,
    early_medium=limits,
    low_per_host=limits,
    low_per_page=limits,
    finds_at_layout=st.booleans(),
)


@given(pages(12), models, st.integers())
def test_every_resource_is_requested_once_and_limits_hold_whatever_the_page(
    made: Page, model: BrowserModel, seed: int
) -> None:
    rng = random.Random(seed)
    discoveries = Discoveries.of(made, model)
    played, now_us = playback_of(discoveries), 0
    holding = discoveries.holding
    requested: list[int] = []
    under_way: list[int] = []
    while not played.is_finished:
        due_us = played.next_due_us()
        if not under_way:
            assert due_us is not None, "nobody waits for nothing"
        if due_us is not None and (not under_way or rng.random() < 0.5):
            now_us = max(now_us, due_us)
        elif under_way:
            played.completed(under_way.pop(rng.randrange(len(under_way))), now_us)
        while (index := played.pop_next(now_us)) is not None:
            resource_now = played.resource(index)
            if holding is not None and holding.ranks[index] and resource_now.chromium_priority.rank > 1:
                others = [made.resources[other] for other in under_way]
                at_host = sum(item.host == resource_now.host and item.kind is not Kind.DOCUMENT for item in others)
                assert model.low_per_host is None or at_host < model.low_per_host
            requested.append(index)
            under_way.append(index)
    assert Counter(requested) == Counter(range(len(made.resources)))


@examples(30)
@given(pages(6), models, st.sampled_from(list(SCHEMES)), st.sampled_from([0, 14_000]), st.sampled_from([0, 10_000]))
def test_a_load_comes_to_its_end_on_rung_pipe(
    made: Page, model: BrowserModel, spec: str, buffer_bytes: int, slot_us: int
) -> None:
    options = PipeOptions(send_buffer_bytes=buffer_bytes, request_slot_us=slot_us)
    load = play_pipe(Discoveries.of(made, model), scheme(spec), options)
    assert len(load.resources) == len(made.resources)
    assert load == play_pipe(Discoveries.of(made, model), scheme(spec), options)
    gaps = [b.requested_ms - a.requested_ms for a, b in zip(load.resources, load.resources[1:], strict=False)]
    assert all(gap * 1000 >= slot_us for gap in gaps)
