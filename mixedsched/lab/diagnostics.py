"""Possible explanations of an arm's numbers: loads that this machine held up, requests that the site could not answer."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mixedsched.lab.model import Run, RunStatus

_NS_PER_MS = 1_000_000
_PROCESSES = Path("/proc")


def waited_ms(pid: int) -> float | None:
    """How long the first thread of a process has been ready to run without being let, since it began.

    None where the system does not tell. Linux counts it as run-queue delay (/proc/PID/schedstat; see
    Documentation/scheduler/sched-stats.rst).
    """
    try:
        words = (_PROCESSES / str(pid) / "schedstat").read_text(encoding="ascii").split()
        return int(words[1]) / _NS_PER_MS
    except (OSError, ValueError, IndexError):
        return None


class Waits:
    """How long some processes have waited since this was made. pids: by name; None for a process that is not there."""

    def __init__(self, pids: Mapping[str, int | None]) -> None:
        self._pids = dict(pids)
        self._before = self._now()

    def so_far_ms(self) -> dict[str, float | None]:
        """By name; None for a process of which nothing is known, at the beginning or now."""
        now = self._now()
        return {
            name: None if before is None or (after := now[name]) is None else round(after - before, 1)
            for name, before in self._before.items()
        }

    def _now(self) -> dict[str, float | None]:
        return {name: None if pid is None else waited_ms(pid) for name, pid in self._pids.items()}


def held_ms(punctuality: Mapping[str, Any], until_ms: float) -> float:
    """How long a relay has kept packets beyond their time until a moment of the load; overlaps count once.

    punctuality: the relay's own account (emulator/relay/_punctuality.py). until_ms: since the first datagram.
    """
    until_us = until_ms * 1000
    stalls = [(from_us, to_us) for from_us, to_us in punctuality.get("stalls_us", ()) if from_us < until_us]
    held_us: float = sum(min(to_us, until_us) - from_us for from_us, to_us in stalls)
    return held_us / 1000


@dataclass(frozen=True, slots=True)
class HeldUp:
    """By how much this machine delayed an arm's loads, those that count. Medians; None where nothing was recorded."""

    arm: str
    relay_ms: float | None  # how long packets were kept beyond their time before the largest paint
    relay_most_ms: float | None  # the same in the load that was delayed most
    server_ms: float | None  # how long the server waited for a processor during the load
    worker_ms: float | None  # how long the browser's worker did

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def held_up_of(runs: Sequence[Run], arms: Sequence[str]) -> list[HeldUp]:
    """A row for each arm, in their order."""
    return [_held_up(arm, [run for run in runs if run.arm == arm and run.status is RunStatus.OK]) for arm in arms]


def _held_up(arm: str, runs: Sequence[Run]) -> HeldUp:
    accounts = [(run.relay.get("punctuality"), run.observed_ms("lcp_ms")) for run in runs]
    kept_ms = [
        held_ms(account, lcp_ms)
        for account, lcp_ms in accounts
        if account and "stalls_us" in account and lcp_ms is not None
    ]
    return HeldUp(
        arm,
        relay_ms=_median(kept_ms),
        relay_most_ms=max(kept_ms, default=None),
        server_ms=_median(run.waited_ms.get("server") for run in runs),
        worker_ms=_median(run.waited_ms.get("worker") for run in runs),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(statistics.median(known), 1) if known else None


@dataclass(frozen=True, slots=True)
class Misses:
    """An arm's requests that were answered with 404 because the site has nothing for them.

    Then the page was not recorded, copied or merged as a whole.
    """

    arm: str
    runs: int  # those that count
    missing_runs: int  # of these, with a miss
    requests: tuple[tuple[str, int], ...]  # in how many runs each was missed, most first

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "requests": [{"request": text, "runs": runs} for text, runs in self.requests]}


def misses_of(runs: Sequence[Run], arms: Sequence[str]) -> list[Misses]:
    """The arms that missed anything in a run that counts, in their order."""
    found = []
    for arm in arms:
        good = [run for run in runs if run.arm == arm and run.status is RunStatus.OK]
        counts: dict[str, int] = {}
        for run in good:
            for request in dict.fromkeys(request for request in run.misses if not _is_source_map(request)):
                counts[request] = counts.get(request, 0) + 1
        if counts:
            ordered = tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
            found.append(Misses(arm, len(good), sum(not all(map(_is_source_map, run.misses)) for run in good), ordered))
    return found


def _is_source_map(request: str) -> bool:
    """Lighthouse asks for source maps after the load; no page needs them."""
    return request.partition("?")[0].endswith(".map")
