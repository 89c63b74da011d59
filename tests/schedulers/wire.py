"""Scripts of streams, and the order in which a scheduler puts them on the wire.

A script is a list of streams "NAME+COUNT[:priority field]", for instance "A4:u=3,i B2:u=0": stream A has four packets to
send and urgency 3, incremental. Names become stream IDs 0, 4, 8 ... in order of appearance.
"""

from __future__ import annotations

from typing import Any

from mixedsched import catalog
from mixedsched.priority import Priority, parse_field
from mixedsched.schedulers import SCHEMES
from mixedsched.scheme import ConfiguredScheme, Scheduler, configure

PACKET_BYTES = 1200


def scheme(spec: str) -> ConfiguredScheme:
    return configure(spec, SCHEMES, catalog.load_mapping)


def create(spec: str) -> Scheduler[Any]:
    return scheme(spec).create_scheduler()


def placement_for(spec: str, priority: Priority) -> Any:
    """What the scheduler of this scheme understands, given an EPS priority as placement."""
    return None if scheme(spec).scheme.default_mapping is None else priority


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
            head, _, field = item.partition(":")
            name, count = head[0], int(head[1:])
            stream_id = 4 * len(self.names)
            self.names[stream_id], self.left[stream_id] = name, count
            self.scheduler.open(stream_id, placement_for(self.spec, parse_field([field.encode()])))
        return self

    def id_of(self, name: str) -> int:
        return next(stream_id for stream_id, other in self.names.items() if other == name)

    def pause(self, name: str) -> Wire:
        self.scheduler.pause(self.id_of(name))
        return self

    def resume(self, name: str) -> Wire:
        self.scheduler.resume(self.id_of(name))
        return self

    def move(self, name: str, field: str) -> Wire:
        self.scheduler.reprioritize(self.id_of(name), placement_for(self.spec, parse_field([field.encode()])))
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
