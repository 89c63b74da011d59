"""The page to tune, and the site that is made of it where there is none."""

from __future__ import annotations

from pathlib import Path

from mixedsched.advice.tuner.job import Subject
from mixedsched.model.page import Page
from tests.advice.tuner.sessions import PAGE


def described(page: Page) -> Subject:
    return Subject(page.name, page.name, page, None, page.fingerprint)


def made(page: Page, folder: Path, told: list[int]) -> Subject:
    return described(page).loadable(folder, lambda done_bytes, _: told.append(done_bytes))


def test_the_site_of_a_page_description_is_made_once(tmp_path: Path) -> None:
    told: list[int] = []
    first = made(PAGE, tmp_path, told)
    assert told
    told.clear()
    assert made(PAGE, tmp_path, told).digest == first.digest
    assert not told


def test_a_description_that_has_changed_gets_a_site_of_its_own(tmp_path: Path) -> None:
    resources = [
        item.model_copy(update={"body_bytes": 2 * item.body_bytes}) if item.id == "hero" else item
        for item in PAGE.resources
    ]
    changed = Page(format=PAGE.format, name=PAGE.name, resources=tuple(resources))
    before, after = made(PAGE, tmp_path, []), made(changed, tmp_path, [])
    assert before.digest != after.digest
    assert after.page.by_path()[0, "/hero.jpg"].body_bytes == changed.by_id()["hero"].body_bytes
