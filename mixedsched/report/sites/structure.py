"""A page as a tree of discovery: what led to what, how deep, in which order; and what it adds up to. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mixedsched.model.page import Page, Resource
from mixedsched.model.request import ChromiumPriority, Flag

DRAWN_LEVELS = 12
HERO, ABOVE = "★", "▲"  # what marks the first screen, also for eyes and printers that see no colour


@dataclass(frozen=True, slots=True)
class Node:
    """A resource in the tree."""

    item: Resource
    depth: int  # 0 for the navigation
    children: tuple[str, ...]  # ids, in order of request


@dataclass(frozen=True, slots=True)
class Folded:
    """Children of one parent that are shown in one line."""

    depth: int
    items: tuple[Resource, ...]


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A line of the picture."""

    content: Node | Folded
    # For each level down to this one (the DRAWN_LEVELS lowest): whether its parent has no more children.
    last: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Some resources, added up."""

    name: str
    resources: int
    body_bytes: int


class Structure:
    """The tree of a page. Its walks are loops, as a page may be thousands of resources deep."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._items = page.by_id()
        self._children: dict[str | None, list[str]] = {}
        for item in page.resources:
            self._children.setdefault(item.found_by, []).append(item.id)

    def nodes(self) -> list[Node]:
        """All of them, parents first, children in order of request."""
        return [row.content for row in self.rows(None) if isinstance(row.content, Node)]

    def rows(self, most: int | None) -> list[TreeRow]:
        """The lines of the picture.

        most: how many children of a parent are shown, besides heroes and those with children; None for all. The others share
        one line behind them, unless it is a single one.
        """
        rows: list[TreeRow] = []
        waiting: list[tuple[Node | Folded, tuple[bool, ...]]] = self._level(None, 0, (), most)
        while waiting:
            content, last = waiting.pop()
            rows.append(TreeRow(content, last))
            if isinstance(content, Node):
                waiting += self._level(content.item.id, content.depth + 1, last, most)
        return rows

    def _level(
        self, parent: str | None, depth: int, last: tuple[bool, ...], most: int | None
    ) -> list[tuple[Node | Folded, tuple[bool, ...]]]:
        """The lines right under a parent, last one first."""
        kept, left_out = self._chosen(self._children.get(parent, []), most)
        level: list[Node | Folded] = [Node(self._items[id_], depth, tuple(self._children.get(id_, ()))) for id_ in kept]
        if left_out:
            level.append(Folded(depth, tuple(self._items[id_] for id_ in left_out)))
        if depth == 0:
            return [(content, ()) for content in reversed(level)]
        ends = [(*last, place == len(level) - 1)[-DRAWN_LEVELS:] for place in range(len(level))]
        return list(zip(level, ends, strict=True))[::-1]

    def _chosen(self, ids: Sequence[str], most: int | None) -> tuple[list[str], list[str]]:
        if most is None or len(ids) <= most + 1:
            return list(ids), []
        stands_out = {id_ for id_ in ids[most:] if id_ in self._children or Flag.HERO in self._items[id_].flags}
        kept = [id_ for place, id_ in enumerate(ids) if place < most or id_ in stands_out]
        left_out = [id_ for place, id_ in enumerate(ids) if place >= most and id_ not in stands_out]
        return (list(ids), []) if len(left_out) < 2 else (kept, left_out)


def sums(items: Iterable[tuple[str, Resource]]) -> list[Sum]:
    """By name, most bytes first."""
    counts: dict[str, list[int]] = {}
    for name, item in items:
        known = counts.setdefault(name, [0, 0])
        known[0] += 1
        known[1] += item.body_bytes
    return sorted((Sum(name, *known) for name, known in counts.items()), key=lambda item: (-item.body_bytes, item.name))


def largest(found: list[Sum], most: int) -> list[Sum]:
    """The largest ones, and all others in one line."""
    rest = found[most:]
    if len(rest) < 2:
        return found
    others = Sum(f"{len(rest)} others", sum(item.resources for item in rest), sum(item.body_bytes for item in rest))
    return [*found[:most], others]


def priority_sums(items: Iterable[Resource]) -> list[Sum]:
    """By Chromium priority, most urgent first."""
    found = {item.name: item for item in sums((item.chromium_priority.value, item) for item in items)}
    return [found[rank.value] for rank in ChromiumPriority if rank.value in found]


def is_above_fold(item: Resource) -> bool:
    """Whether it is needed for the first screen, in ByteIndex's sense or by its own flag."""
    return item.is_above_fold or Flag.ABOVE_FOLD in item.flags


def sign_of(item: Resource) -> str:
    """The mark of a resource of the first screen; "" for others."""
    return HERO if Flag.HERO in item.flags else ABOVE if is_above_fold(item) else ""


def found_text(item: Resource) -> str:
    """When its parent leads to it, as "at byte 1200" or "complete, 30 ms later"."""
    after = f", {item.delay_ms:g} ms later" if item.delay_ms else ""
    match item.found_when:
        case "start":
            return "navigation" if not item.delay_ms else f"navigation{after}"
        case "requested":
            return f"at once{after}"
        case "bytes":
            return f"at byte {item.found_at_bytes}{after}"
        case "complete":
            return f"complete{after}"
