"""Scripts of streams, and the order in which a scheduler puts them on the wire.

A script is a list of streams "NAME+COUNT[:description]". A description is a priority field, as in "A4:u=3,i B2:u=0" (stream A
has four packets to send and urgency 3, incremental), or a kind with flags, as in "A4:script+in_head B2:image", maybe with
Chromium's priority: "A4:font@High". "svg", "feed" and "manifest" are an image and other resources of such a content type.
Names become stream IDs 0, 4, 8 ... in order of appearance.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Generic, Self, TypeVar

from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.page import derive_chromium_priority, derive_incremental
from mixedsched.model.priority import Priority, parse_field
from mixedsched.model.request import ChromiumPriority, Flag, Kind, Request, chromium_priority_of
from mixedsched.model.scheduler import Scheduler
from mixedsched.model.scheme import ConfiguredScheme, configure
from mixedsched.world import catalog

PACKET_BYTES = 1400
MIMES = {"document": "text/html", "stylesheet": "text/css", "script": "text/javascript", "xhr": "application/json"}
SPECIAL = {
    "svg": (Kind.IMAGE, "image/svg+xml"),
    "feed": (Kind.OTHER, "application/rss+xml"),
    "manifest": (Kind.OTHER, "application/manifest+json"),
}
P = TypeVar("P")


@cache  # properties ask for it at every step, and what it gives never changes
def scheme(spec: str) -> ConfiguredScheme:
    return configure(spec, SCHEMES, catalog.load_mapping)


def create(spec: str) -> Scheduler[Any]:
    return scheme(spec).create_scheduler()


def placement_for(spec: str, priority: Priority) -> Any:
    """What the scheduler of this scheme understands: an EPS priority as it is, else the placement of some request."""
    configured = scheme(spec)
    if configured.scheme.default_mapping is not None:
        return priority
    kinds = tuple(Kind)
    return configured.place(
        Request(
            stream_id=4,
            path="/",
            kind=kinds[(priority.urgency + 3 * priority.incremental) % len(kinds)],
            signal=priority,
            signalled=True,
            chromium_priority=chromium_priority_of(priority),
        )
    )


def request(description: str, stream_id: int = 4, *, has_manifest: bool = True) -> Request:
    """The request for a resource like this; without a manifest its flags are not known."""
    what, _, priority = description.partition("@")
    name, *flags = what.split("+")
    kind, mime = SPECIAL[name] if name in SPECIAL else (Kind(name), MIMES.get(name, name))
    found = frozenset(Flag(flag) for flag in flags)
    seen = ChromiumPriority(priority) if priority else derive_chromium_priority(kind, found)
    return Request(
        stream_id=stream_id,
        path="/",
        kind=kind,
        signal=Priority(seen.rank, derive_incremental(kind)),
        chromium_priority=seen,
        mime=mime,
        flags=found if has_manifest else None,
    )


def place(spec: str, stream_id: int, description: str) -> Any:
    """The placement of a stream that is described like this."""
    if "=" in description or description in {"", "i"}:
        return placement_for(spec, parse_field([description.encode()]))
    return scheme(spec).place(request(description, stream_id))


def placed(spec: str, description: str) -> str:
    """The placement in words: placed("bucket", "font") == "[63,2]"."""
    return str(place(spec, 4, description))


def placed_blindly(spec: str, description: str, stream_id: int = 4) -> str:
    """As `placed`, where no manifest tells the flags."""
    return str(scheme(spec).place(request(description, stream_id, has_manifest=False)))


class Line(Generic[P]):
    """A scheduler with streams that have packets to send; `out` is what has left so far, by name."""

    def __init__(self, scheduler: Scheduler[P]) -> None:
        self.scheduler = scheduler
        self.left: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.out = ""

    def open(self, name: str, packets: int, placement: P) -> Self:
        """Open the next stream."""
        stream_id = 4 * len(self.names)
        self.names[stream_id], self.left[stream_id] = name, packets
        self.scheduler.open(stream_id, placement)
        return self

    def id_of(self, name: str) -> int:
        return next(stream_id for stream_id, other in self.names.items() if other == name)

    def pause(self, name: str) -> Self:
        self.scheduler.pause(self.id_of(name))
        return self

    def resume(self, name: str) -> Self:
        self.scheduler.resume(self.id_of(name))
        return self

    def close(self, name: str) -> Self:
        """Close a stream before its time, as a reset does."""
        self.scheduler.close(self.id_of(name))
        return self

    def send(self, packets: int = 10_000, size_bytes: int = PACKET_BYTES) -> Self:
        """Send so many packets, or all there are; a stream without any left closes."""
        for _ in range(packets):
            stream_id = self.scheduler.pick()
            if stream_id is None:
                break
            self.out += self.names[stream_id]
            self.scheduler.sent(stream_id, size_bytes)
            self.left[stream_id] -= 1
            if not self.left[stream_id]:
                self.scheduler.close(stream_id)
        return self

    def next(self, packets: int = 10_000) -> str:
        """Send so many packets, and tell only these."""
        before = len(self.out)
        return self.send(packets).out[before:]


class Wire(Line[Any]):
    """The line of a scheme, written as scripts."""

    def __init__(self, spec: str, script: str = "") -> None:
        super().__init__(create(spec))
        self.spec = spec
        self.add(script)

    def add(self, script: str) -> Self:
        """Open the streams of a script."""
        for item in script.split():
            head, _, description = item.partition(":")
            self.open(head[0], int(head[1:]), place(self.spec, 4 * len(self.names), description))
        return self

    def move(self, name: str, description: str) -> Self:
        self.scheduler.reprioritize(self.id_of(name), place(self.spec, self.id_of(name), description))
        return self


def wire(spec: str, script: str) -> str:
    """The whole order on the wire: wire("stock", "A2 B2") == "ABAB"."""
    return Wire(spec, script).send().out
