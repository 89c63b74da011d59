"""Proof that an emulated network does what its profile says: probes are sent over it, and their arrivals are judged.

What is sent: _plan.py. How it is judged: _timing.py, _losses.py. The emulator's own figures are not used, except that
its counter of overflows shows whether missing packets may be called lost.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mixedsched.model.profile import Direction, Profile
from mixedsched.world.emulator.backend import Backend
from mixedsched.world.emulator.probe import _losses as losses
from mixedsched.world.emulator.probe import _plan as plan
from mixedsched.world.emulator.probe import _timing as timing
from mixedsched.world.emulator.probe._session import ProbedNetwork, ProbeExchange, probed
from mixedsched.world.emulator.probe.end import Sending
from mixedsched.world.emulator.probe.findings import LinkFinding, LinkVerdict, Quantity

SIDES = ("down", "up")
_ABSENT = re.compile(r"this kernel has no sch_(\w+)|sch_(\w+) is not loaded")  # as kernel/shaping.py notes it

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class LinkCheck:
    """All findings about one network."""

    link: str
    backend: str
    seed: int
    notes: tuple[str, ...]
    findings: tuple[LinkFinding, ...]

    @property
    def is_ok(self) -> bool:
        return all(finding.verdict is not LinkVerdict.OFF for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        return {
            "link": self.link,
            "backend": self.backend,
            "seed": self.seed,
            "ok": self.is_ok,
            "notes": list(self.notes),
            "findings": [finding.to_dict() for finding in self.findings],
        }


async def check_link(
    backend: Backend, profile: Profile, seed: int, progress: Progress, *, losses_s: float = plan.NUMBERS_S
) -> LinkCheck:
    """Measure a network that is up; takes about a minute.

    progress: called with each step and its duration in seconds. losses_s: for how long losses are counted; rare bursts need a
    long time. What the back end cannot do here is not judged.
    """
    lacks = _lacking(backend.notes)
    directions = {side: plan.as_emulated(getattr(profile, side), backend.name, lacks) for side in SIDES}
    async with probed(backend) as network:
        run = _Check(network, directions, profile.rtt_ms / 1000, seed, progress, lacks)
        findings = [
            *await run.delay(),
            *await run.rate_and_queue(),
            *await run.losses(losses_s, repeats=not any("takes no seed" in note for note in backend.notes)),
        ]
    order = {quantity: place for place, quantity in enumerate(dict.fromkeys(item.quantity for item in findings))}
    findings.sort(key=lambda item: (order[item.quantity], item.direction))
    return LinkCheck(profile.name, backend.name, seed, backend.notes, tuple(findings))


def _lacking(notes: tuple[str, ...]) -> dict[str, str]:
    """Parts of the kernel ("netem", "tbf", "codel") that are missing according to a back end's notes, each with the reason."""
    found = (match for note in notes for match in _ABSENT.finditer(note))
    return {match[1] or match[2]: match[0] for match in found}


@dataclass(frozen=True, slots=True)
class _Check:
    """The measurements of one network."""

    network: ProbedNetwork
    directions: Mapping[str, Direction]
    rtt_s: float
    seed: int
    progress: Progress
    lacks: Mapping[str, str]
    """Why parts of the kernel are missing."""

    async def delay(self) -> list[LinkFinding]:
        if why := self.lacks.get("netem"):
            return [
                Quantity(quantity, side, "ms").not_applicable(why)
                for quantity in ("one-way delay", "jitter")
                for side in SIDES
            ]
        exchange = await self._exchange("delay", plan.sparse)
        return [
            judge(exchange.arrivals[side], direction, side)
            for judge in (timing.delay_finding, timing.jitter_finding)
            for side, direction in self.directions.items()
        ]

    async def rate_and_queue(self) -> list[LinkFinding]:
        """Rates come from the saturated link if no packet is lost, and from trains if some are."""
        if why := self.lacks.get("tbf"):
            return [
                Quantity(quantity, side, "").not_applicable(why) for quantity in ("rate", "queue") for side in SIDES
            ]
        full = await self._exchange("a full queue", plan.saturated)
        trains = await self._exchange(
            "trains of packets",
            lambda direction: plan.trains(direction) if not self._counts_when_full(direction) else None,
        )
        findings = []
        for side, direction in self.directions.items():
            findings.append(self._rate(side, direction, full, trains))
            findings.append(self._queue(side, direction, full))
        return findings

    async def losses(self, duration_s: float, *, repeats: bool) -> list[LinkFinding]:
        quantities = ("loss", "burst length", "overtaking", "duplicates")
        if why := self.lacks.get("netem"):
            return [Quantity(quantity, side, "").not_applicable(why) for quantity in quantities for side in SIDES]
        exchange = await self._exchange("losses", lambda direction: plan.numbers(direction, duration_s))
        findings = []
        for side, direction in self.directions.items():
            arrivals, overflowed = exchange.arrivals[side], exchange.overflowed(side)
            findings.append(losses.loss_finding(arrivals, direction, side, overflowed))
            findings.append(losses.burst_finding(arrivals, direction, side, overflowed))
            findings.append(losses.overtaking_finding(arrivals, direction, side))
            findings.append(losses.duplicates_finding(arrivals, direction, side))
        if repeats:
            again = await self._exchange("the same seed again", plan.first_numbers)
            findings += [
                losses.repeat_finding(
                    exchange.arrivals[side],
                    again.arrivals[side],
                    side,
                    exchange.overflowed(side) + again.overflowed(side),
                )
                for side in SIDES
            ]
        return findings

    def _counts_when_full(self, direction: Direction) -> bool:
        """Whether every arrival from a full queue is the next one that left it."""
        is_whole = not direction.loss.mean_ratio and not direction.duplicate_ratio
        return direction.trace is not None or (
            is_whole and direction.codel is None and direction.queue_bytes is not None
        )

    def _rate(self, side: str, direction: Direction, full: ProbeExchange, trains: ProbeExchange) -> LinkFinding:
        rate = Quantity("rate", side, "bit/s")
        if direction.mean_rate_bps is None:
            return rate.not_applicable("the profile has no limit")
        if side in trains.arrivals:
            if dropped := trains.overflowed(side):
                return rate.not_applicable(f"{dropped} packets of the trains met a full queue")
            return timing.trains_rate_finding(trains.arrivals[side], direction, side)
        if side not in full.arrivals:
            return rate.not_applicable("a queue without a limit cannot be kept full")
        return timing.saturated_rate_finding(full.arrivals[side], direction, side)

    def _queue(self, side: str, direction: Direction, full: ProbeExchange) -> LinkFinding:
        whys = {
            "the profile has no limit": side not in full.arrivals,
            "CoDel drops before it is full": direction.codel is not None,
            "under a trace, how long it takes to drain says nothing": direction.trace is not None,
        }
        for why, applies in whys.items():
            if applies:
                return Quantity("queue", side, "packets").not_applicable(why)
        return timing.queue_finding(full.arrivals[side], direction, side)

    async def _exchange(self, step: str, planned: Callable[[Direction], Sending | None]) -> ProbeExchange:
        """Send what is planned for each direction; nothing is started if that is nothing."""
        sendings = {
            side: sending for side, direction in self.directions.items() if (sending := planned(direction)) is not None
        }
        if not sendings:
            return ProbeExchange({}, {})
        settled_s = max(plan.settled_s(self.directions[side]) for side in sendings)
        self.progress(step, settled_s + max(sending.duration_ns for sending in sendings.values()) / 1e9)
        return await self.network.exchange(self.seed, sendings, settled_s, self.rtt_s)
