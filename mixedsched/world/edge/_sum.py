"""Counters of an edge with several workers: each answers on a Unix socket of its own, and the parent sums what they say.

A worker answers there as an edge with one worker does on its port, in Prometheus' text format. Counters of a worker that does
not answer in time, or any more, stay at what it said last; its gauges are left out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mixedsched.world.edge._metrics import Sample

_ANSWER_S = 1.0
_MAX_BYTES = 256 * 1024  # of one worker's answer
_LINE = re.compile(r"([a-z_]+)(\{[^}\n]*\})? (\S+)")
_UP, _RTT, _CONNECTIONS, _WORKERS = (
    f"mixedsched_edge_{name}" for name in ("origin_up", "rtt_seconds", "connections", "workers")
)


def parse_text(text: str) -> Iterator[Sample]:
    """The samples of an exposition such as `as_text` makes. Raises ValueError for anything else."""
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            kinds[name] = kind
        elif not line.startswith("#"):
            found = _LINE.fullmatch(line)
            if found is None or found[1] not in kinds:
                raise ValueError(f"'{line[:100]}' is no sample")
            value = float(found[3])
            yield found[1], kinds[found[1]], found[2] or "", int(value) if value.is_integer() else value


def summed(workers: Iterable[Iterable[Sample]]) -> Iterator[Sample]:
    """One edge's samples out of those of its workers, in the order in which they first come.

    Whether the origin is up is what the least lucky worker says; round-trip times weigh as many as there are connections.
    """
    totals: dict[tuple[str, str], tuple[str, float]] = {}
    weighted_rtt_s = 0.0
    for samples in workers:
        listed = list(samples)
        own = {name: value for name, _, _, value in listed}
        weighted_rtt_s += own.get(_RTT, 0.0) * own.get(_CONNECTIONS, 0)
        for name, kind, labels, value in listed:
            before = totals.get((name, labels))
            if before is None:
                totals[name, labels] = kind, value
            else:
                totals[name, labels] = kind, min(before[1], value) if name == _UP else before[1] + value
    connections = totals.get((_CONNECTIONS, ""), ("", 0))[1]
    order = {name: None for name, _ in totals}  # all samples of a name stand together
    for wanted in order:
        for (name, labels), (kind, value) in totals.items():
            if name == wanted:
                is_mean = name == _RTT and connections
                yield name, kind, labels, weighted_rtt_s / connections if is_mean else value


@dataclass
class WorkerCounters:
    """What the workers say, asked for at each look. folder: of their sockets, named by number; count: of the workers."""

    folder: Path
    count: int
    _last: dict[int, list[Sample]] = field(default_factory=dict)

    async def samples(self) -> Iterator[Sample]:
        """Of all workers together. Takes a second at most."""
        answers = await asyncio.gather(*(self._ask(number) for number in range(self.count)))
        everything = [
            answer if answer is not None else [item for item in self._last.get(number, []) if item[1] == "counter"]
            for number, answer in enumerate(answers)
        ]
        answering = sum(answer is not None for answer in answers)
        return iter([*summed(everything), (_WORKERS, "gauge", "", answering)])

    async def _ask(self, number: int) -> list[Sample] | None:
        try:
            async with asyncio.timeout(_ANSWER_S):
                reader, writer = await asyncio.open_unix_connection(socket_of(self.folder, number))
                try:
                    writer.write(b"GET /metrics HTTP/1.1\r\nhost: worker\r\n\r\n")
                    answer = b""
                    while data := await reader.read(_MAX_BYTES):
                        answer += data
                        if len(answer) > _MAX_BYTES:
                            return None
                finally:
                    writer.close()
            samples = list(parse_text(answer.partition(b"\r\n\r\n")[2].decode()))
        except (OSError, ValueError):
            return None
        self._last[number] = samples
        return samples


def socket_of(folder: Path, number: int) -> str:
    return str(folder / str(number))
