"""What a search plays: the page as one load showed it, once held back at most."""

from __future__ import annotations

from mixedsched.advice.changes.look import look_at
from mixedsched.advice.tuner._looks import page_model
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.model.browser_model import IDEAL, BrowserModel
from tests.advice.changes.shop import HOSTS, PAGE, RTT_MS, made_up_run

CHROMIUM = BrowserModel("c", "made up", early_low=2, finds_at_layout=True)
FOUND = look_at(made_up_run(), PAGE, HOSTS, RTT_MS)


def test_without_limits_of_a_browser_a_request_waits_as_it_did_in_the_load() -> None:
    assert page_model(FOUND, PAGE, HOSTS, IDEAL) is FOUND.model
    played = FOUND.model.played().by_id()
    assert (played["/late.js"].found_by, played["/late.js"].found_when) == ("/app.js", "complete")


def test_a_browser_that_withholds_gets_them_when_the_page_knows_them() -> None:
    model = page_model(FOUND, PAGE, HOSTS, CHROMIUM)
    assert not model.gated
    late = model.played().by_id()["/late.js"]
    assert (late.found_by, late.found_when, late.delay_ms) == ("html", "bytes", 0.0)


def test_both_wait_for_the_same_hero_and_flags() -> None:
    model = page_model(FOUND, PAGE, HOSTS, CHROMIUM)
    assert model.hero_needs == FOUND.model.hero_needs
    assert {item.id: item.flags for item in model.page.resources} == {
        item.id: item.flags for item in FOUND.model.page.resources
    }
    assert PaintNeeds.of(model.played()).largest == PaintNeeds.of(FOUND.model.played()).largest
