"""Several loads of a page as one: union, order, priorities, kinds, flags, think times, queries that differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.analysis.difference import shared_characters
from mixedsched.sites.live import _matching, fuse
from mixedsched.sites.live._exchanges import offset_of
from mixedsched.sites.recorded.records import RecordedExchange
from mixedsched.world.browser.observation import Initiator, Observation
from tests.sites.live.made import SHOP, body, document, load, request


def fused(*loads: Observation) -> dict[str, RecordedExchange]:
    """What the loads become, by what follows the page's address."""
    return {item.url.removeprefix(SHOP): item for item in fuse(loads).exchanges}


def test_what_any_load_asked_for_is_there_in_its_typical_place() -> None:
    a, b, c = (request(f"{SHOP}{name}") for name in "abc")
    page = fused(load(document(), a, b), load(document(), b, c, a), load(document(), a, b, c))
    assert list(page) == ["", "a", "b", "c"]


def test_what_is_not_in_every_load_is_told() -> None:
    result = fuse([load(document()), load(document(), request(f"{SHOP}ad"))])
    assert result.facts == {"not_in_every_load": [f"{SHOP}ad"]}
    assert result.notes == (f"not asked for in every one of 2 loads: {SHOP}ad",)


def test_queries_that_differ_from_load_to_load_are_one_resource() -> None:
    first = load(document(), request(f"{SHOP}a?id=1&r=77"), request(f"{SHOP}a?id=2&r=88"))
    second = load(document(), request(f"{SHOP}a?id=2&r=11"), request(f"{SHOP}a?id=1&r=22"))
    assert list(fused(first, second)) == ["", "a?id=1&r=77", "a?id=2&r=88"]


def test_of_thousands_of_queries_at_one_path_each_is_compared_with_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def noted(one: str, other: str) -> int:
        compared.append(one)
        return shared_characters(one, other)

    monkeypatch.setattr(_matching, "shared_characters", noted)
    loads = [load(document(), *(request(f"{SHOP}a?{name}{number}") for number in range(400))) for name in "xy"]
    assert len(_matching.grouped(loads)) == 401
    assert len(compared) <= 400 * 100


def test_queries_that_every_load_has_stay_apart() -> None:
    loads = [load(document(), request(f"{SHOP}a?1"), request(f"{SHOP}a?2"), request(f"{SHOP}a")) for _ in range(2)]
    assert list(fused(*loads)) == ["", "a?1", "a?2", "a"]


def test_the_highest_priority_of_all_loads_counts() -> None:
    low, medium = (request(f"{SHOP}a", priority=level) for level in (ChromiumPriority.LOW, ChromiumPriority.MEDIUM))
    page = fused(load(document(), low), load(document(), medium), load(document(), low))
    assert page["a"].priority is ChromiumPriority.MEDIUM


def test_kinds_that_recorders_mix_up() -> None:
    def kind(*kinds: Kind) -> Kind:
        return fused(*(load(document(), request(f"{SHOP}a", item)) for item in kinds))["a"].kind

    assert kind(Kind.OTHER, Kind.XHR) is Kind.XHR
    assert kind(Kind.XHR, Kind.SCRIPT) is Kind.SCRIPT
    assert kind(Kind.IMAGE, Kind.FONT, Kind.FONT) is Kind.FONT


def test_flags_are_those_of_most_loads() -> None:
    seen, unseen = request(f"{SHOP}a", flags=frozenset({Flag.ABOVE_FOLD})), request(f"{SHOP}a")
    assert fused(load(document(), seen), load(document(), seen), load(document(), unseen))["a"].flags == {
        Flag.ABOVE_FOLD
    }
    assert fused(load(document(), seen), load(document(), unseen))["a"].flags == frozenset()


def test_the_first_form_factor_decides_what_is_on_the_first_screen() -> None:
    above = request(f"{SHOP}a", flags=frozenset({Flag.ABOVE_FOLD}), priority=ChromiumPriority.MEDIUM)
    below = request(f"{SHOP}a")
    desktop = [load(document(), above, request(f"{SHOP}wide"), form_factor="desktop") for _ in range(2)]
    page = fused(load(document(), below), *desktop)
    assert page["a"].flags == frozenset()
    assert page["a"].priority is ChromiumPriority.LOW
    assert "wide" not in page
    result = fuse([load(document(), below), *desktop])
    assert [item.url for item in result.besides] == [f"{SHOP}wide"], "it can be served"
    assert result.facts["only_on"] == {"desktop": [f"{SHOP}wide"]}


def test_the_largest_paint_of_most_loads_is_the_hero() -> None:
    image = request(f"{SHOP}big.png")
    loads = [
        load(document(), image, lcp_url=image.url),
        load(document(), image),
        load(document(), image, lcp_url=image.url),
    ]
    assert Flag.HERO in fused(*loads)["big.png"].flags


def test_think_times_are_medians_after_the_parent() -> None:
    def one(script_ms: float, wait_ms: float) -> Observation:
        script = request(f"{SHOP}a.js", Kind.SCRIPT, asked_ms=script_ms, lasts_ms=50)
        late = request(f"{SHOP}late", by=script.url, how="script", asked_ms=script_ms + 50 + wait_ms)
        return load(document(), script, late)

    page = fused(one(10, 100), one(500, 120), one(20, 900))
    script, late = page["a.js"], page["late"]
    assert script.complete_ms is not None
    assert late.asked_ms - script.complete_ms == 120


def test_none_comes_before_the_one_that_made_it() -> None:
    script = request(f"{SHOP}a.js", Kind.SCRIPT)
    late = request(f"{SHOP}late", by=script.url, how="script")
    assert list(fused(load(document(), late, script))) == ["", "a.js", "late"]


def test_bodies_are_of_the_first_load_that_has_them_and_changes_are_told(tmp_path: Path) -> None:
    lost = request(f"{SHOP}a", problem="it was not in the log")
    one, two = (request(f"{SHOP}a", body=body(tmp_path, text)) for text in ("one", "two"))
    result = fuse([load(document(), lost), load(document(), one), load(document(), two)])
    assert [item.body for item in result.exchanges] == [b"", b"one"]
    assert result.facts == {"contents_change": [f"{SHOP}a"]}


def test_what_no_load_could_keep_is_left_out_with_the_reason() -> None:
    result = fuse([load(document(), request(f"{SHOP}a", problem="it never ended"), request(f"{SHOP}b", status=0))])
    assert [(item.url, item.why) for item in result.left_out] == [
        (f"{SHOP}a", "it never ended"),
        (f"{SHOP}b", "no answer came"),
    ]


def test_notes_are_said_once_and_loads_that_did_not_rest_are_named() -> None:
    unfinished = request(f"{SHOP}a", complete_ms=None)
    loads = [
        load(document(), notes=("it has a worker",)),
        load(document(), unfinished, notes=("it has a worker",), ended="limit"),
    ]
    assert fuse(loads).notes[:2] == (
        "it has a worker",
        "load 2 (mobile) was ended by its time limit, with 1 request unfinished",
    )


@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "cp1252"])
def test_a_line_tells_the_place_of_what_nothing_spells(charset: str, tmp_path: Path) -> None:
    """A place in the text as the graph reads it, whatever the charset."""
    text = "<p>café â‚\n<script>load('a'+'b')</script>\n<img src=c>"
    page = document(body=body(tmp_path, text.encode(charset)))
    made = request(f"{SHOP}ab", initiator=Initiator("script", SHOP, 1, 8))
    spelt = request(f"{SHOP}c.png", initiator=Initiator("parser", SHOP, 2, 11))
    assert fused(load(page, made, spelt))["ab"].found_at == text.index("load(")


@given(st.text("ab\n", max_size=30), st.integers(0, 9), st.integers(0, 40))
def test_places_stay_inside_the_text(text: str, line: int, column: int) -> None:
    assert 0 <= offset_of(text, line, column) <= len(text)


names = st.lists(st.sampled_from(["a", "b", "c?1", "c?2", "c?3", "d"]), max_size=6)


@given(st.lists(names, min_size=1, max_size=4))
def test_fusing_loses_nothing_and_doubles_nothing(loads: list[list[str]]) -> None:
    """Each load's requests have a home, and no load is counted for more than it asked."""
    made = [load(document(), *(request(f"{SHOP}{name}") for name in asked)) for asked in loads]
    result = fuse(made)
    stems = [item.url.partition("?")[0] for item in result.exchanges]
    for item in made:
        own = [asked.url.partition("?")[0] for asked in item.requests]
        assert all(stems.count(stem) >= own.count(stem) for stem in own)
    assert len(result.exchanges) <= sum(len(item.requests) for item in made)
    assert result.exchanges[0].url == SHOP


def test_what_only_scrolling_led_to_is_served_and_changes_nothing_of_the_page(tmp_path: Path) -> None:
    page = [document(), request(f"{SHOP}a"), request(f"{SHOP}b", asked_ms=40.0)]
    below = [
        request(f"{SHOP}b", after_scroll=True, flags=frozenset({Flag.LAZY})),
        request(f"{SHOP}lazy", after_scroll=True, body=body(tmp_path, "png"), flags=frozenset({Flag.LAZY})),
        request(f"{SHOP}lazy", after_scroll=True),
        request(f"{SHOP}gone", after_scroll=True, status=0, problem="it failed: x"),
    ]
    quiet, scrolled = fuse([load(*page)] * 2), fuse([load(*page, *below), load(*page)])
    assert scrolled.exchanges == quiet.exchanges
    assert [item.url for item in scrolled.besides] == [f"{SHOP}lazy"]
    assert [item.url for item in scrolled.left_out] == [f"{SHOP}gone"]
    assert scrolled.facts == {"on_scroll": [f"{SHOP}lazy"]}
    assert scrolled.notes == (f"asked for only when the page was scrolled, and not part of it: {SHOP}lazy",)


def test_the_page_has_room_first_and_what_is_below_it_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixedsched.sites.live._exchanges.MAX_TOTAL_BYTES", 10)
    found = fuse(
        [
            load(
                document(body=body(tmp_path, "page5")),
                request(f"{SHOP}large", after_scroll=True, body=body(tmp_path, "too large")),
                request(f"{SHOP}small", after_scroll=True, body=body(tmp_path, "fits")),
            )
        ]
    )
    assert [item.url for item in found.besides] == [f"{SHOP}small"]
    assert [(item.url, item.why) for item in found.left_out] == [
        (f"{SHOP}large", "there is no room for all that scrolling leads to")
    ]
