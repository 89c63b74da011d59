import random
from dataclasses import replace

import pytest

from mixedsched.core.learning.describing import describe
from mixedsched.core.learning.learned import LearnedPage
from mixedsched.core.learning.plan import OrderPlan
from mixedsched.core.learning.proposals import OrderRecipe, first_round, next_round, plan_of
from mixedsched.core.learning.state import PageState, Proposal
from mixedsched.core.learning.visit import MAX_PATH, SeenNetwork
from mixedsched.core.schedulers.inferred import safe_turn
from mixedsched.model.request import ChromiumPriority, Kind, Request
from tests.core.learning.visits import other_page, renamed, requests, visit


def known(visits: int = 4) -> PageState:
    state = PageState.of("/")
    for _ in range(visits):
        state.learn(visit())
    return state


def plan(state: PageState, recipe: OrderRecipe = OrderRecipe("staged", "value")) -> OrderPlan:  # noqa: B008 - frozen
    learned = LearnedPage.of(state.memory)
    assert learned is not None
    return plan_of(recipe, learned)


def asked(path: str, kind: Kind, size_bytes: int, priority: ChromiumPriority, place: int) -> Request:
    return Request(4 * place, path, kind, chromium_priority=priority, body_bytes=size_bytes)


def test_what_is_seen_goes_before_what_is_not() -> None:
    order = plan(known())
    levels = {role.path: role.turn.level for role in order.roles}
    assert levels["/app.0a1b2c3d.css"] < levels["/img/two.jpg"] < levels["/img/one.jpg"]


def test_a_renamed_request_has_the_turn_of_its_role() -> None:
    order, items = plan(known()), requests()
    for place, item in enumerate(renamed(items, 3, 4)):
        request = asked(item.path, item.kind, item.size_bytes, item.priority, place)
        found = order.role_of(request)
        assert found is not None
        assert found.path == items[place].path


def test_a_long_path_has_the_turn_of_its_role_however_alike_others_are() -> None:
    """As those of images that are resized on demand, or signed: only their beginning is remembered."""
    long = [f"/images/{name}?signature={'x' * 300}&width=640" for name in ("one", "two")]
    items = requests()
    for place, path in zip((3, 4), long, strict=True):
        items[place] = replace(items[place], path=path[:MAX_PATH], size_bytes=100_000)
    state = PageState.of("/")
    for _ in range(4):
        state.learn(visit(items))
    order = plan(state)
    for place, path in zip((3, 4), long, strict=True):
        found = order.role_of(asked(path, Kind.IMAGE, 100_000, ChromiumPriority.MEDIUM, 7 - place))
        assert found is not None
        assert path.startswith(found.path)


def test_a_request_that_is_not_known_goes_where_the_safe_order_puts_it() -> None:
    request = asked("/other/x.mp4", Kind.MEDIA, 5, ChromiumPriority.LOW, 30)
    assert plan(known()).turn_of(request) == safe_turn(request)


@pytest.mark.parametrize(
    "recipe",
    [*first_round(is_told=True), *next_round(OrderRecipe("staged", "value"), is_told=True)],
    ids=lambda item: item.name,
)
def test_orders_are_read_back_as_they_were(recipe: OrderRecipe) -> None:
    order = plan(known(), recipe)
    assert OrderPlan.from_dict(order.to_dict()) == order


def test_after_a_redesign_the_safe_order_is_back_with_the_next_visit() -> None:
    state = known()
    state.propose([Proposal(plan(state), 1.0, 0.8)])
    assert state.settled() is not None
    state.learn(visit(other_page()))
    assert state.settled() is None
    assert state.choose(random.Random(1)) is None


def test_a_single_strange_visit_takes_the_order_away_until_the_next_ordinary_one() -> None:
    """As of another variant of the page, or of whoever wants to be rid of its order."""
    state = known()
    state.propose([Proposal(plan(state), 1.0, 0.8)])
    state.learn(visit(other_page()))
    assert state.settled() is None
    assert state.for_serving() is None
    assert state.orders_for(SeenNetwork()) == []
    state.learn(visit())
    assert state.settled() is not None
    assert state.for_serving() is not None
    assert state.memory.relearned == 0


def test_an_order_by_which_paints_come_later_is_left() -> None:
    state = known()
    order = plan(state)
    state.propose([Proposal(order, 1.0, 0.8)])
    late = requests()
    for item in late:
        item.last_byte_ms = (item.last_byte_ms or 0) * 3
    for _ in range(4):
        state.learn(visit(late, order.name))
    assert order.name in state.guard.left
    assert state.settled() is None


def test_others_are_searched_as_soon_as_all_orders_are_left() -> None:
    state = known()
    state.propose([Proposal(plan(state), 1.0, 0.8)])
    assert not state.wants_thought
    for _ in range(3):
        late = [replace(item, last_byte_ms=(item.last_byte_ms or 0.0) + 900) for item in requests()]
        state.learn(visit(late, state.proposals[0].plan.name))
    assert state.guard.left
    assert state.wants_thought, "though the next search is due after ten visits"
    state.propose([])
    assert not state.wants_thought, "where none is found, the next search is due after more visits"


def test_orders_are_searched_after_a_few_visits_and_then_more_and_more_seldom() -> None:
    state, thoughts = PageState.of("/"), []
    for number in range(1, 41):
        state.learn(visit())
        if state.wants_thought:
            thoughts.append(number)
            state.propose([])
    assert thoughts == [3, 10, 30]


def test_a_page_that_was_learned_anew_is_thought_about_after_as_few_visits_as_a_new_one() -> None:
    state, thoughts = known(40), []
    state.propose([])
    for number in range(1, 41):
        state.learn(visit(other_page()))
        if state.wants_thought:
            thoughts.append(number - 1)  # the first of them was of a strange page
            state.propose([])
    assert thoughts == [3, 10, 30]


def test_a_state_is_read_back_as_it_was_and_one_of_another_version_is_refused() -> None:
    state = known()
    state.propose([Proposal(plan(state), 1.0, 0.8)])
    facts = state.to_dict()
    assert PageState.from_dict(facts).to_dict() == facts
    for wrong in ({**facts, "version": 99}, {}, {**facts, "networks": [[1]]}, {**facts, "memory": None}):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
            PageState.from_dict(wrong)


NEAR, FAR, STRANGE = SeenNetwork(20.0, 20e6), SeenNetwork(200.0, 1e6), SeenNetwork(5000.0, 1e6)


def over_two_networks() -> PageState:
    """A page whose visitors come by two classes of networks, with an order that is good for each alone and one for both."""
    state = PageState.of("/")
    for network in (NEAR, FAR) * 3:
        state.learn(replace(visit(), connection=network))
    for_near, for_far, for_both = (
        plan(state, OrderRecipe(document, "value")) for document in ("staged", "needed", "head")
    )
    state.propose(
        [
            Proposal(for_both, 1.0, 0.95, {0: 0.97, 1: 0.96}),
            Proposal(for_near, 1.0, 1.01, {0: 0.8, 1: 1.2}, everywhere=False),
            Proposal(for_far, 1.0, 1.02, {0: 1.0, 1: 0.9}, everywhere=False),
        ]
    )
    return state


@pytest.mark.parametrize(
    ("network", "orders"),
    [
        (NEAR, ["staged/value", "head/value"]),
        (SeenNetwork(25.0), ["staged/value", "head/value"]),  # the rate of a new connection is not known
        (FAR, ["needed/value", "head/value"]),
        (STRANGE, ["head/value"]),
        (SeenNetwork(), ["head/value"]),
    ],
)
def test_each_class_of_networks_has_its_own_orders_and_others_what_is_good_for_all(
    network: SeenNetwork, orders: list[str]
) -> None:
    assert over_two_networks().orders_for(network) == orders


def test_orders_of_classes_are_read_back_as_they_were() -> None:
    facts = over_two_networks().to_dict()
    assert PageState.from_dict(facts).to_dict() == facts


def test_what_a_server_holds_of_a_page_decides_as_the_whole() -> None:
    state = over_two_networks()
    held = state.for_serving()
    assert held is not None
    assert held.memory.roles == {}
    for seed in range(20):
        assert held.choose(random.Random(seed), FAR) == state.choose(random.Random(seed), FAR)
    assert PageState.of("/").for_serving() is None


def test_what_browsers_told_and_what_the_server_estimates_is_not_mixed_up_in_what_is_shown() -> None:
    state = known(1)
    for told in (False, True):
        for _ in range(3):
            state.guard.note("safe", 0, 900 if told else 100, 2000 if told else 200, told=told)
    state.guard.note("new", 0, 100, 200)
    shown = describe(state)["outcomes"]
    assert shown["safe"] == {"visits": 7, "told": 3, "fcp_ms": 900.0, "lcp_ms": 2000.0}
    assert shown["new"] == {"visits": 1, "told": 0, "fcp_ms": 100.0, "lcp_ms": 200.0}
