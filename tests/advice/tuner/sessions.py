"""Sessions that are simulated in this process, of a small shop, and what stops one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mixedsched.advice.tuner.job import Subject, TuneJob, TuneSurroundings
from mixedsched.advice.tuner.objective import parse_objective
from mixedsched.advice.tuner.result import Tuning
from mixedsched.advice.tuner.session import carry_out
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.task import Task
from mixedsched.model.browser_model import IDEAL
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.world import catalog
from tests.advice.replaying import Replaying
from tests.lab.scripted import Watching

IMAGE = {"kind": "image", "chromium_priority": "Low", "found_by": "html", "found_when": "bytes"}
PAGE = Page.from_dict(
    {
        "format": PAGE_FORMAT,
        "name": "shop",
        "resources": [
            {"id": "html", "path": "/", "kind": "document", "body_bytes": 3000, "found_when": "start", "flags": ["main"]},
            {"id": "a", "path": "/a.jpg", "body_bytes": 15_000, "found_at_bytes": 300, **IMAGE},
            {"id": "b", "path": "/b.jpg", "body_bytes": 15_000, "found_at_bytes": 400, **IMAGE},
            {"id": "hero", "path": "/hero.jpg", "body_bytes": 20_000, "found_at_bytes": 900,
             "flags": ["hero", "above_fold"], **IMAGE},
        ],
    },
    "test",
)  # fmt: skip


class Stopped(Replaying):
    """Plays as usual, until it has played so often: then someone presses Ctrl-C."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self._calls = calls

    def play(self, tasks: Sequence[Task]) -> list[PaintEstimate | None]:
        self._calls -= 1
        if self._calls < 0:
            raise KeyboardInterrupt
        return super().play(tasks)


def job_of(folder: Path, **changes: Any) -> TuneJob:
    facts: dict[str, Any] = {
        "subject": Subject("shop", "shop", PAGE, None, "d"),
        "networks": (catalog.load_profile("slow-4g"),), "objective": parse_objective("lcp", "mobile"), "schemes": ("eps",),
        "rung": "stack", "form_factor": "mobile", "budget_s": 600.0, "seed": 1, "penalty": 0.002, "model": IDEAL,
        "folder": folder, "versions": {"code": "under test"}, "candidates": 8,
    }  # fmt: skip
    return TuneJob(**{**facts, **changes})


def tuned(
    job: TuneJob,
    workers: Pool[PaintEstimate | None] | None = None,
    watching: Watching | None = None,
    spent_s: float = 0.0,
) -> Tuning:
    """With a clock that stands still. spent_s: of the budget."""
    world = TuneSurroundings(
        lambda: spent_s, 0.0, lambda _: None, watching or Watching(), lambda _: None, workers or Replaying()
    )
    return carry_out(job, world, {})
