"""How long the programs of a measurement had to wait for a processor: what this machine, not the network, did to a load."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NS_PER_MS = 1_000_000
_PROCESSES = Path("/proc")


def waited_ms(pid: int) -> float | None:
    """How long the first thread of a process has been ready to run without being let, since it began; None if nobody tells.

    Linux counts it as run-queue delay (/proc/PID/schedstat, Documentation/scheduler/sched-stats.rst).
    """
    try:
        words = (_PROCESSES / str(pid) / "schedstat").read_text(encoding="ascii").split()
        return int(words[1]) / _NS_PER_MS
    except (OSError, ValueError, IndexError):
        return None


class Waits:
    """How long some processes have waited since this was made. pids: by a name for each; None for one that is not there."""

    def __init__(self, pids: Mapping[str, int | None]) -> None:
        self._pids = dict(pids)
        self._before = self._now()

    def so_far_ms(self) -> dict[str, float | None]:
        """By name; None for a process that nobody tells of, at the beginning or now."""
        now = self._now()
        return {
            name: None if before is None or (after := now[name]) is None else round(after - before, 1)
            for name, before in self._before.items()
        }

    def _now(self) -> dict[str, float | None]:
        return {name: None if pid is None else waited_ms(pid) for name, pid in self._pids.items()}


def held_ms(punctuality: Mapping[str, Any], until_ms: float) -> float:
    """How long a relay has kept packets beyond their time until a moment of the load; where several were kept, counted once.

    punctuality: the relay's own account (emulator.relay.punctuality). until_ms: since the first datagram.
    """
    until_us = until_ms * 1000
    stalls = [(from_us, to_us) for from_us, to_us in punctuality.get("stalls_us", ()) if from_us < until_us]
    held_us: float = sum(min(to_us, until_us) - from_us for from_us, to_us in stalls)
    return held_us / 1000
