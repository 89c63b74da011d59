"""The dependency tree: HTTP/2's rules (RFC 7540 section 5.3), and the order they give."""

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
    """A line whose streams hang under groups, or under each other by name."""

    def __init__(self, *groups: Group, by_packets: bool = False) -> None:
        super().__init__(DependencyTree(groups, by_packets=by_packets))

    def hang(self, name: str, packets: int, parent: str = "root", weight: int = 16, *, exclusive: bool = False) -> Self:
        return self.open(name, packets, self.at(parent, weight, exclusive))

    def move(self, name: str, parent: str = "root", weight: int = 16, *, exclusive: bool = False) -> Self:
        self.scheduler.reprioritize(self.id_of(name), self.at(parent, weight, exclusive))
        return self

    def at(self, parent: str, weight: int, exclusive: bool) -> TreePlace:
        return TreePlace(self.id_of(parent) if parent in self.names.values() else parent, weight, exclusive)


# placing


def test_siblings_share_by_weight() -> None:
    assert Tree().hang("A", 6, weight=128).hang("B", 3, weight=64).send().out == "AABAABAAB"


def test_a_parent_goes_before_its_children_whatever_their_weights() -> None:
    assert Tree().hang("A", 2, weight=1).hang("B", 2, "A", 256).hang("C", 2, "B", 256).send().out == "AABBCC"


def test_children_share_what_their_parent_does_not_use() -> None:
    tree = Tree().hang("A", 9).hang("B", 9, "A", 32).hang("C", 9, "A", 16).hang("D", 9).send(4).pause("A")
    assert tree.out == "ADAD"
    assert tree.next(12) == "BDBDCDBDBDCD"


def test_a_child_of_a_higher_number_parent_waits_too() -> None:
    tree = Tree().hang("A", 2).hang("B", 2).move("A", "B")
    assert tree.send().out == "BBAA"


def test_an_exclusive_child_adopts_its_siblings() -> None:
    tree = Tree().hang("A", 2).hang("B", 2, "A").hang("C", 2, "A").hang("D", 2, "A", exclusive=True)
    assert tree.send().out == "AADDBCBC"


def test_an_exclusive_child_of_the_root_goes_before_all_others_groups_included() -> None:
    tree = Tree(Group("g", 256)).hang("A", 2, "g").hang("B", 2).hang("C", 2, exclusive=True)
    assert tree.send().out[:2] == "CC"


def test_a_chain_of_exclusive_insertions_is_last_in_first_out() -> None:
    tree = Tree()
    for name in "ABCD":
        tree.hang(name, 2, exclusive=True)
    assert tree.send().out == "DDCCBBAA"


def test_an_unknown_parent_means_the_root_and_default_weight() -> None:
    tree = Tree().hang("A", 99, weight=32)
    tree.open("B", 99, TreePlace(400, 256))
    assert tree.send(6).out == "AABAAB"


def test_an_unknown_parent_is_no_reason_to_adopt_the_whole_tree() -> None:
    # RFC 7540 section 5.3.1: such a stream is given a default priority, which is not exclusive (5.3.5).
    tree = Tree(Group("g", 16)).hang("A", 3).hang("B", 3, "g")
    tree.open("C", 3, TreePlace(400, 256, exclusive=True))
    assert tree.send().out == "BACBACBAC"


def test_a_stream_cannot_depend_on_itself() -> None:
    tree = Tree().hang("A", 4, weight=256).hang("B", 4)
    assert tree.move("A", "A", 256, exclusive=True).send().out == "ABABABAB"


# moving


def test_a_stream_moves_with_its_children() -> None:
    tree = Tree().hang("A", 2).hang("B", 2).hang("C", 2, "A").hang("D", 2, "A").move("A", "B")
    assert tree.send().out == "BBAACDCD"


def test_a_stream_moved_under_its_own_child_lets_the_child_take_its_place_first() -> None:
    tree = Tree().hang("A", 2).hang("B", 2, "A").hang("C", 2, "B").move("A", "B")
    assert tree.send().out == "BBACAC"


def test_and_exclusively_it_adopts_what_hangs_there() -> None:
    tree = Tree().hang("A", 2).hang("B", 2, "A").hang("C", 2, "B").move("A", "B", exclusive=True)
    assert tree.send().out == "BBAACC"


def test_the_figure_of_the_standard_for_moving_under_an_own_descendant() -> None:
    # RFC 7540 section 5.3.3, figure 5: A over B and C, C over D and E, D over F; A is moved under D.
    def standard() -> Tree:
        tree = Tree().hang("A", 1).hang("B", 2, "A").hang("C", 1, "A").hang("D", 1, "C")
        return tree.hang("E", 2, "C").hang("F", 2, "D")

    assert standard().send().out == "ABCBDEEFF"
    assert standard().move("A", "D").send().out == "DAFBCFBEE"
    assert standard().move("A", "D", exclusive=True).send().out == "DABCFBEFE"


def test_a_child_that_took_the_place_keeps_its_weight() -> None:
    tree = Tree().hang("A", 99, weight=256).hang("B", 99, "A", 32).hang("C", 99, weight=16).move("A", "B")
    assert Counter(tree.send(30).out) == {"B": 20, "C": 10}


def test_a_new_weight_counts_from_the_next_activation() -> None:
    tree = Tree().hang("A", 99).hang("B", 99).send(4).move("A", weight=32)
    assert Counter(tree.next(30)) == {"A": 20, "B": 10}


# ending and blocking


def test_a_blocked_parent_lets_its_children_send() -> None:
    tree = Tree().hang("A", 3).hang("B", 9, "A").hang("C", 9, "A").send(1).pause("A")
    assert tree.next(4) == "BCBC"
    assert tree.resume("A").next(4) == "AABC"


def test_a_blocked_leaf_costs_its_ancestors_their_turns() -> None:
    tree = Tree(Group("g", 256)).hang("A", 9, "g").hang("B", 9).pause("A")
    assert tree.next(3) == "BBB"
    assert tree.resume("A").next(3) == "AAA"


def test_children_of_a_finished_stream_move_to_its_parent_with_their_weights() -> None:
    tree = Tree().hang("A", 1, weight=16).hang("B", 99, "A", 32).hang("C", 99, "A", 16).hang("D", 99, weight=16)
    assert tree.next(2) == "AD"
    assert Counter(tree.next(40)) == {"B": 20, "C": 10, "D": 10}


def test_a_parent_that_is_closed_early_leaves_its_children_in_its_place() -> None:
    tree = Tree(Group("g", 16)).hang("A", 9, "g").hang("B", 2, "A").hang("C", 2, "B").close("B")
    assert tree.close("A").send().out == "CC"


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
        self.parent: dict[Node, Node | None] = {"root": None}
        self.weight: dict[Node, int] = {"root": 256}
        self.number: dict[Node, int] = {"root": 0}
        self.ready: set[Node] = set()
        self.now: dict[Node, Fraction] = {"root": Fraction(0)}
        self.time: dict[Node, Fraction] = {}  # of nodes in their parent's queue
        for place, group in enumerate(groups):
            self.add(group.name, group.weight, place - len(groups))
            self.link(group.name, group.parent)

    def add(self, node: Node, weight: int, number: int) -> None:
        self.parent[node], self.weight[node], self.number[node], self.now[node] = None, weight, number, Fraction(0)

    def children(self, node: Node) -> list[Node]:
        return [child for child, parent in self.parent.items() if parent == node and child != "root"]

    def is_active(self, node: Node) -> bool:
        return node in self.ready or any(self.is_active(child) for child in self.children(node))

    def is_below(self, node: Node | None, ancestor: Node) -> bool:
        return node is not None and (node == ancestor or self.is_below(self.parent[node], ancestor))

    def update(self) -> None:
        """Whoever has become active starts a quantum after its parent's present; who is not active is in no queue."""
        for node, parent in self.parent.items():
            if parent is None or not self.is_active(node):
                self.time.pop(node, None)
            elif node not in self.time:
                self.time[node] = self.now[parent] + Fraction(PACKET_BYTES, self.weight[node])

    def link(self, node: Node, parent: Node) -> None:
        self.parent[node] = parent
        self.update()

    def unlink(self, node: Node) -> None:
        self.parent[node] = None
        self.update()

    def place(self, node: Node, place: TreePlace) -> None:
        parent, weight, exclusive = place.parent, place.weight, place.exclusive
        if parent not in self.parent or parent == node:
            parent, weight, exclusive = "root", 16, False
        if node not in self.parent:
            assert isinstance(node, int)
            self.add(node, weight, node)
        old_parent = self.parent[node]
        if old_parent is not None:
            if self.is_below(parent, node):
                self.unlink(parent)
                self.link(parent, old_parent)
            self.unlink(node)
        self.weight[node] = weight
        if exclusive:
            for child in self.children(parent):
                self.unlink(child)
                self.link(child, node)
        self.link(node, parent)

    def set_ready(self, node: Node, ready: bool) -> None:
        (self.ready.add if ready else self.ready.discard)(node)
        self.update()

    def move(self, node: Node, place: TreePlace) -> None:
        was_ready = node in self.ready
        self.set_ready(node, False)
        self.place(node, place)
        self.set_ready(node, was_ready)

    def close(self, node: Node) -> None:
        self.set_ready(node, False)
        parent = self.parent[node]
        assert parent is not None
        for child in self.children(node):
            self.unlink(child)
            self.link(child, parent)
        self.unlink(node)
        for table in (self.parent, self.weight, self.number, self.now):
            del table[node]

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
        while (parent := self.parent[node]) is not None:
            if node in self.time:
                if self.first(parent) == node:
                    self.now[parent] = self.time[node]
                self.time[node] += Fraction(cost_bytes, self.weight[node])
            node, cost_bytes = parent, PACKET_BYTES


GROUPS = (Group("a", 201), Group("b", 101), Group("c", 1, "a"))
streams = st.integers(0, 6).map(lambda index: 4 * index)
places = st.builds(
    TreePlace,
    st.sampled_from(["root", "a", "b", "c"]) | streams,
    st.sampled_from([1, 2, 16, 24, 183, 256]),
    st.booleans() | st.just(False),
)
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
            naive.set_ready(stream_id, True)
            placed[stream_id] = place
        elif step == "place" and placed[stream_id] != place:
            tree.reprioritize(stream_id, place)
            naive.move(stream_id, place)
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
