"""Simulated loads that tests share."""

from __future__ import annotations

from collections.abc import Sequence

from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.task import PaintReader, SchemeChoice, Task

_PLAYED: dict[tuple[str, SchemeChoice, int], PaintEstimate | None] = {}


class Replaying(Pool[PaintEstimate | None]):
    """Plays in this process, and no load twice: what is tested is who asks for which, and what becomes of the answers."""

    def __init__(self) -> None:
        super().__init__(PaintReader, 1)

    def play(self, tasks: Sequence[Task]) -> list[PaintEstimate | None]:
        keys = [(task.scenario.digest, task.scheme, task.seed) for task in tasks]
        new = {key: task for key, task in zip(keys, tasks, strict=True) if key not in _PLAYED}
        _PLAYED.update(zip(new, super().play(list(new.values())), strict=True))
        return [_PLAYED[key] for key in keys]
