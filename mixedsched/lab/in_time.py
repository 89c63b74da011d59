"""An experiment within a budget of time: no run begins when it is up."""

from __future__ import annotations

from collections.abc import Callable

from mixedsched.lab.engine import Laboratory
from mixedsched.lab.model import Run


class TimeIsUp(Exception):  # noqa: N818 - no error: what is stored counts, and the same command goes on
    """The time is up before the next run."""


class InTime:
    """A laboratory that begins no run when the time is up."""

    def __init__(self, laboratory: Laboratory, has_time: Callable[[], bool]) -> None:
        self._laboratory = laboratory
        self._has_time = has_time

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        """As the laboratory's. Raises TimeIsUp."""
        if not self._has_time():
            raise TimeIsUp
        return await self._laboratory.run(arm=arm, block=block, attempt=attempt, position=position, link_seed=link_seed)
