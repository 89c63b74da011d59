"""The page as a load shows it to a browser model."""

from __future__ import annotations

from typing import Any

from mixedsched.advice.changes.observed import ObservedPage, as_gated, as_listed, as_observed
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.lab.model import Run
from mixedsched.model.request import ChromiumPriority
from tests.advice.changes.shop import HOSTS, PAGE, RTT_MS, made_up_run


def observed(**times: Any) -> ObservedPage:
    """As the made-up load shows it. times: of requests by path's last word, fields that are otherwise in this load."""
    return as_observed([changed(made_up_run(), times)], PAGE, HOSTS, RTT_MS)


def changed(run: Run, times: dict[str, dict[str, float]]) -> Run:
    requests = [
        {**item, **next((fields for name, fields in times.items() if f"/{name}." in item["url"]), {})}
        for item in run.page_load["requests"]
    ]
    return Run(
        **{**{name: getattr(run, name) for name in run.__slots__}, "page_load": {**run.page_load, "requests": requests}}
    )


def test_signals_are_those_that_were_sent_and_flags_those_that_the_server_knew() -> None:
    page = observed().page.by_id()
    assert page["/late.js"].chromium_priority is ChromiumPriority.MEDIUM
    assert {name: item.flags for name, item in page.items()} == {item.id: item.flags for item in PAGE.resources}


def test_what_the_browser_withheld_is_known_as_early_as_it_really_was() -> None:
    # late.js was asked for at 222 ms and requested at 720: the model is to withhold it, the page is not
    late = observed().page.by_id()["/late.js"]
    assert (late.found_by, late.found_when, late.delay_ms) == ("html", "bytes", 0.0)
    assert "/late.js" in {item.id for item in as_gated(made_up_run(), PAGE, HOSTS, RTT_MS).page.resources}


def test_the_largest_paint_is_that_of_the_load() -> None:
    found = observed()
    assert found.needs.largest == ("/hero.jpg",)
    assert found.needs.blocking == PaintNeeds.of(PAGE).blocking


def test_a_font_asked_for_when_nothing_blocked_any_more_is_left_to_the_first_layout() -> None:
    font = observed().page.by_id()["/text.woff2"]  # asked for at 720, app.js was there at 700
    assert (font.found_by, font.found_when, font.delay_ms) == ("/site.css", "complete", 0.0)


def test_a_font_asked_for_at_another_time_waits_for_no_layout() -> None:
    font = observed(text={"start_ms": 460.0, "request_ms": 465.0}).page.by_id()["/text.woff2"]
    assert (font.found_by, font.found_when, font.delay_ms) == ("html", "complete", 250.0)


def test_what_a_tag_names_and_is_asked_for_much_later_is_found_late() -> None:
    image = observed(below={"start_ms": 910.0, "request_ms": 915.0}).page.by_id()["/below.jpg"]
    assert (image.found_by, image.found_when, image.delay_ms) == ("html", "complete", 700.0)


def test_resources_stand_in_the_order_in_which_they_were_known() -> None:
    names = [item.id for item in observed(below={"start_ms": 216.0}).page.resources]
    assert names == ["html", "/app.js", "/site.css", "/below.jpg", "/hero.jpg", "/late.js", "/text.woff2"]


def test_a_listed_page_is_itself() -> None:
    assert as_listed(PAGE) == ObservedPage(PAGE, PaintNeeds.of(PAGE))


def test_what_moves_with_the_layout_from_load_to_load_waits_for_it() -> None:
    later = {"app": {"end_ms": 1700.0}, "text": {"start_ms": 1720.0, "request_ms": 1725.0}}
    runs = [made_up_run(), changed(made_up_run(), later), changed(made_up_run(), later)]
    font = as_observed(runs, PAGE, HOSTS, RTT_MS).page.by_id()["/text.woff2"]
    assert (font.found_by, font.found_when) == ("/site.css", "complete")


def test_what_does_not_move_with_the_layout_does_not_wait_for_it() -> None:
    runs = [made_up_run(), *(changed(made_up_run(), {"app": {"end_ms": end}}) for end in (650.0, 1700.0))]
    font = as_observed(runs, PAGE, HOSTS, RTT_MS).page.by_id()["/text.woff2"]  # always asked for at 720
    assert (font.found_by, font.found_when, font.delay_ms) == ("html", "complete", 510.0)
