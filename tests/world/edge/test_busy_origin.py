"""An origin that takes no more connections, and goes on over those it has: it is busy or being replaced, not down."""

from __future__ import annotations

import asyncio

from tests.world.edge.edging import Edging, Origin, Script, plain, playing


def long_and_short(origin: Origin) -> Script:
    """An answer that goes on until the origin is told to end it; all others are short."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await origin.read(reader):
            if "/long" not in head:
                writer.write(plain())
                continue
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            while not origin.is_over:
                writer.write(b"1\r\n.\r\n")
                await asyncio.sleep(0.02)
            writer.write(b"0\r\n\r\n")

    return play


def test_what_finds_no_connection_fails_and_others_use_those_that_there_are() -> None:
    async def test(edge: Edging) -> None:
        long = edge.client.got[edge.client.begin("GET", "/long")]
        await long.until(lambda: bool(long.body))
        edge.origin.take_no_more()
        assert (await edge.ask("GET", "/a")).status == 502
        edge.origin.is_over = True
        await long.whole()
        got = await edge.ask("GET", "/b")
        assert (long.status, got.status, got.body) == (200, 200, b"hello")
        assert edge.origin.connections == 1

    playing(long_and_short, test)
