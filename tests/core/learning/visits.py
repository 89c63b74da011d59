"""Visits of a small page, as its server sees them."""

from collections.abc import Sequence
from dataclasses import replace

from mixedsched.core.learning.visit import SeenNetwork, SeenRequest, Visit
from mixedsched.model.request import ChromiumPriority, Kind

_HIGH, _MEDIUM, _LOW = ChromiumPriority.HIGH, ChromiumPriority.MEDIUM, ChromiumPriority.LOW
NETWORK = SeenNetwork(100.0, 2_000_000.0)


def seen(
    path: str, kind: Kind, size_bytes: int, priority: ChromiumPriority, at_ms: float, *, raised: bool = False
) -> SeenRequest:
    """A request whose response has left 100 ms later."""
    return SeenRequest(
        path, kind, "", size_bytes, priority, kind is Kind.IMAGE, at_ms, "/" if at_ms else None, raised,
        at_ms + 10, at_ms + 100, size_bytes,
    )  # fmt: skip


def requests() -> list[SeenRequest]:
    """A document, a style sheet, a script, and three images, the second of which is in view."""
    return [
        seen("/", Kind.DOCUMENT, 10_000, ChromiumPriority.VERY_HIGH, 0.0),
        seen("/app.0a1b2c3d.css", Kind.STYLESHEET, 20_000, ChromiumPriority.VERY_HIGH, 150.0),
        seen("/app.0a1b2c3d.js", Kind.SCRIPT, 30_000, _HIGH, 150.0),
        seen("/img/one.jpg", Kind.IMAGE, 90_000, _MEDIUM, 160.0),
        seen("/img/two.jpg", Kind.IMAGE, 120_000, _MEDIUM, 160.0, raised=True),
        seen("/img/three.jpg", Kind.IMAGE, 60_000, _LOW, 170.0),
        seen("/font.woff2", Kind.FONT, 15_000, ChromiumPriority.VERY_HIGH, 400.0),
    ]


def visit(
    items: Sequence[SeenRequest] | None = None,
    order: str = "safe",
    *,
    progress: tuple[tuple[float, int], ...] = ((10.0, 5000), (100.0, 10_000)),
) -> Visit:
    return Visit(tuple(requests() if items is None else items), progress, NETWORK, order)


def renamed(items: Sequence[SeenRequest], *places: int) -> list[SeenRequest]:
    """The same under other names of the same folder and ending."""
    return [
        replace(item, path=f"{item.path.rpartition('/')[0]}/ff00{place}9.{item.path.rpartition('.')[2]}")
        if place in places
        else item
        for place, item in enumerate(items)
    ]


def other_page() -> list[SeenRequest]:
    """After a redesign: the same document's path, nothing else of what there was."""
    return [
        seen("/", Kind.DOCUMENT, 40_000, ChromiumPriority.VERY_HIGH, 0.0),
        *(seen(f"/new/{name}", Kind.SCRIPT, 1000 * 3**number, _LOW, 200.0) for number, name in enumerate("abcdefgh")),
    ]
