"""A worker that is there whenever it is wanted, whatever happened to the one before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mixedsched.world.browser.find import find_chromium, find_node, find_package
from mixedsched.world.browser.profiles import sweep_profile_dirs
from mixedsched.world.browser.worker import Worker
from mixedsched.world.system.precedence import Courtesy


class KeptWorker:
    """Between open() and close() it has a living worker on demand, and one at most.

    package_dir: the npm package (default: the one beside the Python package). temp_dir: where profiles go (default: the
    system's). prefix: words before the worker's command, such as those that enter a network namespace. courtesy: how worker and
    browser give way to other programs.
    """

    def __init__(
        self,
        package_dir: Path | None,
        temp_dir: Path | None,
        prefix: Sequence[str],
        courtesy: Courtesy = Courtesy.NONE,
    ) -> None:
        self._package_dir = package_dir
        self._temp_dir = temp_dir
        self._prefix = tuple(prefix)
        self._courtesy = courtesy
        self._parts: tuple[Path, Path, Path] | None = None
        self._worker: Worker | None = None

    def open(self) -> None:
        """Raises MissingPartError if Chromium, Node or the package is missing."""
        self._parts = (find_node(), find_package(self._package_dir), find_chromium())
        sweep_profile_dirs(self._temp_dir)

    @property
    def worker(self) -> Worker | None:
        """The present one; None while none lives."""
        return self._worker if self._worker is not None and self._worker.is_alive else None

    async def living(self) -> Worker:
        """The present one, or a new one."""
        assert self._parts is not None, "it is used outside its `async with` block"
        if self._worker is not None and not self._worker.is_alive:
            await self.discard()
        if self._worker is None:
            self._worker = await Worker.start(*self._parts, self._prefix, self._courtesy)
        return self._worker

    async def discard(self) -> None:
        """End the present one with its browser, so that nothing of it reaches the next load."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()

    async def close(self) -> None:
        """End the present one for good."""
        await self.discard()
        self._parts = None
