"""What the document itself can say."""

from __future__ import annotations

from mixedsched.advice.changes.change import Action
from mixedsched.advice.changes.findings import findings_of
from mixedsched.advice.tuner.ship.html import ACTIONS, changes_from_looks, changes_from_page, tags_of
from mixedsched.model.request import Flag
from tests.advice.changes.shop import DOCUMENT, made_up_look
from tests.advice.changes.shop import PAGE as MEASURED
from tests.advice.tuner.ship.pages import HOSTS, SHOP, page_of, resource


def codes(changes: tuple) -> list[str]:  # type: ignore[type-arg]
    return [change.code for change in changes]


def test_the_manifest_alone_suggests_the_hero_fonts_and_hurried_images() -> None:
    assert codes(changes_from_page(SHOP)) == ["fetch_first(0/img/hero.jpg)", "preload(0/fonts/a.woff2,0/fonts/b.woff2)"]
    hurried = page_of(
        resource("/hero.jpg", "image", "hero", chromium_priority="High"),
        resource("/low.jpg", "image", chromium_priority="Medium"),
    )
    assert codes(changes_from_page(hurried)) == ["fetch_last(0/low.jpg)"]


def test_a_hero_that_a_style_names_and_an_imported_style_are_preloaded() -> None:
    page = page_of(
        resource("/a.css", "stylesheet", "in_head", "critical"),
        resource(
            "/b.css", "stylesheet", "in_head", "critical", found_by="a.css", found_when="complete", found_at_bytes=0
        ),
        resource("/hero.jpg", "image", "hero", found_by="b.css", found_when="complete", found_at_bytes=0),
    )
    assert codes(changes_from_page(page)) == ["fetch_first(0/hero.jpg)", "preload(0/hero.jpg)", "preload(0/b.css)"]


def test_a_page_without_anything_to_say_suggests_nothing() -> None:
    assert changes_from_page(page_of()) == ()
    assert changes_from_page(page_of(resource("/a.jpg", "image"), resource("/b.js", "script", "defer"))) == ()


def test_a_document_admits_only_what_it_has_tags_for() -> None:
    """The hero of the measured shop has its tag; an image that no tag names has none."""
    resources = [
        item.model_copy(update={"flags": item.flags | {Flag.HERO}}) if item.path == "/hero.jpg" else item
        for item in MEASURED.resources
    ]
    shop = MEASURED.model_copy(update={"resources": tuple(resources)})
    assert "fetch_first(0/hero.jpg)" in codes(changes_from_page(shop, DOCUMENT))
    nameless = page_of(resource("/made-by-script.jpg", "image", "hero"))
    assert changes_from_page(nameless, DOCUMENT) == ()


def test_a_look_suggests_what_an_audit_does_of_these_attributes() -> None:
    look = made_up_look()
    found = changes_from_looks([look], findings_of(look, 1_600_000), DOCUMENT)
    assert "fetch_first(0/hero.jpg)" in codes(found)
    assert {change.action for change in found} <= set(ACTIONS)


def test_tags_are_shown_with_and_without_the_document() -> None:
    first, preload = changes_from_page(SHOP)
    assert first.action is Action.FETCH_FIRST
    (edit,) = tags_of(first, SHOP, HOSTS, None).edits
    assert (edit.before, edit.after) == ('<img src="/img/hero.jpg">', '<img fetchpriority="high" src="/img/hero.jpg">')
    link = tags_of(preload, SHOP, HOSTS, None).edits[0]
    assert link.after.startswith('<link rel="preload" as="font" href="/fonts/a.woff2"')
    real = tags_of(changes_from_looks([made_up_look()], [], DOCUMENT)[0], MEASURED, ("shop.test",), DOCUMENT)
    assert real.is_real
    assert real.edits[0].before.startswith("<img")


def test_hosts_without_a_name_are_told_by_number() -> None:
    """A page description numbers its hosts; their names are known to a site alone."""
    page = page_of(
        resource("/hero.jpg", "image", "hero", host=1),
        resource("/a.woff2", "font", host=2, found_by="hero.jpg", found_when="complete"),
    )
    first, preload = changes_from_page(page)
    assert tags_of(first, page, (), None).edits[0].before == '<img src="https://HOST-1/hero.jpg">'
    assert 'href="https://HOST-2/a.woff2"' in tags_of(preload, page, HOSTS, None).edits[0].after
    assert tags_of(first, page, HOSTS, None).edits[0].before == '<img src="https://cdn.test/hero.jpg">'
