"""What is held of a response between the origin and its client: counted once, let go once, and in order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from mixedsched.core.h3._frames import FrameReader
from mixedsched.world.edge._budget import Budget
from mixedsched.world.edge._inflow import Inflow
from mixedsched.world.edge.settings import Buffers
from tests.world.edge.edging import run


@pytest.mark.parametrize("read_bytes", [0, 2, 10, 1000])
def test_trailers_give_back_no_more_than_was_held(read_bytes: int) -> None:
    async def test() -> None:
        budget = Budget(1000)
        inflow = Inflow(MagicMock(), budget, Budget(0), Buffers(), 0, MagicMock())
        inflow.feed(b"content")
        assert budget.held_bytes == inflow.body.remaining_bytes
        inflow.end(lambda: inflow.body.end(b"trailers"))
        inflow.body.read(read_bytes)
        inflow.body.close()
        assert budget.held_bytes == 0

    run(test)


def test_what_does_not_fit_into_the_spool_any_more_still_comes_behind_what_is_there(tmp_path: Path) -> None:
    """The client reads in pieces while the origin goes on, which is paused when the file is full and then sends what was on
    its way."""

    async def test() -> None:
        stream = MagicMock()
        inflow = Inflow(stream, *budgets(), Buffers(spool=tmp_path, spool_bytes=150_000), 0, MagicMock())
        sent, got = b"", b""
        for number in range(20):
            part = bytes([number]) * 20_000
            sent += part
            inflow.feed(part)
            assert stream.pause.called == (number >= 11), "4 parts in memory, 8 in the file"
        inflow.end(inflow.body.end)
        while inflow.body.remaining_bytes:
            got += inflow.body.read(10_000)
            await asyncio.sleep(0)
        assert content_of(got) == sent
        assert inflow.body.is_ended

    run(test)


def test_an_origin_that_was_paused_for_a_full_spool_goes_on_when_it_is_read(tmp_path: Path) -> None:
    async def test() -> None:
        stream = MagicMock()
        inflow = Inflow(stream, *budgets(), Buffers(spool=tmp_path, spool_bytes=50_000), 0, MagicMock())
        for _ in range(4):
            inflow.feed(bytes(70_000))
        assert stream.pause.called
        while inflow.body.remaining_bytes:
            assert not stream.resume.called or inflow.body.remaining_bytes < 70_000
            inflow.body.read(10_000)
            await asyncio.sleep(0)
        assert stream.resume.called

    run(test)


def test_where_all_files_together_have_no_room_an_origin_waits_as_without_a_spool(tmp_path: Path) -> None:
    async def test() -> None:
        both, buffers = budgets(spooled_bytes=100_000), Buffers(spool=tmp_path)
        streams = [MagicMock(), MagicMock()]
        first, second = (Inflow(stream, *both, buffers, 0, MagicMock()) for stream in streams)
        for _ in range(3):
            first.feed(bytes(70_000))
        assert streams[0].pause.called, "its file is all that there may be"
        sent, got = b"", b""
        for number in range(3):
            part = bytes([number]) * 70_000
            sent += part
            second.feed(part)
        assert streams[1].pause.called
        assert both[1].held_bytes == 140_000, "what was on its way stays in memory"
        second.end(second.body.end)
        while second.body.remaining_bytes:
            got += second.body.read(10_000)
            await asyncio.sleep(0)
        assert content_of(got) == sent
        first.body.close()
        assert [budget.held_bytes for budget in both] == [0, 0]

    run(test)


def test_an_origin_that_was_paused_for_want_of_room_goes_on_when_its_client_has_read(tmp_path: Path) -> None:
    async def test() -> None:
        stream = MagicMock()
        inflow = Inflow(stream, *budgets(spooled_bytes=0), Buffers(spool=tmp_path), 0, MagicMock())
        inflow.feed(bytes(70_000))
        assert stream.pause.called
        while inflow.body.remaining_bytes:
            inflow.body.read(10_000)
            await asyncio.sleep(0)
        assert stream.resume.called

    run(test)


def budgets(spooled_bytes: int = 10_000_000) -> tuple[Budget, Budget]:
    """Of what is in memory, and in files."""
    return Budget(10_000_000), Budget(spooled_bytes)


def content_of(stream: bytes) -> bytes:
    """What the DATA frames of a response's stream hold."""
    reader, content = FrameReader(), b""
    reader.feed(stream)
    while reader.head() is not None:
        content += reader.payload() or b""
    return content
