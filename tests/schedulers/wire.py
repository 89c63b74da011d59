"""Scripts of streams, and the order in which a scheduler puts them on the wire.

A script is a list of streams "NAME+COUNT[:description]". A description is a priority field, as in "A4:u=3,i B2:u=0" (stream A
has four packets to send and urgency 3, incremental), or a kind with flags, as in "A4:script+in_head B2:image", maybe with
Chromium's priority: "A4:font@High". Names become stream IDs 0, 4, 8 ... in order of appearance.
"""

from __future__ import annotations

from typing import Any

from mixedsched import catalog
from mixedsched.page import derive_chromium_priority, derive_incremental
from mixedsched.priority import Priority, parse_field
from mixedsched.request import ChromiumPriority, Flag, Kind, Request, chromium_priority_of
from mixedsched.schedulers import SCHEMES
from mixedsched.scheme import ConfiguredScheme, Scheduler, configure

PACKET_BYTES = 1400
MIMES = {"document": "text/html", "stylesheet": "text/css", "script": "text/javascript", "xhr": "application/json"}


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


def place(spec: str, stream_id: int, description: str) -> Any:
    """The placement of a stream that is described like this."""
    if "=" in description or description in {"", "i"}:
        return placement_for(spec, parse_field([description.encode()]))
    what, _, priority = description.partition("@")
    kind, *flags = what.split("+")
    found = frozenset(Flag(flag) for flag in flags)
    seen = ChromiumPriority(priority) if priority else derive_chromium_priority(Kind(kind), found)
    return scheme(spec).place(
        Request(
            stream_id=stream_id,
            path="/",
            kind=Kind(kind),
            signal=Priority(seen.rank, derive_incremental(Kind(kind))),
            chromium_priority=seen,
            mime=MIMES.get(kind, kind),
            flags=found,
        )
    )


class Wire:
    """A scheduler with streams that have packets to send; `out` is what has left so far, by name."""

    def __init__(self, spec: str, script: str = "") -> None:
        self.spec = spec
        self.scheduler = create(spec)
        self.left: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.out = ""
        self.add(script)

    def add(self, script: str) -> Wire:
        """Open the streams of a script."""
        for item in script.split():
            head, _, description = item.partition(":")
            name, count = head[0], int(head[1:])
            stream_id = 4 * len(self.names)
            self.names[stream_id], self.left[stream_id] = name, count
            self.scheduler.open(stream_id, place(self.spec, stream_id, description))
        return self

    def id_of(self, name: str) -> int:
        return next(stream_id for stream_id, other in self.names.items() if other == name)

    def pause(self, name: str) -> Wire:
        self.scheduler.pause(self.id_of(name))
        return self

    def resume(self, name: str) -> Wire:
        self.scheduler.resume(self.id_of(name))
        return self

    def move(self, name: str, description: str) -> Wire:
        self.scheduler.reprioritize(self.id_of(name), place(self.spec, self.id_of(name), description))
        return self

    def send(self, packets: int = 10_000) -> Wire:
        """Send so many packets, or all there are; a stream without any left closes."""
        for _ in range(packets):
            stream_id = self.scheduler.pick()
            if stream_id is None:
                break
            self.out += self.names[stream_id]
            self.scheduler.sent(stream_id, PACKET_BYTES)
            self.left[stream_id] -= 1
            if not self.left[stream_id]:
                self.scheduler.close(stream_id)
        return self


def wire(spec: str, script: str) -> str:
    """The whole order on the wire: wire("stock", "A2 B2") == "ABAB"."""
    return Wire(spec, script).send().out
