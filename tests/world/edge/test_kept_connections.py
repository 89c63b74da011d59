"""Connections to the origin that must not be used again, and origins that answer before they have read the request."""

from __future__ import annotations

import asyncio
import signal
import socket
from unittest.mock import MagicMock

import pytest

from mixedsched.core.h3.response import RequestHead
from mixedsched.world.edge._pool import OriginPool
from mixedsched.world.edge.responder import Edge
from mixedsched.world.edge.rules import Rules
from mixedsched.world.edge.settings import Buffers, EdgeSettings, OriginAddress, OriginLimits
from tests.patience import until, wait_until
from tests.world.edge.commanding import FACTS, edge_command
from tests.world.edge.edging import (
    HOST,
    Edging,
    Origin,
    Script,
    answering,
    client_of,
    origin_running,
    plain,
    playing,
    run,
)
from tests.world.edge.pooling import Asking, silent

BOTH_LENGTHS = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n"


def test_what_comes_while_nothing_is_asked_for_is_never_taken_for_an_answer() -> None:
    """RFC 9112 section 6.3: such as the 408 with which servers close idle connections."""

    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).body == b"connection 1"
        idle.set()
        await said.wait()
        await asyncio.sleep(0.05)  # it is on its way
        assert (await edge.ask("GET", "/")).body == b"connection 2"

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            writer.write(plain(f"connection {origin.connections}".encode()))
            await idle.wait()
            writer.write(plain(b"forged", status="408 Request Timeout"))
            await writer.drain()
            said.set()
            await origin.read(reader)

        return play

    idle, said = asyncio.Event(), asyncio.Event()
    playing(script, test)


@pytest.mark.parametrize("last_words", [plain(b"forged", status="408 Request Timeout"), b""])
def test_nor_what_has_come_when_the_next_is_asked_for_and_was_not_read_yet(last_words: bytes) -> None:
    """Nor is a POST lost, which is not repeated, where the origin closes the connection in that very moment."""

    async def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.setblocking(False)
            pool = OriginPool(OriginAddress.parse(f"http://127.0.0.1:{server.getsockname()[1]}"), OriginLimits())
            loop = asyncio.get_running_loop()

            async def answered(asking: Asking) -> socket.socket:
                connection, _ = await loop.sock_accept(server)
                await loop.sock_recv(connection, 1000)
                connection.send(plain(b"connection"))
                await asking.is_over.wait()
                return connection

            first, second = Asking(), Asking()
            pool.ask(first)
            with await answered(first) as connection:
                connection.send(last_words)
                connection.shutdown(socket.SHUT_WR)
                (kept,) = pool._idle
                assert wait_until(lambda: kept.is_stale)  # without a turn of the event loop
                pool.ask(second)
                with await answered(second):
                    pool.close()
        assert (first.body, second.body) == (b"connection", b"connection")

    run(test)


def test_a_connection_whose_answer_was_refused_is_not_used_again() -> None:
    """RFC 9112 section 6.3: where a message ends that could be read in two ways, nobody knows."""

    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).status == 502
        assert (await edge.ask("GET", "/")).body == b"connection 2"

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            is_first = origin.connections == 1
            await origin.read(reader)
            writer.write(BOTH_LENGTHS + b"5\r\nhello\r\n0\r\n\r\n" if is_first else plain(b"connection 2"))
            await origin.read(reader)
            writer.write(plain(b"connection 1 again"))

        return play

    playing(script, test)


def test_an_origin_whose_answer_was_refused_is_not_read_any_more() -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).status == 502
        await until(lambda: edge.origin.lost)

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            writer.write(BOTH_LENGTHS)
            while True:
                writer.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
                await writer.drain()
                await asyncio.sleep(0.01)

        return play

    playing(script, test)


def test_uploads_that_wait_hold_up_no_other_request_of_their_client() -> None:
    """What is kept of them counts against the credit of the whole connection: there must be more than that of one stream."""
    size = 600_000

    async def test(edge: Edging) -> None:
        first = edge.client.begin("POST", "/", [("content-length", str(size))], ends=False)
        edge.client.send(first, bytes(1000))
        await until(lambda: edge.origin.connections)
        waiting = edge.client.begin("POST", "/", [("content-length", str(size))], ends=False)
        edge.client.send(waiting, bytes(size), ends=True)  # the only connection to the origin is taken
        await asyncio.sleep(0.2)
        edge.client.send(first, bytes(size - 1000), ends=True)
        assert [(await edge.client.got[item].whole()).status for item in (first, waiting)] == [200, 200]

    playing(lambda origin: answering(origin, plain()), test, limits=OriginLimits(connections=1))


@pytest.mark.parametrize("keeps", [True, False])
def test_an_answer_before_the_upload_is_there_reaches_the_client(keeps: bool) -> None:
    """RFC 9112 section 9.3 and RFC 9114 section 4.1. An origin that closes resets what is still being sent to it."""

    async def test(edge: Edging) -> None:
        for _ in range(5):
            stream_id = edge.client.begin("POST", "/", [("content-length", "10000000")], ends=False)
            edge.client.send(stream_id, bytes(1_000_000))
            got = await edge.client.got[stream_id].whole()
            assert (got.status, bytes(got.body), got.is_ended) == (413, b"too large", True)

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(plain(b"too large", *([] if keeps else ["connection: close"]), status="413 Too Large"))
            await writer.drain()
            if keeps:
                await reader.read()

        return play

    playing(script, test, limits=OriginLimits(connections=1))


@pytest.mark.slow
def test_an_answered_request_whose_upload_does_not_end_does_not_delay_the_end() -> None:
    """The client is asked to send no more (RFC 9114 section 4.1), and the edge does not wait for it until its grace is over."""

    async def play() -> None:
        origin = Origin()
        async with origin_running(origin, early(origin)):
            options = ["--origin", origin.url, "--host", HOST, "--grace", "1000s"]
            with edge_command(*options) as (process, first):
                async with client_of(FACTS.validate_python(first)) as client:
                    stream_id = client.begin("POST", "/", [("content-length", "10000000")], ends=False)
                    client.send(stream_id, bytes(100_000))
                    assert (await client.got[stream_id].whole()).status == 413
                    process.send_signal(signal.SIGTERM)
                    assert await asyncio.to_thread(process.wait, 30) == 0

    def early(origin: Origin) -> Script:
        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            origin.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(plain(b"too large", status="413 Content Too Large"))
            await reader.read()

        return script

    run(play)


def test_a_request_that_is_refused_while_it_waits_does_not_reach_the_origin() -> None:
    async def play() -> None:
        async with origin_running(Origin(), silent) as origin:
            settings = EdgeSettings(origin.url, limits=OriginLimits(connections=1), buffers=Buffers(request_bytes=1000))
            async with Edge(settings, (HOST,), Rules(), MagicMock()) as edge:
                reply = MagicMock(client="192.0.2.7")
                edge.begin(RequestHead("GET", HOST, "/", []), reply).end([])
                upload = edge.begin(RequestHead("POST", HOST, "/", []), reply)
                upload.receive(bytes(500))
                assert edge.pool.waiting == 2
                upload.receive(bytes(501))
                assert reply.answer.call_args.args[0].status == 413
                assert edge.pool.waiting == 1

    run(play)


def test_a_body_that_comes_in_single_bytes_waits_and_leaves_in_one_piece() -> None:
    """Pieces would take forty times the memory that the client's credit allows, and minutes to send one by one."""

    async def play() -> None:
        async with Edge(EdgeSettings("http://127.0.0.1:1"), (HOST,), Rules(), MagicMock()) as edge:
            reply, stream = MagicMock(client="192.0.2.7"), MagicMock()
            upload = edge.begin(RequestHead("POST", HOST, "/", []), reply)
            for number in range(10_000):
                upload.receive(bytes([number % 256]))
            upload.connected(stream)  # type: ignore[attr-defined]
            await asyncio.sleep(0)
            stream.send.assert_called_once_with(bytes(number % 256 for number in range(10_000)))
            reply.took.assert_called_once_with(10_000)

    run(play)
