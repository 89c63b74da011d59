"""WebSockets through the edge (RFC 9220): extended CONNECT from the client, an upgrade at the origin (RFC 6455)."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import struct
from base64 import b64encode

import pytest

from mixedsched.core.h3.codes import ErrorCode
from tests.world.edge.edging import Edging, Origin, Script, answering, plain, playing


def opened(asked: str, *more: str) -> bytes:
    """The answer of an origin that opens the WebSocket it was asked for."""
    key = next(
        line.partition(":")[2].strip() for line in asked.splitlines() if line.lower().startswith("sec-websocket-key:")
    )
    accept = b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()
    lines = ("upgrade: websocket", "connection: upgrade", f"sec-websocket-accept: {accept}", *more)
    return "\r\n".join(("HTTP/1.1 101 Switching Protocols", *lines, "", "")).encode()


def test_a_websocket_is_a_tunnel_to_the_origin() -> None:
    async def test(edge: Edging) -> None:
        fields = [("sec-websocket-version", "13"), ("sec-websocket-protocol", "chat")]
        stream_id = edge.client.begin("CONNECT", "/ws", fields, ends=False, protocol="websocket")
        got = edge.client.got[stream_id]
        await got.until(lambda: bool(got.head))
        assert (got.status, got["sec-websocket-protocol"], got["sec-websocket-accept"]) == (200, ["chat"], [])
        edge.client.send(stream_id, b"ping")
        await got.until(lambda: got.body == b"PING")
        edge.client.send(stream_id, b"bye", ends=True)
        await got.whole()
        assert got.body == b"PINGBYE"

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked = await origin.read(reader)
            head = asked.lower()
            assert head.startswith("get /ws http/1.1\r\n")
            assert "upgrade: websocket\r\n" in head
            assert "connection: upgrade\r\n" in head
            assert "sec-websocket-key: " in head
            writer.write(opened(asked, "sec-websocket-protocol: chat"))
            while data := await reader.read(100):
                writer.write(data.upper())

        return play

    playing(script, test)


def test_what_a_client_sends_before_its_websocket_is_open_waits_for_that() -> None:
    async def test(edge: Edging) -> None:
        stream_id = edge.client.begin("CONNECT", "/ws", ends=False, protocol="websocket")
        edge.client.send(stream_id, b"early", ends=True)
        assert (await edge.client.got[stream_id].whole()).body == b"EARLY"

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked = await origin.read(reader)
            await asyncio.sleep(0.05)
            writer.write(opened(asked))
            writer.write((await reader.read()).upper())

        return play

    playing(script, test)


@pytest.mark.parametrize("field", ["", "sec-websocket-accept: dGhlIHNhbXBsZSBub25jZQ==\r\n"])
def test_a_websocket_is_not_open_where_the_origin_has_not_understood_the_handshake(field: str) -> None:
    async def test(edge: Edging) -> None:
        got = edge.client.got[edge.client.begin("CONNECT", "/ws", ends=False, protocol="websocket")]
        assert ((await got.whole()).status, got.body) == (502, b"")

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            head = f"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n{field}\r\n"
            writer.write(head.encode())
            await reader.read()

        return play

    playing(script, test)


def test_a_websocket_that_the_origin_does_not_open_is_not_open_for_the_client() -> None:
    async def test(edge: Edging) -> None:
        got = edge.client.got[edge.client.begin("CONNECT", "/ws", ends=False, protocol="websocket")]
        assert ((await got.whole()).status, got.body) == (502, b"")

    playing(lambda origin: answering(origin, plain(b"a page")), test)


def test_a_refused_websocket_is_answered_as_the_origin_did() -> None:
    async def test(edge: Edging) -> None:
        got = edge.client.got[edge.client.begin("CONNECT", "/ws", ends=False, protocol="websocket")]
        assert ((await got.whole()).status, got.body) == (403, b"hello")

    playing(lambda origin: answering(origin, plain(status="403 Forbidden")), test)


def test_a_websocket_that_breaks_off_at_the_origin_is_cancelled() -> None:
    """RFC 9220 section 3."""

    async def test(edge: Edging) -> None:
        got = edge.client.got[edge.client.begin("CONNECT", "/ws", ends=False, protocol="websocket")]
        await got.until(lambda: got.reset is not None)
        assert (got.status, got.reset) == (200, ErrorCode.H3_REQUEST_CANCELLED)

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(opened(await origin.read(reader)))
            await writer.drain()
            linger = struct.pack("ii", 1, 0)  # closing resets the connection
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

        return play

    playing(script, test)
