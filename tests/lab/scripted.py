"""A plan, and a laboratory whose loads are written down beforehand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mixedsched.lab.model import Arm, Plan, Run, RunStatus
from mixedsched.lab.plan import make_plan
from mixedsched.world.store import Store


def plan(labels: str = "AB", blocks: int = 8, seed: int = 1, **changes: Any) -> Plan:
    arguments: dict[str, Any] = {
        "site": "s",
        "site_digest": "d",
        "link": "4g",
        "link_facts": {"down": {}},
        "form_factor": "mobile",
        "arms": [Arm(label, label) for label in labels],
        "baseline": labels[:1],
        "primary": ["lcp_ms"],
        "seed": seed,
        "blocks": blocks,
    }
    return make_plan(**{**arguments, **changes})


class InterruptedRunError(Exception):
    """Stands for Ctrl-C, or for a power cut."""


class ScriptedLab:
    """A laboratory without browser: fate(arm, block, attempt) says how a run ends; it can be interrupted at the n-th run."""

    def __init__(
        self, fate: Callable[[str, int, int], RunStatus] | None = None, interrupt_at: int | None = None
    ) -> None:
        self.fate = fate or (lambda *_: RunStatus.OK)
        self.interrupt_at = interrupt_at
        self.made: list[Run] = []
        self.seeds: list[int] = []

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        if len(self.made) == self.interrupt_at:
            raise InterruptedRunError
        self.seeds.append(link_seed)
        status = self.fate(arm, block, attempt)
        self.made.append(Run(block, attempt, arm, position, status, reason="" if status is RunStatus.OK else "broken"))
        return self.made[-1]


class Silent:
    def before(self, arm: str, block: int, warm_up: bool, left: int) -> None: ...
    def after(self, run: Run, left: int) -> None: ...


def store_in(folder: Path) -> Store:
    return Store(f"sqlite:///{folder / 'results.sqlite'}")


class Watching:
    """Counts runs."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def before(self, arm: str, block: int, warm_up: bool, left: int) -> None:
        pass

    def after(self, run: Run, left: int) -> None:
        self.runs.append(run)

    @contextlib.contextmanager
    def __call__(self, _left: int) -> Iterator[Watching]:
        yield self
