"""Files that may change while a server runs."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

_LOOK_S = 1.0


class FileWatch:
    """Looks at files once a second, and calls back when any has changed. Stop it at the end."""

    def __init__(self, paths: Iterable[Path], changed: Callable[[], None]) -> None:
        self._paths = tuple(paths)
        self._changed = changed
        self._stamps = self._look()
        self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._tick) if self._paths else None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._tick)
        stamps = self._look()
        if stamps != self._stamps:
            self._stamps = stamps
            self._changed()

    def _look(self) -> list[tuple[int, int, int] | None]:
        stamps: list[tuple[int, int, int] | None] = []
        for path in self._paths:
            try:
                found = path.stat()
                stamps.append((found.st_mtime_ns, found.st_size, found.st_ino))
            except OSError:
                stamps.append(None)
        return stamps
