"""Do the models of other people's servers put bytes in the order in which those do?

Random small scenarios, as at the beginning of a page: a document of 120 kB at u=0 and, while it comes, two to five files of 15
to 300 kB at once with random priorities, for a client that reads slowly. The server's STREAM frames are recorded, and the model
is asked the same. Told are how often responses end in the same order, and how far the parts of what has been sent differ, on
average over nine moments of each scenario.

    python -m benchmarks.server_models --scenarios 200 [--bare] [--only gtlsserver] [--json FILE]
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks._command import parser_of, say_all
from mixedsched.core.h3.conform import wire
from mixedsched.core.h3.conform.seen import SeenConnection
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import MixedschedError
from mixedsched.model.priority import Priority
from mixedsched.model.scheme import configure
from mixedsched.report.papers.script import Countdown, run_script, tell
from mixedsched.world import catalog
from mixedsched.world.client.talk import Talk
from mixedsched.world.server.site import ServedSite, SiteEntry
from mixedsched.world.servers import KINDS, FoundServer, find_server, running_program

HOST_NAME = "site.test"
RATE_BYTES_PER_S = 1_000_000
PACKET_BYTES = 1200
SIZES_KB = [size for size in range(15, 301, 15) if size != 120]
DOCUMENT_KB = 120
BEGUN_BYTES = 10_000
"""Of the document, before the other requests leave: so servers have answers ready for all of them when they have to choose."""
MOMENTS = 10
LIMIT_S = 20.0

Order = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Requests in order of stream ID, the document first: (size of the file in kB, priority)."""

    requests: tuple[tuple[int, Priority], ...]

    @classmethod
    def drawn(cls, rng: random.Random, *, is_bare: bool = False) -> Scenario:
        """is_bare: without the document."""
        sizes = rng.sample(SIZES_KB, rng.randint(2, 5))
        urgencies = rng.choice([(3,), (2, 3), (1, 2, 3, 5)])
        files = [(size, Priority(rng.choice(urgencies), rng.random() < 0.5)) for size in sizes]
        return cls(tuple(files) if is_bare else ((DOCUMENT_KB, Priority(0)), *files))

    def __str__(self) -> str:
        return " ".join(
            f"{size}kB:u={priority.urgency}{',i' if priority.incremental else ''}" for size, priority in self.requests
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a scenario. shares_differ: the mean difference of parts, from 0 to 1."""

    scenario: str
    real: str
    model: str
    is_same_end: bool
    shares_differ: float


def main() -> None:
    parser = parser_of("server_models", __doc__)
    parser.add_argument("--scenarios", type=int, default=200, help="that each server is asked")
    parser.add_argument("--seed", type=int, default=1, help="of the scenarios")
    parser.add_argument("--bare", action="store_true", help="all at once on a fresh connection, without the document")
    parser.add_argument("--only", choices=sorted(KINDS), help="one server")
    parser.add_argument("--json", type=Path, help="a file for all outcomes")
    options = parser.parse_args()
    told: dict[str, list[dict[str, object]]] = {}
    with tempfile.TemporaryDirectory() as name:
        files = Path(name)
        write_files(files)
        for kind in KINDS.values():
            if options.only not in (None, kind.name):
                continue
            found = find_server(kind)
            if not found.is_usable:
                tell(f"{kind.name}: not found")
                continue
            outcomes = _outcomes(found, files, options.scenarios, options.seed, is_bare=options.bare)
            say_all(_summary(found, outcomes))
            told[kind.name] = [asdict(item) for item in outcomes]
    if options.json is not None:
        options.json.write_text(json.dumps(told, indent=1) + "\n")


def _outcomes(found: FoundServer, files: Path, count: int, seed: int, *, is_bare: bool) -> list[Outcome]:
    rng, countdown, outcomes = random.Random(seed), Countdown(count), []
    with running(found, files) as port:
        for _ in range(count):
            outcomes.append(outcome_of(found.kind.stand_in, port, Scenario.drawn(rng, is_bare=is_bare)))
            countdown.done(f"{found.kind.name}: {outcomes[-1].scenario}")
    return outcomes


@contextmanager
def running(found: FoundServer, files: Path) -> Iterator[int]:
    """The UDP port on which a server serves the files of a folder. Raises MixedschedError if it does not start."""
    entries = {f"/{file.name}": SiteEntry(file, "application/octet-stream", None) for file in sorted(files.iterdir())}
    site = ServedSite("files", f"https://{HOST_NAME}/", (HOST_NAME,), {HOST_NAME: entries}, None, 1)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        program = running_program(f"@{found.kind.name}", found, site, "127.0.0.1")
        started = runner.run(stack.enter_async_context(program))
        try:
            yield started.address[1]
        finally:
            runner.run(stack.aclose())


def write_files(folder: Path) -> None:
    """The files that scenarios ask for."""
    for size in (DOCUMENT_KB, *SIZES_KB):
        (folder / f"f{size}.bin").write_bytes(random.Random(size).randbytes(size * 1000))


def outcome_of(model_spec: str, port: int, scenario: Scenario) -> Outcome:
    """Ask the server that runs on this port, and its model."""
    real, model = _real_order(port, scenario), model_order(model_spec, scenario)
    return Outcome(str(scenario), _text(real), _text(model), _ends(real) == _ends(model), shares_differ(real, model))


def _real_order(port: int, scenario: Scenario) -> Order:
    with Talk("127.0.0.1", port, HOST_NAME, rate_bytes_per_s=RATE_BYTES_PER_S) as talk:
        talk.write(wire.CONTROL, wire.BEGINNING)
        talk.run(lambda _: False, 0.05)
        for number, (size, priority) in enumerate(scenario.requests):
            field = f"u={priority.urgency}{', i' if priority.incremental else ''}"
            head = wire.request(f"{HOST_NAME}:{port}", f"/f{size}.bin", (field,))
            talk.write(4 * number, head, ends=True)
            if not number and size == DOCUMENT_KB:
                talk.run(lambda seen: seen.received_bytes >= BEGUN_BYTES, LIMIT_S)
        streams = {4 * number for number in range(len(scenario.requests))}

        def is_over(seen: SeenConnection) -> bool:
            return seen.ended >= streams

        talk.run(is_over, LIMIT_S)
        if not is_over(talk.seen) or any(status != 200 for status in talk.seen.statuses.values()):
            raise MixedschedError(f"no whole responses for {scenario}: {talk.seen.statuses}, {talk.seen.closed}")
        return talk.seen.order()


def model_order(spec: str, scenario: Scenario) -> Order:
    """What the model makes of requests that come at once."""
    scheduler = configure(spec, SCHEMES, catalog.load_mapping).create_scheduler()
    left = {}
    for number, (size, priority) in enumerate(scenario.requests):
        left[4 * number] = size * 1000
        scheduler.open(4 * number, priority)
    order = []
    while (stream := scheduler.pick()) is not None:
        size = min(PACKET_BYTES, left[stream])
        scheduler.sent(stream, size)
        order.append((stream, size))
        left[stream] -= size
        if not left[stream]:
            scheduler.close(stream)
    return order


def _ends(order: Order) -> list[int]:
    """Streams in the order in which they end."""
    last = {stream: place for place, (stream, _) in enumerate(order)}
    return sorted(last, key=lambda stream: last[stream])


def shares_differ(one: Order, other: Order) -> float:
    """Half the sum of differences of the streams' parts of what has been sent, at nine moments, on average: 0 is the same."""
    moments = [part / MOMENTS for part in range(1, MOMENTS)]
    sums = [
        0.5 * sum(abs(a.get(s, 0) - b.get(s, 0)) for s in {*a, *b})
        for a, b in zip(
            [_parts(one, moment) for moment in moments], [_parts(other, moment) for moment in moments], strict=True
        )
    ]
    return sum(sums) / len(sums)


def _parts(order: Order, moment: float) -> dict[int, float]:
    until = moment * sum(size for _, size in order)
    got: dict[int, float] = {}
    passed = 0.0
    for stream, size in order:
        part = min(size, until - passed)
        got[stream] = got.get(stream, 0) + part
        passed += part
        if passed >= until:
            break
    return {stream: size / until for stream, size in got.items()}


def _text(order: Order) -> str:
    """One letter for 10 kB begun: "AAAB"; the stream that sent the most of them."""
    text, bucket, held = "", {}, 0
    for stream, size in order:
        bucket[stream] = bucket.get(stream, 0) + size
        held += size
        if held >= 10_000:
            text += chr(ord("A") + max(bucket, key=lambda item: bucket[item]) // 4)
            bucket, held = {}, 0
    return text


def _summary(found: FoundServer, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What is told of a server."""
    same = sum(item.is_same_end for item in outcomes)
    differ = sum(item.shares_differ for item in outcomes) / len(outcomes)
    version = found.version.name if found.version is not None else "?"
    yield (
        f"{found.kind.name} {version} ({found.kind.stand_in}): the same order of completion in {same} of {len(outcomes)} "
        f"({same / len(outcomes):.1%}); parts differ by {differ:.1%} on average"
    )
    for item in [item for item in outcomes if not item.is_same_end][:5]:
        yield from (f"  {item.scenario}", f"    real  {item.real}", f"    model {item.model}")


if __name__ == "__main__":
    run_script(main)
