"""Rules of the estimated paints: what blocks them, and what is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.metrics.paint import FIRST_PAINT_SHARE, PaintEstimate, PaintNeeds
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page
from tests.core.metrics.pages import page
from tests.core.sim.pages import pages


def estimate(
    of: Page,
    first_byte_ms: float = 10.0,
    model: BrowserModel = IDEAL,
    hero_needs: tuple[str, ...] = (),
    **complete_ms: float,
) -> PaintEstimate:
    """Paints where all is complete at 20 ms that is not named; names have "_" for "."."""
    complete = {item.id: complete_ms.get(item.id.replace(".", "_"), 20.0) for item in of.resources}
    return PaintNeeds.of(of).estimate(dict.fromkeys(complete, first_byte_ms), complete, model, hero_needs)


def test_a_bare_document_is_painted_with_its_first_byte() -> None:
    assert estimate(page(), html=500.0) == PaintEstimate(10.0, 10.0, 10.0)


@pytest.mark.parametrize(
    ("kind", "flags", "blocks"),
    [
        ("stylesheet", ["in_head"], True),
        ("stylesheet", ["critical"], True),
        ("stylesheet", ["late_body"], False),
        ("stylesheet", [], False),
        ("script", ["in_head"], True),
        ("script", ["critical"], True),
        ("script", ["in_head", "async"], False),
        ("script", ["in_head", "critical", "defer"], False),
        ("script", [], False),
        ("font", ["critical"], False),
        ("image", ["critical"], False),
        ("xhr", ["critical"], False),
    ],
)
def test_the_first_paint_waits_for_style_sheets_and_plain_scripts_of_the_head(
    kind: str, flags: list[str], blocks: bool
) -> None:
    of = page({"id": "x", "kind": kind, "flags": flags})
    assert estimate(of, x=700.0).fcp_ms == (700.0 if blocks else 10.0)


def test_the_first_paint_waits_for_no_style_sheet_of_other_media() -> None:
    of = page({"id": "print.css", "kind": "stylesheet", "flags": ["in_head"], "chromium_priority": "VeryLow"})
    assert estimate(of, print_css=700.0).fcp_ms == 10.0


def test_what_a_script_inserts_blocks_nothing_and_what_style_sheets_import_does() -> None:
    loader = {"id": "loader.js", "kind": "script", "flags": ["in_head"]}
    inserted = {"id": "inserted.css", "kind": "stylesheet", "flags": ["critical"], "found_by": "loader.js"}
    outer = {"id": "outer.css", "kind": "stylesheet", "flags": ["in_head"]}
    middle = {"id": "middle.css", "kind": "stylesheet", "flags": ["in_head"], "found_by": "outer.css"}
    inner = {"id": "inner.css", "kind": "stylesheet", "flags": ["critical"], "found_by": "middle.css"}
    of = page(loader, inner, inserted, middle, outer)
    assert PaintNeeds.of(of).blocking == ("loader.js", "inner.css", "middle.css", "outer.css")
    assert estimate(of, inserted_css=900.0, inner_css=800.0).fcp_ms == 800.0


def test_the_largest_paint_waits_for_heroes_and_never_comes_before_the_first() -> None:
    css = {"id": "css", "kind": "stylesheet", "flags": ["in_head"]}
    heroes = [{"id": name, "kind": "image", "flags": ["hero"]} for name in ("one", "two")]
    other = {"id": "other", "kind": "image", "flags": ["above_fold"]}
    of = page(css, *heroes, other)
    found = estimate(of, css=100.0, one=300.0, two=200.0, other=900.0)
    assert (found.fcp_ms, found.lcp_ms) == (100.0, 300.0)
    found = estimate(of, css=400.0, one=300.0)
    assert (found.fcp_ms, found.lcp_ms) == (400.0, 400.0)


def test_without_a_hero_the_images_above_the_fold_are_the_largest() -> None:
    images = [{"id": name, "kind": "image", "flags": ["above_fold"]} for name in ("one", "two")]
    below = {"id": "below", "kind": "image", "flags": []}
    frame = {"id": "frame", "kind": "document", "flags": ["above_fold"]}
    assert estimate(page(*images, below, frame), two=300.0, below=900.0, frame=900.0).lcp_ms == 300.0


def test_a_long_chain_of_imports_listed_backwards_is_followed() -> None:
    count = 3000
    chain = [
        {"id": f"css{i}", "kind": "stylesheet", "flags": ["in_head"], "found_by": f"css{i - 1}"}
        for i in range(1, count)
    ]
    first = {"id": "css0", "kind": "stylesheet", "flags": ["in_head"]}
    assert len(PaintNeeds.of(page(*reversed(chain), first)).blocking) == count


# With a browser's work

WORKING = BrowserModel(
    "working", "", document_ms_per_kb=1.0, style_ms_per_kb=2.0, script_ms_per_kb=3.0, decode_ms_per_kb=0.5, paint_ms=7.0
)
CSS = {"id": "css", "kind": "stylesheet", "flags": ["in_head"], "body_bytes": 10_000}
SCRIPT = {"id": "js", "kind": "script", "flags": ["in_head"], "body_bytes": 10_000}
HERO = {"id": "hero", "kind": "image", "flags": ["hero"], "body_bytes": 40_000}


def test_the_main_thread_works_on_what_blocks_one_after_the_other_in_page_order() -> None:
    of = page(CSS, SCRIPT)
    both = 20.0 + 30.0  # of the sheet and the script; the document of 10 bytes takes 0.01 ms
    assert estimate(of, model=WORKING, css=100.0, js=50.0).fcp_ms == pytest.approx(100 + both + 7)
    assert estimate(of, model=WORKING, css=100.0, js=110.0).fcp_ms == pytest.approx(100 + both + 7)
    assert estimate(of, model=WORKING, css=100.0, js=200.0).fcp_ms == pytest.approx(200 + 30 + 7)
    assert estimate(of, 300.0, WORKING, css=100.0, js=200.0).fcp_ms == pytest.approx(300.01 + both + 7)


def test_the_hero_is_decoded_and_painted_and_never_comes_before_the_first_paint() -> None:
    of = page(CSS, HERO)
    assert estimate(of, model=WORKING, css=100.0, hero=500.0).lcp_ms == pytest.approx(500 + 20 + 7)
    early = estimate(of, model=WORKING, css=900.0, hero=500.0)
    assert early.lcp_ms == early.fcp_ms


def test_a_hero_that_a_script_draws_waits_for_that_script_and_its_work() -> None:
    late = {"id": "app.js", "kind": "script", "flags": ["async"], "body_bytes": 10_000}
    of = page(CSS, late, HERO)
    found = estimate(of, model=WORKING, hero_needs=("app.js",), css=100.0, app_js=600.0, hero=200.0)
    assert found.lcp_ms == pytest.approx(600 + 30 + 7)
    assert found.fcp_ms == pytest.approx(100 + 20 + 7)
    assert estimate(of, hero_needs=("app.js",), css=100.0, app_js=600.0, hero=200.0).lcp_ms == 600.0


def test_speed_index_is_the_first_paint_where_the_first_screen_has_no_images() -> None:
    found = estimate(page(CSS), css=300.0)
    assert found.si_ms == found.fcp_ms == 300.0


def test_images_add_to_the_speed_index_by_the_square_root_of_their_bytes_and_a_hero_twice() -> None:
    other = {"id": "other", "kind": "image", "flags": ["above_fold"], "body_bytes": 10_000}
    found = estimate(page(CSS, HERO, other), css=100.0, hero=1000.0, other=500.0)
    images_ms = (4 * 1000 + 1 * 500) / 5  # sqrt(40 000) * 2 : sqrt(10 000)
    assert found.si_ms == pytest.approx(FIRST_PAINT_SHARE * 100 + (1 - FIRST_PAINT_SHARE) * images_ms)


@given(pages(), st.data(), st.sampled_from([IDEAL, WORKING]))
def test_later_arrivals_never_give_earlier_paints(made: Page, data: st.DataObject, model: BrowserModel) -> None:
    names = [item.id for item in made.resources]
    times = st.lists(st.floats(0, 10_000), min_size=len(names), max_size=len(names))
    sooner, delays = data.draw(times), data.draw(times)
    hero_needs = data.draw(st.lists(st.sampled_from(names), unique=True))
    later = [time + delay for time, delay in zip(sooner, delays, strict=True)]
    needs = PaintNeeds.of(made)
    before, after = (
        needs.estimate(dict(zip(names, ms, strict=True)), dict(zip(names, ms, strict=True)), model, hero_needs)
        for ms in (sooner, later)
    )
    assert before.fcp_ms <= after.fcp_ms
    assert before.lcp_ms <= after.lcp_ms
    assert before.si_ms <= after.si_ms + 1e-6  # a sum of floats
    assert before.fcp_ms <= min(before.lcp_ms, before.si_ms + 1e-6)
