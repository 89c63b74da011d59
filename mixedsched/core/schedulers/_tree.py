"""A dependency tree of groups with responses as leaves: the placeholders of HTTP/3 up to draft 20, from the tree of HTTP/2."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self

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
    """Where a response belongs in the tree."""

    parent: str = ROOT
    """A group's name."""
    weight: int = DEFAULT_WEIGHT

    def __str__(self) -> str:
        return f"{self.parent}, weight {self.weight}"


class _Node:
    """A group or the root, and the queue of what is ready below it. number: its own in its parent's queue."""

    __slots__ = ("number", "parent", "queue", "weight")

    def __init__(self, number: int, weight: int, queue: Queue, parent: Self | None) -> None:
        self.number = number
        self.weight = weight
        self.queue = queue
        self.parent = parent

    def enter(self, member: int, weight: int) -> None:
        was_active = bool(self.queue)
        self.queue.enter(member, weight)
        if self.parent is not None and not was_active:
            self.parent.enter(self.number, self.weight)

    def leave(self, member: int) -> None:
        self.queue.leave(member)
        if self.parent is not None and not self.queue:
            self.parent.leave(self.number)


class DependencyTree(StreamTable[TreePlace]):
    """Groups share by weight among each other, and the responses of a group through its queue.

    by_packets: a turn costs a response a full packet, as in H2O, instead of the bytes sent; groups always pay for a full one.
    Source: RFC 7540 section 5.3; Marx et al. 2019, published code, for what the RFC leaves open.
    """

    def __init__(self, groups: Iterable[Group] = (), *, by_packets: bool = False) -> None:
        super().__init__()
        self._stream_cost_bytes = QUANTUM_BYTES if by_packets else None
        self._root = _Node(0, WEIGHT_MAX, WeightedFair(), None)
        self._groups: dict[str, _Node] = {ROOT: self._root}
        self._by_number: dict[int, _Node] = {}  # groups: below 0, where no stream ID is, and in the order of `groups`
        listed = tuple(groups)
        for number, group in enumerate(listed, start=-len(listed)):
            node = _Node(number, group.weight, group.discipline(), self._groups[group.parent])
            self._groups[group.name] = self._by_number[number] = node

    def set_weight(self, group: str, weight: int) -> None:
        """Change a group's weight; counts from its next turn."""
        node = self._groups[group]
        node.weight = weight
        if node.queue and node.parent is not None and isinstance(node.parent.queue, WeightedFair):
            node.parent.queue.set_weight(node.number, weight)

    def is_group_active(self, group: str) -> bool:
        """Whether anything below a group is ready."""
        return bool(self._groups[group].queue)

    def pick(self) -> int | None:
        number = self._root.queue.first()
        while number is not None and number < 0:
            number = self._by_number[number].queue.first()
        return number

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats cost capacity too
        number = stream_id
        cost_bytes = size_bytes if self._stream_cost_bytes is None else self._stream_cost_bytes
        node: _Node | None = self._groups[self._placements[stream_id].parent]
        while node is not None:
            node.queue.sent(number, cost_bytes)
            number, cost_bytes, node = node.number, QUANTUM_BYTES, node.parent

    def _enter(self, stream_id: int, placement: TreePlace) -> None:
        self._groups[placement.parent].enter(stream_id, placement.weight)

    def _leave(self, stream_id: int, placement: TreePlace) -> None:
        self._groups[placement.parent].leave(stream_id)

    def _forget(self, stream_id: int) -> None:
        for node in self._groups.values():
            node.queue.forget(stream_id)
