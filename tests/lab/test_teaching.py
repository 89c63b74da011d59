"""Lessons of an arm that learns: what was interrupted goes on where it stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mixedsched.lab import _teaching as teaching
from mixedsched.world.store import open_memory
from tests.core.learning.visits import visit


class Lessons:
    """Visits that are stored at once, up to an interruption."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.seeds: list[int] = []
        self.left = 1000

    @asynccontextmanager
    async def server(self) -> AsyncIterator[Any]:
        yield None

    async def visit(self, _: Any, seed: int) -> None:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.seeds.append(seed)
        with open_memory(self.file) as store:
            store.change("/", time.time(), lambda state: state.learn(visit()))

    def take_place(self) -> None:
        asyncio.run(teaching.teach(self.file, self.server, self.visit, lambda _: None))

    @property
    def wanted(self) -> list[str]:
        """Pages whose orders are still to be searched."""
        with open_memory(self.file) as store:
            return store.wanting_thought()


@pytest.fixture
def lessons(tmp_path: Path) -> Lessons:
    return Lessons(tmp_path / "memory.sqlite")


ALL_SEEDS = [teaching.LINK_SEEDS_FROM + number for number in range(teaching.VISITS)]


def test_visits_that_were_interrupted_go_on_over_the_links_that_are_missing(lessons: Lessons) -> None:
    lessons.left = 3
    with pytest.raises(KeyboardInterrupt):
        lessons.take_place()
    assert lessons.seeds == ALL_SEEDS[:3]
    lessons.left = 1000
    lessons.take_place()
    assert lessons.seeds == ALL_SEEDS
    lessons.take_place()
    assert lessons.seeds == ALL_SEEDS


def test_orders_are_searched_even_if_an_earlier_start_ended_behind_its_last_visit(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(teaching, "think_once", killed)
        with pytest.raises(SystemExit):
            lessons.take_place()
    assert lessons.wanted == ["/"]
    lessons.take_place()
    assert lessons.seeds == ALL_SEEDS
    assert lessons.wanted == []
