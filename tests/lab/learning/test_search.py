"""The search for orders over the classes of networks that visitors come by."""

from dataclasses import replace

from mixedsched.core.learning.state import PageState
from mixedsched.core.learning.visit import Beacon, SeenNetwork, Visit
from mixedsched.lab.learning.search import REFINED, search
from mixedsched.world import catalog
from tests.core.learning.visits import requests, visit

LARGEST = Beacon(500, 900, requests()[5].path)
"""The largest paint is an image that is asked for last, as Low."""
CHROMIUM = catalog.load_browser_model("chromium")


def light() -> Visit:
    """Of a page so small that loads of it are played at once."""
    return visit([replace(item, size_bytes=item.size_bytes // 3) for item in requests()])


def test_orders_are_ranked_for_each_class_of_networks() -> None:
    state = PageState.of("/")
    for number in range(6):
        network = SeenNetwork(20.0, 5e6) if number % 2 else SeenNetwork(200.0, 1e6)
        state.learn(replace(light(), connection=network, beacon=LARGEST))
    both = search(state.memory, state.classes, CHROMIUM)
    assert both
    for item in both:
        assert sorted(item.by_network) == [0, 1]
        assert item.everywhere or min(item.by_network.values()) < 1
    for place in (0, 1):
        assert any(item.by_network[place] < 1 for item in both)
    alone = search(state.memory, state.classes[:1], CHROMIUM)
    assert alone
    assert all(not item.by_network and item.everywhere for item in alone)


def test_orders_that_the_guard_has_left_make_room_for_others() -> None:
    state = PageState.of("/")
    for _ in range(4):
        state.learn(replace(light(), beacon=LARGEST))
    left: dict[str, str] = {}
    while found := search(state.memory, state.classes, CHROMIUM, left=left):
        names = [item.plan.name for item in found]
        assert not {*names} & {*left}
        left |= dict.fromkeys(names, "the largest paint came later")
    assert len(left) > REFINED, "of those that are left none takes the place of one that might do"
