"""Orders that are worth simulating for a learned page."""

from __future__ import annotations

import pytest

from mixedsched.core.learning.learned import LearnedPage
from mixedsched.core.learning.memory import PageMemory
from mixedsched.core.learning.proposals import OrderRecipe, first_round, next_round, plan_of
from mixedsched.core.schedulers.inferred import LevelTurns, levels, safe_turn
from mixedsched.model.request import ChromiumPriority, Kind, Request
from tests.core.learning.visits import requests, seen, visit

FIRST = first_round(is_told=True)
RECIPES = [*FIRST, *(recipe for best in FIRST for recipe in next_round(best, is_told=True))]


def learned() -> LearnedPage:
    """The small page, with a frame."""
    memory = PageMemory("/")
    frame = seen("/frame.html", Kind.DOCUMENT, 9000, ChromiumPriority.VERY_HIGH, 180.0)
    for _ in range(3):
        memory.learn(visit([*requests(), frame]))
    found = LearnedPage.of(memory)
    assert found is not None
    return found


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_an_order_is_for_every_client(recipe: OrderRecipe) -> None:
    """The requests of which a page is learned carry no signal. Were a frame's turn to say so, the whole connection would be
    served in the order of its requests, like one whose client never signals."""
    plan = plan_of(recipe, learned())
    assert {(role.turn.client, role.turn.if_firefox) for role in plan.roles} <= {(None, None)}


def test_a_frame_leaves_the_order_as_it_is() -> None:
    plan = plan_of(OrderRecipe("gradual", "value"), learned())
    scheduler = LevelTurns()
    asked = (("/frame.html", Kind.DOCUMENT), ("/img/one.jpg", Kind.IMAGE), ("/app.0a1b2c3d.css", Kind.STYLESHEET))
    for number, (path, kind) in enumerate(asked):
        scheduler.open(4 * number, plan.turn_of(Request(4 * number, path, kind, body_bytes=20_000)))
        scheduler.resume(4 * number)
    scheduler.sent(0, levels.HEAD_BYTES)
    assert scheduler.pick() == 8, "the style sheet, though it was asked for last"


def test_gradually_no_more_of_the_document_goes_first_than_is_safe() -> None:
    memory = PageMemory("/")
    for _ in range(3):
        late = seen("/late.css", Kind.STYLESHEET, 3000, ChromiumPriority.VERY_HIGH, 190.0)
        page = [seen("/", Kind.DOCUMENT, 90_000, ChromiumPriority.VERY_HIGH, 0.0), *requests()[1:], late]
        memory.learn(visit(page, progress=((10.0, 8000), (60.0, 30_000), (80.0, 60_000), (100.0, 90_000))))
    found = LearnedPage.of(memory)
    assert found is not None
    (turn,) = [role.turn for role in plan_of(OrderRecipe("gradual", "value"), found).roles if role.path == "/"]
    (until_bytes, first), (_, second) = turn.early
    assert (
        (until_bytes, first) == safe_turn(Request(0, "/", Kind.DOCUMENT)).early[0] == (levels.HEAD_BYTES, levels.HEAD)
    )
    assert levels.BLOCKING < second < levels.SMALL < turn.level


def test_as_long_as_nobody_reports_no_more_of_the_document_goes_first_than_is_safe() -> None:
    first = first_round(is_told=False)
    assert {recipe.document for recipe in first} == {"safe", "gradual"}
    assert {recipe.document for best in first for recipe in next_round(best, is_told=False)} == {"gradual"}
