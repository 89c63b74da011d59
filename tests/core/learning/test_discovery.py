"""What makes the requests of a learned page known, and what its first paint waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mixedsched.core.learning.learned import LearnedPage
from mixedsched.core.learning.memory import PageMemory
from mixedsched.core.learning.visit import Beacon, SeenRequest
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Resource
from mixedsched.model.request import ChromiumPriority, Kind
from tests.core.learning.visits import seen, visit

WITHHOLDING = BrowserModel("withholding", "this test", early_low=2, low_per_host=6)
LATE = "/late.jpg"
AT_MS = 500.0
"""When it is asked for: long after document and style sheet have come."""
BEGINNING = (
    seen("/", Kind.DOCUMENT, 10_000, ChromiumPriority.VERY_HIGH, 0.0),
    seen("/style.css", Kind.STYLESHEET, 20_000, ChromiumPriority.VERY_HIGH, 210.0),
)


def with_late_image(under_way: int, priority: ChromiumPriority = ChromiumPriority.LOW) -> list[SeenRequest]:
    """under_way: how many other images are, when it is asked for."""
    others = [
        replace(seen(f"/{number}.jpg", Kind.IMAGE, 50_000, ChromiumPriority.MEDIUM, 220.0), last_byte_ms=900.0)
        for number in range(under_way)
    ]
    return [*BEGINNING, *others, seen(LATE, Kind.IMAGE, 60_000, priority, AT_MS)]


def learned(items: list[SeenRequest], model: BrowserModel = WITHHOLDING, beacon: Beacon | None = None) -> LearnedPage:
    memory = PageMemory("/")
    for _ in range(4):
        memory.learn(replace(visit(items), beacon=beacon))
    found = LearnedPage.of(PageMemory.from_dict(memory.to_dict()), model)
    assert found is not None
    return found


def found(page: LearnedPage, path: str) -> Resource:
    return page.page.by_path()[0, path]


def test_an_image_that_the_browser_had_reason_to_withhold_is_named_by_the_document() -> None:
    image = found(learned(with_late_image(under_way=5)), LATE)
    assert (image.found_by, image.found_when, image.delay_ms) == ("0", "bytes", 0.0)


def test_so_is_one_of_those_that_leave_together_once_what_blocks_has_come() -> None:
    items = [*with_late_image(under_way=1)[:-1], seen(LATE, Kind.IMAGE, 60_000, ChromiumPriority.LOW, 440.0)]
    assert found(learned(items), LATE).found_when == "bytes"
    items[-1] = replace(items[-1], requested_ms=AT_MS)
    assert found(learned(items), LATE).found_when == "complete"


@pytest.mark.parametrize(
    ("items", "model"),
    [
        pytest.param(with_late_image(under_way=5), IDEAL, id="the browser withholds nothing"),
        pytest.param(with_late_image(under_way=4), WITHHOLDING, id="one more was allowed"),
        pytest.param(with_late_image(5, ChromiumPriority.HIGH), WITHHOLDING, id="none so urgent is withheld"),
    ],
)
def test_otherwise_it_is_found_by_what_was_complete_by_then(items: list[SeenRequest], model: BrowserModel) -> None:
    image = found(learned(items, model), LATE)
    assert (image.found_by, image.found_when) == ("1", "complete")


def test_an_image_that_a_style_sheet_names_is_not_taken_for_withheld() -> None:
    items = with_late_image(under_way=5)
    items[-1] = replace(items[-1], referrer="/style.css")
    image = found(learned(items), LATE)
    assert (image.found_by, image.found_when) == ("1", "complete")


def test_those_that_were_withheld_are_spread_over_what_is_left_of_the_document_in_order_of_request() -> None:
    items = with_late_image(under_way=5)
    items[1] = replace(items[1], requested_ms=140.0)  # by the first half of the document
    items += [
        seen(f"/later-{number}.jpg", Kind.IMAGE, 60_000, ChromiumPriority.LOW, AT_MS + number) for number in (1, 2, 3)
    ]
    page = learned(items)
    assert found(page, "/style.css").found_at_bytes == 5000
    late = [found(page, path).found_at_bytes for path in (LATE, "/later-1.jpg", "/later-2.jpg", "/later-3.jpg")]
    assert late == [6250, 7500, 8750, 10_000]


def test_who_asks_as_soon_as_the_document_has_come_was_named_by_it() -> None:
    style = found(learned(list(BEGINNING)), "/style.css")
    assert (style.found_by, style.found_when, style.found_at_bytes) == ("0", "bytes", 10_000)


@pytest.mark.parametrize(("fcp_ms", "waits"), [(1000.0, True), (450.0, False)])
def test_the_first_paint_does_not_wait_for_what_comes_after_it(fcp_ms: float, *, waits: bool) -> None:
    script = replace(seen("/late.js", Kind.SCRIPT, 90_000, ChromiumPriority.HIGH, 220.0), last_byte_ms=700.0)
    page = learned([*BEGINNING, script], beacon=Beacon(fcp_ms, 1200.0))
    assert page.needs.blocking == (("1", "2") if waits else ("1",))


def test_without_reports_it_is_taken_to_wait_for_all_that_may_block() -> None:
    script = replace(seen("/late.js", Kind.SCRIPT, 90_000, ChromiumPriority.HIGH, 220.0), last_byte_ms=700.0)
    assert learned([*BEGINNING, script]).needs.blocking == ("1", "2")
