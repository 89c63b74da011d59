"""WebSockets through the edge (RFC 9220): extended CONNECT from the client, an upgrade at the origin (RFC 6455)."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import socket
import ssl
import struct
from base64 import b64encode
from pathlib import Path

import pytest

from mixedsched.core.h3.certificate import make_certificate
from mixedsched.core.h3.codes import ErrorCode
from mixedsched.world.edge.settings import Buffers
from tests.patience import until
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


def test_what_comes_right_behind_the_handshake_comes_once_however_often_the_origin_is_paused() -> None:
    sent = b"".join(index.to_bytes(4, "big") for index in range(100_000))

    async def test(edge: Edging) -> None:
        got = edge.client.got[edge.client.begin("CONNECT", "/ws", ends=False, protocol="websocket")]
        await got.whole()
        assert got.body == sent

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(opened(await origin.read(reader)) + sent)
            await writer.drain()

        return play

    playing(script, test, buffers=Buffers(window_bytes=20_000))


@pytest.mark.parametrize("is_secure", [False, True])
def test_a_client_that_ends_its_websocket_ends_it_at_the_origin_which_may_still_answer(
    tmp_path: Path, is_secure: bool
) -> None:
    """A FIN is an orderly end (RFC 9220 section 3). TLS has no half of a connection to close: the origin has a second."""
    heard: list[bytes] = []

    async def test(edge: Edging) -> None:
        stream_id = edge.client.begin("CONNECT", "/ws", ends=False, protocol="websocket")
        got = edge.client.got[stream_id]
        await got.until(lambda: bool(got.head))
        edge.client.send(stream_id, b"bye", ends=True)
        await got.whole()
        assert (got.reset, bytes(got.body)) == (None, b"BYE" if is_secure else b"BYE.")
        await until(lambda: len(heard) == 2)
        assert heard == [b"bye", b""]

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(opened(await origin.read(reader)))
            heard.append(await reader.readexactly(3))
            writer.write(b"BYE")
            heard.append(await reader.read())
            writer.write(b".")

        return play

    context = own_context(tmp_path) if is_secure else None
    playing(script, test, tls=context)


def own_context(folder: Path) -> ssl.SSLContext:
    """A certificate that nobody trusts."""
    file = folder / "origin.pem"
    file.write_text(make_certificate(["localhost"], dt.datetime.now(dt.UTC)).to_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
