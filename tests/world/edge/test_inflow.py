"""What is held of a response between the origin and its client is counted once, and let go once."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest

from mixedsched.world.edge._budget import Budget
from mixedsched.world.edge._inflow import Inflow
from mixedsched.world.edge.settings import Buffers
from tests.world.edge.edging import run


@pytest.mark.parametrize("read_bytes", [0, 2, 10, 1000])
def test_trailers_give_back_no_more_than_was_held(read_bytes: int) -> None:
    async def test() -> None:
        budget = Budget(1000)
        inflow = Inflow(MagicMock(), budget, Buffers(), 0, MagicMock())
        inflow.feed(b"content")
        assert budget.held_bytes == inflow.body.remaining_bytes
        inflow.end(lambda: inflow.body.end(b"trailers"))
        inflow.body.read(read_bytes)
        inflow.body.close()
        assert budget.held_bytes == 0

    run(test)
