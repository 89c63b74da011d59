"""How much memory this process has taken."""

from __future__ import annotations

import time

import psutil

_LOOK_EVERY_S = 0.25


class MemoryGuard:
    """Says when this process holds more than it may. Pages of mapped files do not count: the system can drop them.

    Where the system does not tell what a process holds (no /proc), the guard is off.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        try:
            self._process: psutil.Process | None = psutil.Process()
        except psutil.Error:
            self._process = None
        self._looked_at_s = float("-inf")
        self._is_full = False

    def is_full(self) -> bool:
        """Looks at most a few times a second."""
        now_s = time.monotonic()
        if self._process is not None and now_s >= self._looked_at_s + _LOOK_EVERY_S:
            self._looked_at_s = now_s
            info = self._process.memory_info()
            self._is_full = info.rss - getattr(info, "shared", 0) > self._limit_bytes
        return self._is_full
