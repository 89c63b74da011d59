"""The relay with 50 Mbit/s both ways at once, beside a plain loop of sockets that shows what the machine itself adds.

Extra delay is what a datagram took beyond the time at which the link, told when each was sent, would have let it arrive.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psutil

from benchmarks._command import HOME, run_alone
from benchmarks._relay_ends import DATAGRAM_BYTES
from mixedsched.core.link import Link, direction_rng
from mixedsched.model.profile import IP_UDP_HEADER_BYTES, Direction, Profile

RATE_MBPS = 50
LINK_MBPS = 52  # a little more than is sent, or a moment's delay of the sender would stay in the queue to the end
OVERFED_MBPS = 55
DURATION_S = 4.0
ROUNDS = 5
WIRE = Direction(rate_bps=LINK_MBPS * 1_000_000, delay_us=10_000, queue_bytes=250_000)  # four bandwidth-delay products
DEEP = Direction(rate_bps=RATE_MBPS * 1_000_000, delay_us=10_000)  # overfed, its queue is never empty
_SETTLE_US = 500_000

Received = list[tuple[int, int, int]]


@dataclass(slots=True)
class Between:
    """What stands between the ends. last: what it told at its end; empty if it says nothing then."""

    port: int
    pid: int
    last: dict[str, Any] = field(default_factory=dict)


Opened = Callable[[int], AbstractContextManager[Between]]  # from the server's port


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of sending both ways at once. cpu_share: of one core. own_account: what stood between says of itself."""

    own_account: Mapping[str, Any]
    cpu_share: float
    sent: int
    down: Received
    up: Received


def run() -> Iterator[str]:
    cases: dict[str, tuple[Opened, Direction]] = {
        "relay": (relay, WIRE),
        "relay with packet log": (partial(relay, with_log=True), WIRE),
        "plain loop": (plain_loop, Direction()),
    }
    lines: dict[str, list[str]] = {label: [] for label in cases}
    best: dict[str, tuple[int, str]] = {}
    for _ in range(ROUNDS):  # in turns: a busy moment of the machine then spoils one round of each, not all of one
        for label, (opened, direction) in cases.items():
            outcome = measure(opened, RATE_MBPS)
            extra_us = sorted(extra_delays_us(outcome.down, direction) + extra_delays_us(outcome.up, direction))
            p99_us = quantile(extra_us, 0.99)
            text = f"p50 {quantile(extra_us, 0.5)} us, p99 {p99_us} us; {outcome.cpu_share:.0%} of a core"
            text += f"; {len(extra_us)} of {outcome.sent} datagrams arrived{own_words(outcome.own_account)}"
            best[label] = min(best.get(label, (p99_us, text)), (p99_us, text))
            lines[label].append(str(p99_us))
    for label, (_, text) in best.items():
        yield f"{label:22} extra delay {text}; p99 in each round: {', '.join(lines[label])} us"
    outcome = measure(partial(relay, direction=DEEP), OVERFED_MBPS)
    for side, received in (("down", outcome.down), ("up", outcome.up)):
        rate_mbps = achieved_mbps(received)
        yield (
            f"fed with {OVERFED_MBPS} Mbit/s, {side:4} lets pass {rate_mbps:.3f} of {RATE_MBPS} Mbit/s"
            f" ({rate_mbps / RATE_MBPS - 1:+.2%})"
        )


def measure(opened: Opened, rate_mbps: float) -> Outcome:
    """Two ends with something between them that forwards."""
    with ending("server", rate_mbps) as (server, server_port), opened(server_port) as between:
        before = psutil.Process(between.pid).cpu_times()
        with ending("client", rate_mbps, between.port) as (client, _):
            told = [json.loads(process.stdout.readline()) for process in (client, server)]
        after = psutil.Process(between.pid).cpu_times()
    cpu_s = after.user + after.system - before.user - before.system
    down, up = (sorted(tuple(item) for item in end["received"]) for end in told)
    return Outcome(between.last, cpu_s / DURATION_S, sum(end["sent"] for end in told), down, up)


@contextmanager
def ending(role: str, rate_mbps: float, port: int | None = None) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """One end, and the port it listens at (0: it is the client)."""
    words = [str(rate_mbps), str(DURATION_S)] + ([] if port is None else [str(port)])
    with _process("benchmarks._relay_ends", role, *words) as process:
        yield process, int(process.stdout.readline()) if role == "server" else 0


@contextmanager
def relay(server_port: int, direction: Direction = WIRE, with_log: bool = False) -> Iterator[Between]:
    with tempfile.TemporaryDirectory() as folder, _process("mixedsched.world.emulator.relay") as process:
        settings = {
            "profile": Profile("bench", "", "", direction, direction).facts(),
            "seed": 1,
            "server": ["127.0.0.1", server_port],
            "listen": ["127.0.0.1", 0],
            "packet_log": folder if with_log else None,
        }
        process.stdin.write(json.dumps(settings) + "\n")
        process.stdin.flush()
        between = Between(json.loads(process.stdout.readline())["listening"][1], process.pid)
        yield between
        process.stdin.close()
        between.last = json.loads(process.stdout.readline())


@contextmanager
def plain_loop(server_port: int) -> Iterator[Between]:
    with _process("benchmarks._relay_ends", "plain", str(server_port)) as process:
        yield Between(int(process.stdout.readline()), process.pid)


@contextmanager
def _process(module: str, *words: str) -> Iterator[Any]:
    with subprocess.Popen(
        [sys.executable, "-m", module, *words], cwd=HOME, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process
        except BaseException:
            process.kill()  # it may wait for somebody who will not come
            raise
        finally:
            process.stdin.close()
            process.stdout.read()


def own_words(account: Mapping[str, Any]) -> str:
    """How late the relay knows that it was: what is beyond that came to pass in the ends, or in the kernel."""
    if not account:
        return ""
    kept = account["punctuality"]
    p99_us = max(kept["down"]["p99_us"], kept["up"]["p99_us"])
    missed = account["down"]["missed"] + account["up"]["missed"]
    return (
        f"; by its own account p99 {p99_us} us, {kept['late']} late, {kept['late_timers']} late timers, {missed} missed"
    )


def extra_delays_us(received: Received, direction: Direction) -> list[int]:
    """What each datagram took beyond the link's own time. Exact if none was lost before the link; else nearly."""
    link: Link[int] = Link(direction, direction_rng(1, "down"))
    for index, (_, sent_us, _) in enumerate(received):
        link.push(index, DATAGRAM_BYTES + IP_UDP_HEADER_BYTES, sent_us)
    extra_us = []
    while (due_us := link.next_due_us()) is not None:
        extra_us += [received[index][2] - due_us for index in link.pop_due(due_us)]
    return extra_us


def achieved_mbps(received: Received) -> float:
    """The rate at which datagrams came, headers counted, once the queue had filled."""
    arrived_us = sorted(arrived for _, _, arrived in received)
    steady = [at_us for at_us in arrived_us if at_us >= arrived_us[0] + _SETTLE_US]
    return (len(steady) - 1) * (DATAGRAM_BYTES + IP_UDP_HEADER_BYTES) * 8 / (steady[-1] - steady[0])


def quantile(ordered: Sequence[int], share: float) -> int:
    return ordered[int(share * (len(ordered) - 1))]


if __name__ == "__main__":
    run_alone("relay", __doc__, run)
