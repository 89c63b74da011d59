"""An origin that takes no more connections, and goes on over those it has: it is busy or being replaced, not down."""

from __future__ import annotations

import asyncio

import pytest

from mixedsched.world.edge import settings
from mixedsched.world.edge._http1 import Http1Connection
from mixedsched.world.edge._http2 import Http2Connection
from mixedsched.world.edge._pool import OriginPool
from mixedsched.world.edge.settings import OriginAddress, OriginLimits
from tests.world.edge.edging import LIMIT_S, Edging, Origin, Script, origin_running, plain, playing, run
from tests.world.edge.pooling import Asking, silent


def long_and_short(origin: Origin) -> Script:
    """An answer that goes on until the origin is told to end it, one that is late until then, and short ones."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await origin.read(reader):
            if "/long" in head:
                writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            while "/short" not in head and not origin.is_over:
                if "/long" in head:
                    writer.write(b"1\r\n.\r\n")
                await asyncio.sleep(0.02)
            writer.write(b"0\r\n\r\n" if "/long" in head else plain())

    return play


@pytest.mark.parametrize("path", ["/long", "/late"])
def test_what_finds_no_connection_fails_and_others_use_those_that_there_are(path: str) -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/short")).status == 200
        long = edge.client.got[edge.client.begin("GET", path)]
        await edge.origin.asked(2)
        edge.origin.take_no_more()
        assert (await edge.ask("GET", "/short")).status == 502
        edge.origin.is_over = True
        await long.whole()
        got = await edge.ask("GET", "/short")
        assert (long.status, got.status, got.body) == (200, 200, b"hello")
        assert edge.origin.connections == 1

    playing(long_and_short, test)


def test_a_connection_that_is_there_ends_the_pause_behind_one_that_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAUSE_MIN_S", "PAUSE_MAX_S"):
        monkeypatch.setattr(settings, name, 10 * LIMIT_S)
    opened = OriginPool._open
    is_refused = iter([True, False, False])

    async def opening(self: OriginPool, *, only_http1: bool) -> Http1Connection | Http2Connection:
        if next(is_refused):
            raise ConnectionRefusedError("no")
        return await opened(self, only_http1=only_http1)

    async def test() -> None:
        async with origin_running(Origin(), silent) as origin, asyncio.timeout(LIMIT_S):
            pool = OriginPool(OriginAddress.parse(origin.url), OriginLimits())
            first = [Asking(), Asking()]
            for waiter in first:
                pool.ask(waiter)
            for waiter in first:
                await waiter.is_failed.wait()
            while pool.is_down:
                await asyncio.sleep(0)
            second = [Asking(), Asking()]
            for waiter in second:
                pool.ask(waiter)
            for waiter in second:
                await waiter.is_begun.wait()
            pool.close()

    monkeypatch.setattr(OriginPool, "_open", opening)
    run(test)
