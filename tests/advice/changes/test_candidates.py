"""Which changes are worth a try, by the page alone."""

from __future__ import annotations

import pytest

from mixedsched.advice.changes.candidates import TAG_ACTIONS, candidates_of, candidates_of_page
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.findings import findings_of
from mixedsched.advice.changes.html_change import Document
from mixedsched.model.request import Flag
from tests.advice.changes.shop import DOCUMENT, made_up_look
from tests.advice.changes.shop import PAGE as MEASURED
from tests.advice.tuner.ship.pages import SHOP, page_of, resource


def codes(changes: list[Change]) -> list[str]:
    return [change.code for change in changes]


def test_the_manifest_alone_suggests_the_hero_fonts_and_hurried_images() -> None:
    assert codes(candidates_of_page(SHOP)) == [
        "fetch_first(0/img/hero.jpg)",
        "preload(0/fonts/a.woff2,0/fonts/b.woff2)",
    ]
    hurried = page_of(
        resource("/hero.jpg", "image", "hero", chromium_priority="High"),
        resource("/low.jpg", "image", chromium_priority="Medium"),
    )
    assert codes(candidates_of_page(hurried)) == ["fetch_last(0/low.jpg)"]


def test_a_hero_that_a_style_names_and_an_imported_style_are_preloaded() -> None:
    page = page_of(
        resource("/a.css", "stylesheet", "in_head", "critical"),
        resource(
            "/b.css", "stylesheet", "in_head", "critical", found_by="a.css", found_when="complete", found_at_bytes=0
        ),
        resource("/hero.jpg", "image", "hero", found_by="b.css", found_when="complete", found_at_bytes=0),
    )
    assert codes(candidates_of_page(page)) == ["fetch_first(0/hero.jpg)", "preload(0/hero.jpg)", "preload(0/b.css)"]


def test_a_page_without_anything_to_say_suggests_nothing() -> None:
    assert candidates_of_page(page_of()) == []
    assert candidates_of_page(page_of(resource("/a.jpg", "image"), resource("/b.js", "script", "defer"))) == []


def test_a_document_admits_only_what_it_has_tags_for() -> None:
    """The hero of the measured shop has its tag; an image that no tag names has none."""
    resources = [
        item.model_copy(update={"flags": item.flags | {Flag.HERO}}) if item.path == "/hero.jpg" else item
        for item in MEASURED.resources
    ]
    shop = MEASURED.model_copy(update={"resources": tuple(resources)})
    assert "fetch_first(0/hero.jpg)" in codes(candidates_of_page(shop, DOCUMENT))
    nameless = page_of(resource("/made-by-script.jpg", "image", "hero"))
    assert candidates_of_page(nameless, DOCUMENT) == []


@pytest.mark.parametrize(
    ("tag", "is_preloaded"),
    [
        ('<img src="/hero.jpg">', True),
        ('<img src="/hero.jpg" srcset="/hero.jpg 1x, /hero-2x.jpg 2x">', False),
        ('<picture><source srcset="/hero.jpg" media="(max-width: 600px)"><img src="/wide.jpg"></picture>', False),
    ],
)
def test_what_the_browser_chooses_by_its_screen_is_not_preloaded(tag: str, is_preloaded: bool) -> None:
    """Another screen would load it beside the file that it shows."""
    page = page_of(
        resource("/a.css", "stylesheet", "in_head", "critical"),
        resource("/hero.jpg", "image", "hero", found_by="a.css", found_when="complete", found_at_bytes=0),
    )
    document = Document(f"<head><title>shop</title></head><body>{tag}", page, ("shop.test",))
    assert ("preload(0/hero.jpg)" in codes(candidates_of_page(page, document))) == is_preloaded


def test_a_look_suggests_tags_among_other_changes() -> None:
    look = made_up_look()
    found = candidates_of([look], findings_of(look, 1_600_000), DOCUMENT)
    assert "fetch_first(0/hero.jpg)" in codes([change for change in found if change.action in TAG_ACTIONS])
