"""The dependency tree: HTTP/2's rules (RFC 7540 section 5.3) for groups and responses, and the order they give."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.schedulers._queue import Fifo
from mixedsched.core.schedulers._tree import DependencyTree, Group, TreePlace
from tests.core.schedulers.wire import Line
from tests.examples import examples

PACKET_BYTES = 1400


class Tree(Line[TreePlace]):
    """A line whose streams hang under groups, by name."""

    def __init__(self, *groups: Group, by_packets: bool = False) -> None:
        super().__init__(DependencyTree(groups, by_packets=by_packets))

    def hang(self, name: str, packets: int, parent: str = "root", weight: int = 16) -> Self:
        return self.open(name, packets, TreePlace(parent, weight))

    def move(self, name: str, parent: str = "root", weight: int = 16) -> Self:
        self.scheduler.reprioritize(self.id_of(name), TreePlace(parent, weight))
        return self


# placing


def test_siblings_share_by_weight() -> None:
    assert Tree().hang("A", 6, weight=128).hang("B", 3, weight=64).send().out == "AABAABAAB"


# moving


def test_a_stream_moves_between_groups_and_takes_its_share_along() -> None:
    tree = Tree(Group("g", 32), Group("h", 16)).hang("A", 99, "g").hang("B", 99, "g").hang("C", 99, "h")
    assert Counter(tree.next(30)) == {"A": 10, "B": 10, "C": 10}
    assert Counter(tree.move("B", "h").next(30)) == {"A": 20, "B": 5, "C": 5}
    assert Counter(tree.move("A", "h").next(30)) == {"A": 10, "B": 10, "C": 10}


def test_a_new_weight_counts_from_the_next_activation() -> None:
    tree = Tree().hang("A", 99).hang("B", 99).send(4).move("A", weight=32)
    assert Counter(tree.next(30)) == {"A": 20, "B": 10}


# ending and blocking


def test_a_blocked_leaf_costs_its_ancestors_their_turns() -> None:
    tree = Tree(Group("g", 256)).hang("A", 9, "g").hang("B", 9).pause("A")
    assert tree.next(3) == "BBB"
    assert tree.resume("A").next(3) == "AAA"


# groups


def test_a_group_shares_with_streams_beside_it() -> None:
    tree = Tree(Group("g", 32)).hang("A", 99, "g").hang("B", 99, "g").hang("C", 99)
    assert Counter(tree.send(30).out) == {"A": 10, "B": 10, "C": 10}


def test_nested_groups_multiply_their_shares() -> None:
    tree = Tree(Group("a", 2), Group("b", 1), Group("c", 1, "a"), Group("d", 1, "a"))
    for name, group in zip("PQR", "bcd", strict=True):
        tree.hang(name, 99, group)
    assert Counter(tree.send(60).out) == {"P": 20, "Q": 20, "R": 20}


def test_an_empty_group_has_no_share() -> None:
    assert Tree(Group("a", 256), Group("b", 1)).hang("A", 3, "b").send().out == "AAA"


def test_a_group_may_have_another_discipline_than_shares() -> None:
    tree = Tree(Group("chain", 16, discipline=Fifo)).hang("A", 2, "chain").hang("B", 2, "chain").hang("C", 4)
    assert tree.send().out == "ACACBCBC"


def test_a_short_packet_costs_a_stream_its_bytes_and_a_group_a_full_turn() -> None:
    tree = Tree(Group("g", 16)).hang("A", 99, "g").hang("B", 99, "g").hang("C", 99)
    sizes = {"A": 350, "B": 1400, "C": 1400}
    for _ in range(100):
        picked = tree.scheduler.pick()
        assert picked is not None
        tree.send(1, size_bytes=sizes[tree.names[picked]])
    assert Counter(tree.out) == {"A": 40, "B": 10, "C": 50}


def test_by_packets_every_turn_costs_the_same() -> None:
    tree = Tree(Group("g", 16), by_packets=True).hang("A", 99, "g").hang("B", 99, "g").hang("C", 99)
    for index in range(100):
        tree.send(1, size_bytes=1 + 13 * index)
    assert Counter(tree.out) == {"A": 25, "B": 25, "C": 50}


# any history


Node = str | int


class NaiveTree:
    """The rules as they are written: all is worked out anew at each step, by walking the whole tree, in fractions."""

    def __init__(self, groups: tuple[Group, ...], by_packets: bool) -> None:
        self.by_packets = by_packets
        self.parent: dict[Node, Node] = {}  # of all but the root
        self.weight: dict[Node, int] = {}
        self.number: dict[Node, int] = {}
        self.ready: set[Node] = set()
        self.now: dict[Node, Fraction] = {"root": Fraction(0)}
        self.time: dict[Node, Fraction] = {}  # of nodes in their parent's queue
        for place, group in enumerate(groups):
            self.parent[group.name], self.weight[group.name] = group.parent, group.weight
            self.number[group.name], self.now[group.name] = place - len(groups), Fraction(0)

    def children(self, node: Node) -> list[Node]:
        return [child for child, parent in self.parent.items() if parent == node]

    def is_active(self, node: Node) -> bool:
        return node in self.ready or any(self.is_active(child) for child in self.children(node))

    def set_ready(self, node: Node, ready: bool) -> None:
        """Whoever has become active starts a quantum after its parent's present; who is not active is in no queue."""
        (self.ready.add if ready else self.ready.discard)(node)
        for member, parent in self.parent.items():
            if not self.is_active(member):
                self.time.pop(member, None)
            elif member not in self.time:
                self.time[member] = self.now[parent] + Fraction(PACKET_BYTES, self.weight[member])

    def place(self, stream_id: int, place: TreePlace) -> None:
        was_ready = stream_id not in self.parent or stream_id in self.ready
        if stream_id in self.parent:
            self.set_ready(stream_id, False)
        self.parent[stream_id], self.weight[stream_id], self.number[stream_id] = place.parent, place.weight, stream_id
        self.set_ready(stream_id, was_ready)

    def close(self, stream_id: int) -> None:
        self.set_ready(stream_id, False)
        for table in (self.parent, self.weight, self.number):
            del table[stream_id]

    def first(self, node: Node) -> Node | None:
        queue = [child for child in self.children(node) if child in self.time]
        return min(queue, key=lambda child: (self.time[child], self.number[child]), default=None)

    def pick(self, node: Node = "root") -> Node | None:
        if node in self.ready:
            return node
        first = self.first(node)
        return self.pick(first) if first is not None else None

    def sent(self, stream_id: int, size_bytes: int) -> None:
        node: Node = stream_id
        cost_bytes = PACKET_BYTES if self.by_packets else size_bytes
        while node != "root":
            parent = self.parent[node]
            if node in self.time:
                if self.first(parent) == node:
                    self.now[parent] = self.time[node]
                self.time[node] += Fraction(cost_bytes, self.weight[node])
            node, cost_bytes = parent, PACKET_BYTES


GROUPS = (Group("a", 201), Group("b", 101), Group("c", 1, "a"))
streams = st.integers(0, 6).map(lambda index: 4 * index)
places = st.builds(TreePlace, st.sampled_from(["root", "a", "b", "c"]), st.sampled_from([1, 2, 16, 24, 183, 256]))
steps = st.lists(
    st.tuples(
        st.sampled_from(["place", "place", "close", "pause", "resume", "weigh", "serve", "serve", "charge"]),
        streams,
        places,
        st.integers(0, 3000),
    ),
    min_size=15,
    max_size=60,
)


@pytest.mark.parametrize("by_packets", [False, True])
@examples(150)
@given(steps)
def test_any_history_is_that_of_the_rules(by_packets: bool, history: list[tuple[str, int, TreePlace, int]]) -> None:
    tree, naive = DependencyTree(GROUPS, by_packets=by_packets), NaiveTree(GROUPS, by_packets)
    placed: dict[int, TreePlace] = {}
    for step, stream_id, place, size_bytes in history:
        is_open = stream_id in placed
        if step == "place" and not is_open:
            tree.open(stream_id, place)
            naive.place(stream_id, place)
            placed[stream_id] = place
        elif step == "place" and placed[stream_id] != place:
            tree.reprioritize(stream_id, place)
            naive.place(stream_id, place)
            placed[stream_id] = place
        elif step == "close" and is_open:
            tree.close(stream_id)
            naive.close(stream_id)
            del placed[stream_id]
        elif step in {"pause", "resume"} and is_open:
            (tree.pause if step == "pause" else tree.resume)(stream_id)
            naive.set_ready(stream_id, step == "resume")
        elif step == "weigh":
            tree.set_weight("b", place.weight)
            naive.weight["b"] = place.weight
        elif step == "serve" and (picked := naive.pick()) is not None:
            assert isinstance(picked, int)
            assert tree.pick() == picked
            tree.sent(picked, size_bytes)
            naive.sent(picked, size_bytes)
        elif step == "charge" and is_open:
            tree.sent(stream_id, size_bytes)
            naive.sent(stream_id, size_bytes)
        for group in "abc":
            assert tree.is_group_active(group) == naive.is_active(group)
    while (picked := naive.pick()) is not None:
        assert isinstance(picked, int)
        assert tree.pick() == picked
        tree.sent(picked, PACKET_BYTES)
        naive.sent(picked, PACKET_BYTES)
        tree.close(picked)
        naive.close(picked)
    assert tree.pick() is None
