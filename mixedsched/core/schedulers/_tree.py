"""The dependency tree of HTTP/2 with placeholders, as in HTTP/3 up to draft 20."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._fair import WeightedFair
from mixedsched.core.schedulers._queue import QUANTUM_BYTES, Queue
from mixedsched.model.scheme import Parameter, Values

ROOT = "root"
DEFAULT_WEIGHT = 16
WEIGHT_MAX = 256


@dataclass(frozen=True, slots=True)
class Group:
    """A placeholder: an inner node without data."""

    name: str
    weight: int
    parent: str = ROOT
    """An earlier group, or the root."""
    discipline: Callable[[], Queue] = WeightedFair
    """How its children share the capacity."""


def group_weights(members: Mapping[str, str], groups: Iterable[Group]) -> tuple[Parameter, ...]:
    """Parameters for the weights of these groups, by the name of the group. members: by name, what belongs to each."""
    usual = {group.name: group.weight for group in groups}
    return tuple(
        Parameter(
            name.replace("-", "_"),
            f"weight of the group '{name}': {what}",
            default=usual[name],
            low=1,
            high=WEIGHT_MAX,
            whole=True,
        )
        for name, what in members.items()
    )


def weighted_groups(groups: Iterable[Group], parameters: Iterable[Parameter], values: Values) -> tuple[Group, ...]:
    """The groups with the weights that are given."""
    named = {parameter.name for parameter in parameters}
    return tuple(
        replace(group, weight=int(values[name])) if (name := group.name.replace("-", "_")) in named else group
        for group in groups
    )


@dataclass(frozen=True, slots=True)
class TreePlace:
    """Where a response belongs in the tree.

    A parent that does not (or no longer) exist means the root with default weight, not exclusive (RFC 7540 section 5.3.1).
    """

    parent: str | int = ROOT
    """A group's name or a stream ID."""
    weight: int = DEFAULT_WEIGHT
    exclusive: bool = False
    """It adopts the parent's other children."""

    def __str__(self) -> str:
        return f"{self.parent}, weight {self.weight}{', exclusive' if self.exclusive else ''}"


class _Node:
    """number: its member number at its parent. cost_bytes: what a turn costs there; None = what was sent."""

    __slots__ = ("children", "cost_bytes", "is_queued", "is_ready", "number", "parent", "queue", "weight")

    def __init__(self, number: int, weight: int, queue: Queue, cost_bytes: int | None) -> None:
        self.number = number
        self.weight = weight
        self.queue = queue
        self.cost_bytes = cost_bytes
        self.parent: _Node | None = None
        self.children: dict[int, _Node] = {}
        self.is_ready = False
        self.is_queued = False  # at its parent: it or something below it is ready

    @property
    def is_active(self) -> bool:
        return self.is_ready or len(self.queue) > 0


class DependencyTree(StreamTable[TreePlace]):
    """A node's descendants share what the node itself cannot use; siblings share by weight, through their queue.

    discipline: of the root's and the streams' children. A closed response's children move to its parent with their weights.
    by_packets: a turn costs every node a full packet, as in H2O, instead of the bytes sent (streams; groups always cost a
    full packet). Source: RFC 7540 section 5.3; Marx et al. 2019, published code, for what the RFC leaves open.
    """

    def __init__(
        self, groups: Iterable[Group] = (), discipline: Callable[[], Queue] = WeightedFair, *, by_packets: bool = False
    ) -> None:
        super().__init__()
        self._discipline = discipline
        self._stream_cost_bytes = QUANTUM_BYTES if by_packets else None
        self._root = _Node(0, WEIGHT_MAX, discipline(), None)
        self._groups: dict[str, _Node] = {ROOT: self._root}
        self._nodes: dict[int, _Node] = {}
        listed = tuple(groups)
        for place, group in enumerate(listed):
            node = _Node(place - len(listed), group.weight, group.discipline(), QUANTUM_BYTES)
            self._groups[group.name] = node
            _attach(node, self._groups[group.parent])

    def set_weight(self, group: str, weight: int) -> None:
        """Change a group's weight; counts from its next turn."""
        node = self._groups[group]
        node.weight = weight
        if node.is_queued and node.parent is not None and isinstance(node.parent.queue, WeightedFair):
            node.parent.queue.set_weight(node.number, weight)

    def is_group_active(self, group: str) -> bool:
        """Whether anything below a group is ready."""
        return self._groups[group].is_active

    def pick(self) -> int | None:
        node = self._root
        while not node.is_ready:
            number = node.queue.first()
            if number is None:
                return None
            node = node.children[number]
        return node.number

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats cost capacity too
        node = self._nodes[stream_id]
        cost_bytes = size_bytes if self._stream_cost_bytes is None else self._stream_cost_bytes
        parent = node.parent
        while parent is not None:
            parent.queue.sent(node.number, cost_bytes)
            node, parent = parent, parent.parent
            cost_bytes = QUANTUM_BYTES

    def _place(self, stream_id: int, placement: TreePlace) -> None:
        node = self._nodes.get(stream_id)
        if node is None:
            node = self._nodes[stream_id] = _Node(stream_id, placement.weight, self._discipline(), None)
        wanted = placement.parent
        parent = self._nodes.get(wanted) if isinstance(wanted, int) else self._groups[wanted]
        weight, exclusive = placement.weight, placement.exclusive
        if parent is None or parent is node:
            parent, weight, exclusive = self._root, DEFAULT_WEIGHT, False
        old_parent = node.parent
        if old_parent is not None:
            if _is_below(parent, node):  # RFC 7540 section 5.3.3: the new parent first takes the place of its ancestor
                _detach(parent)
                _attach(parent, old_parent)
            _detach(node)
        node.weight = weight
        if exclusive:
            for child in tuple(parent.children.values()):
                _detach(child)
                _attach(child, node)
        _attach(node, parent)

    def _enter(self, stream_id: int, placement: TreePlace) -> None:  # noqa: ARG002 - it hangs where it was placed
        node = self._nodes[stream_id]
        node.is_ready = True
        _activate(node)

    def _leave(self, stream_id: int, placement: TreePlace) -> None:  # noqa: ARG002
        node = self._nodes[stream_id]
        node.is_ready = False
        _deactivate(node)

    def _forget(self, stream_id: int) -> None:
        node = self._nodes.pop(stream_id)
        parent = node.parent
        assert parent is not None
        for child in tuple(node.children.values()):
            _detach(child)
            _attach(child, parent)
        _detach(node)


def _attach(node: _Node, parent: _Node) -> None:
    node.parent = parent
    parent.children[node.number] = node
    if node.is_active:
        _activate(node)


def _detach(node: _Node) -> None:
    parent = node.parent
    assert parent is not None
    if node.is_queued:
        _unqueue(node, parent)
    parent.queue.forget(node.number)
    del parent.children[node.number]
    node.parent = None


def _activate(node: _Node) -> None:
    """Queue it and its ancestors where they are not yet."""
    while node.parent is not None and not node.is_queued:
        node.is_queued = True
        node.parent.queue.enter(node.number, node.weight)
        node = node.parent


def _deactivate(node: _Node) -> None:
    """Remove it from its queue, and ancestors that have nothing left."""
    if node.parent is not None and node.is_queued and not node.is_active:
        _unqueue(node, node.parent)


def _unqueue(node: _Node, parent: _Node) -> None:
    node.is_queued = False
    parent.queue.leave(node.number)
    _deactivate(parent)


def _is_below(node: _Node, ancestor: _Node) -> bool:
    current: _Node | None = node
    while current is not None:
        if current is ancestor:
            return True
        current = current.parent
    return False
