"""The order in which requests get connections."""

from __future__ import annotations

import gc
import weakref

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.world.edge._queue import FairQueue


class Item:
    def __init__(self, client: str, urgency: int) -> None:
        self.client = client
        self.urgency = urgency


def test_clients_take_turns_however_much_one_wants() -> None:
    queue: FairQueue[Item] = FairQueue()
    for client in ("greedy", "greedy", "greedy", "modest"):
        queue.add(client, 3, Item(client, 3))
    got = [item.client for _ in range(4) if (item := queue.pop()) is not None]
    assert got == ["greedy", "modest", "greedy", "greedy"]


def test_within_a_client_the_most_urgent_goes_first_and_equals_as_they_came() -> None:
    queue: FairQueue[Item] = FairQueue()
    items = [Item("a", urgency) for urgency in (3, 1, 3, 0)]
    for item in items:
        queue.add(item.client, item.urgency, item)
    assert [queue.pop() for _ in items] == [items[3], items[1], items[0], items[2]]


@given(
    st.lists(
        st.one_of(st.tuples(st.sampled_from("abc"), st.integers(0, 7)), st.sampled_from(["pop", "remove"])), max_size=60
    )
)
def test_every_item_leaves_once_and_those_removed_never_do(steps: list[tuple[str, int] | str]) -> None:
    queue: FairQueue[Item] = FairQueue()
    waiting: list[Item] = []
    for step in steps:
        if isinstance(step, tuple):
            item = Item(*step)
            queue.add(item.client, item.urgency, item)
            waiting.append(item)
        elif step == "remove":
            if waiting:
                queue.remove(waiting.pop(len(waiting) // 2))
        else:
            got = queue.pop()
            assert (got is None) == (not waiting)
            if got is not None:
                waiting.remove(got)
                assert got.urgency == min(item.urgency for item in (*waiting, got) if item.client == got.client)
        assert len(queue) == len(waiting)


def test_what_was_removed_is_let_go_though_nothing_gets_its_turn() -> None:
    """Clients that ask and give up, while all connections to the origin are taken, must not fill the memory."""
    queue: FairQueue[Item] = FairQueue()
    waits = Item("a", 3)
    queue.add("a", 3, waits)
    removed = []
    for number in range(1000):
        item = Item(f"{number % 7}", number % 3)
        queue.add(item.client, item.urgency, item)
        queue.remove(item)
        removed.append(weakref.ref(item))
    del item
    gc.collect()
    assert sum(item() is not None for item in removed) <= 101
    assert [queue.pop(), queue.pop()] == [waits, None]


def test_those_that_have_waited_longest_are_known_and_those_that_are_gone_are_not_among_them() -> None:
    queue: FairQueue[Item] = FairQueue()
    items = [Item("ab"[number % 2], 7 - number) for number in range(5)]
    for number, item in enumerate(items):
        queue.add(item.client, item.urgency, item, float(number))
    queue.remove(items[1])
    assert queue.pop() is items[4]
    assert queue.waiting_since_before(3.0) == [items[0], items[2]]
    assert queue.waiting_since_before(9.0) == [items[0], items[2], items[3]]
