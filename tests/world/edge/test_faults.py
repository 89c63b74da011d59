"""An origin that is down, slow, broken or lying, and clients that want too much: what clients get, and what the edge keeps."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from mixedsched.world.edge.settings import Buffers, OriginLimits
from tests.patience import until
from tests.world.edge.edging import Edging, Origin, Script, answering, edging, origin_running, plain, playing, run

INTERNAL_ERROR, REQUEST_CANCELLED = 0x102, 0x10C


def closed_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def saying(origin: Origin, data: bytes, *, then_resets: bool = False) -> Script:
    """Answers each connection's first request with these bytes, and closes it."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await origin.read(reader)
        writer.write(data)
        await writer.drain()
        if then_resets:
            await asyncio.sleep(0.1)
            writer.transport.abort()

    return script


def silent(origin: Origin) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await origin.read(reader)
        await asyncio.sleep(60)

    return script


def test_an_origin_that_is_down_gives_502_and_clients_are_not_told_why() -> None:
    async def test(edge: Edging) -> None:
        got = await edge.ask("GET", "/")
        assert (got.status, got.body, [name for name, _ in got.head]) == (502, b"", [":status", "content-length"])

    playing(silent, test, origin=f"http://127.0.0.1:{closed_port()}")


def test_while_the_origin_is_down_requests_fail_at_once_and_it_is_used_again_when_it_is_back() -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).status == 502
        origin = Origin(port=port)
        async with origin_running(origin, answering(origin, plain())):
            while (got := await edge.ask("GET", "/")).status == 502:
                await asyncio.sleep(0.05)
            assert got.body == b"hello"

    port = closed_port()
    playing(silent, test, origin=f"http://127.0.0.1:{port}")


def test_an_origin_that_does_not_answer_in_time_gives_504() -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).status == 504
        await asyncio.sleep(0)
        assert edge.log.requests[0].complete

    playing(silent, test, limits=OriginLimits(answer_s=0.2))


def test_a_websocket_that_is_not_opened_in_time_gives_504() -> None:
    async def test(edge: Edging) -> None:
        stream_id = edge.client.begin("CONNECT", "/ws", ends=False, protocol="websocket")
        assert (await edge.client.got[stream_id].whole()).status == 504

    playing(silent, test, limits=OriginLimits(answer_s=0.2))


def test_a_response_that_falls_silent_is_cut_off() -> None:
    async def test(edge: Edging) -> None:
        got = await edge.ask("GET", "/")
        assert (got.status, got.reset, got.is_ended) == (200, INTERNAL_ERROR, False)

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")
            await asyncio.sleep(60)

        return play

    playing(script, test, limits=OriginLimits(silence_s=0.3))


@pytest.mark.parametrize("resets", [False, True])
def test_a_response_that_ends_too_early_is_cut_off_and_never_passes_for_whole(resets: bool) -> None:
    async def test(edge: Edging) -> None:
        got = await edge.ask("GET", "/")
        assert (got.status, got.reset, got.is_ended) == (200, INTERNAL_ERROR, False)
        assert not edge.log.requests[0].complete

    data = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"
    playing(lambda origin: saying(origin, data, then_resets=resets), test)


def test_a_chunked_response_that_ends_without_its_last_chunk_is_cut_off() -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).reset == INTERNAL_ERROR

    playing(lambda origin: saying(origin, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"), test)


def test_what_follows_an_answer_is_not_taken_for_the_next_one() -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).body == b"hello"
        assert (await edge.ask("GET", "/")).body == b"hello"
        assert edge.origin.connections == 2

    playing(lambda origin: answering(origin, plain() + plain(b"forged")), test)


@pytest.mark.parametrize(
    "head",
    [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6",
        "HTTP/1.1 200 OK\r\ncontent-length: 5, 6",
        "HTTP/1.1 200 OK\r\ncontent-length: +5",
        "HTTP/1.1 200 OK\r\ncontent-length: -5",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked",
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, chunked",
        "HTTP/1.1 200 OK\r\nx-a : b",
        "HTTP/1.1 200 OK\r\nx-a: b\0c",
        "HTTP/1.1 200 OK\r\nx-a: b\rc",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 20x OK",
        "HTTP/7 200 OK",
        "no HTTP at all",
    ],
)
def test_a_response_that_could_be_read_in_two_ways_gives_502(head: str) -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).status == 502

    body = b"5\r\nhello\r\n0\r\n\r\n" if head.endswith(": chunked") else b"hello"
    playing(lambda origin: saying(origin, head.encode() + b"\r\n\r\n" + body), test)


def test_a_field_that_http3_cannot_say_costs_its_own_request_only() -> None:
    async def test(edge: Edging) -> None:
        assert [(await edge.ask("GET", "/")).status for _ in range(2)] == [502, 200]
        assert edge.client.terminated is None

    long = plain(b"hello", "x-a: " + "a" * 65_537)
    playing(lambda origin: answering(origin, long, plain()), test)


def test_a_head_that_never_ends_gives_502() -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).status == 502

    playing(lambda origin: saying(origin, b"HTTP/1.1 200 OK\r\nx-a: " + bytes([97]) * 200_000), test)


def closing_kept(origin: Origin) -> Script:
    """Answers the first request of each connection, and closes it when a second one comes."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await origin.read(reader)
        writer.write(plain(f"connection {origin.connections}".encode()))
        await origin.read(reader)
        writer.transport.abort()

    return script


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_an_idempotent_request_without_a_body_is_sent_again_if_a_kept_connection_was_closed(method: str) -> None:
    async def test(edge: Edging) -> None:
        assert [(await edge.ask(method, "/")).body for _ in range(2)] == [b"connection 1", b"connection 2"]

    playing(closing_kept, test)


@pytest.mark.parametrize(("method", "body"), [("POST", b"x"), ("POST", None), ("PATCH", b"x"), ("PUT", b"x")])
def test_a_request_that_may_have_had_an_effect_or_whose_body_is_gone_is_not_sent_again(
    method: str, body: bytes | None
) -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).status == 200
        assert (await edge.ask(method, "/", [], body)).status == 502
        assert edge.origin.connections == 1

    playing(closing_kept, test)


def test_a_request_on_a_fresh_connection_is_not_sent_again() -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).status == 502
        assert edge.origin.connections == 1

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            writer.transport.abort()

        return play

    playing(script, test)


def test_more_requests_than_connections_wait_and_all_are_answered() -> None:
    async def test(edge: Edging) -> None:
        answers = await asyncio.gather(*(edge.ask("GET", f"/{number}") for number in range(30)))
        assert {got.status for got in answers} == {200}
        assert edge.origin.connections <= 2

    playing(lambda origin: answering(origin, plain()), test, limits=OriginLimits(connections=2))


def test_a_request_for_which_no_connection_becomes_free_gets_503_and_those_that_have_one_go_on() -> None:
    """Such as with more event streams or WebSockets than connections: nobody would know why nothing comes."""
    may_end = asyncio.Event()

    async def test(edge: Edging) -> None:
        first = edge.client.got[edge.client.begin("GET", "/events")]
        await first.until(lambda: first.status == 200)
        assert (await edge.ask("GET", "/")).status == 503
        may_end.set()
        assert (await first.whole()).body == b"hello"
        assert edge.origin.connections == 1

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            head, _, body = plain().rpartition(b"\r\n\r\n")
            writer.write(head + b"\r\n\r\n")
            await may_end.wait()
            writer.write(body)

        return play

    playing(script, test, limits=OriginLimits(connections=1, answer_s=0.5))


def test_an_upload_that_is_cut_off_never_passes_for_whole() -> None:
    async def test(edge: Edging) -> None:
        stream_id = edge.client.begin("POST", "/", ends=False)
        edge.client.send(stream_id, b"abc")
        await edge.origin.asked(1)
        edge.client.cut(stream_id)
        await until(lambda: edge.origin.lost)
        assert edge.origin.bodies == []
        assert (await edge.client.got[stream_id].whole()).reset == REQUEST_CANCELLED

    playing(lambda origin: answering(origin, plain()), test)


def test_an_upload_whose_length_is_not_as_announced_is_cut_off_at_the_origin() -> None:
    async def test(edge: Edging) -> None:
        for data in (b"abcd", b"ab"):
            stream_id = edge.client.begin("POST", "/", [("content-length", "3")], ends=False)
            edge.client.send(stream_id, data, ends=True)
            assert (await edge.client.got[stream_id].whole()).reset is not None
        assert edge.origin.bodies == []

    playing(lambda origin: answering(origin, plain()), test)


@pytest.mark.parametrize("reads", [True, False])
def test_an_upload_that_falls_silent_is_the_clients_fault_unless_the_origin_does_not_read(reads: bool) -> None:
    async def test(edge: Edging) -> None:
        stream_id = edge.client.begin("POST", "/", [("content-length", "20000000")], ends=False)
        edge.client.send(stream_id, bytes(10 if reads else 20_000_000))
        assert (await edge.client.got[stream_id].whole()).status == (408 if reads else 504)

    def script(_: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            await (reader.read() if reads else asyncio.sleep(60))

        return play

    playing(script, test, limits=OriginLimits(silence_s=0.5))


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_larger_than_allowed_gives_413(announced: bool) -> None:
    async def test(edge: Edging) -> None:
        fields = [("content-length", "2000")] if announced else []
        stream_id = edge.client.begin("POST", "/", fields, ends=False)
        got = edge.client.got[stream_id]
        if not announced:
            edge.client.send(stream_id, bytes(2000))
        assert (await got.whole()).status == 413

    playing(lambda origin: answering(origin, plain()), test, buffers=Buffers(request_bytes=1000))


def endless(origin: Origin, sent: list[int]) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await origin.read(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n")
        for _ in range(1000):
            writer.write(bytes(100_000))
            sent[0] += 100_000
            await writer.drain()
        while True:
            await asyncio.sleep(60)

    return script


async def settled(sent: list[int]) -> int:
    before = -1
    while sent[0] != before:
        before = sent[0]
        await asyncio.sleep(0.5)
    return before


def test_an_origin_is_read_a_window_ahead_of_a_client_that_does_not_read() -> None:
    sent = [0]

    async def play() -> None:
        async with (
            edging(lambda origin: endless(origin, sent)) as edge,
            edge.another_client(max_stream_data=10_000) as client,
        ):
            client._quic._write_stream_limits = lambda **_: None  # type: ignore[method-assign]
            client.begin("GET", "/")
            assert await settled(sent) < 20_000_000  # what the sockets between hold, and the window

    run(play)


def test_with_a_spool_the_origin_is_free_while_a_slow_client_reads(tmp_path: Path) -> None:
    """There is one connection to the origin, which the second request needs while the first response waits for its client."""
    body = b"".join(index.to_bytes(4, "big") for index in range(250_000))

    async def test(edge: Edging) -> None:
        async with edge.another_client(max_stream_data=20_000) as slow:
            limits = slow._quic._write_stream_limits
            slow._quic._write_stream_limits = lambda **_: None  # type: ignore[method-assign]
            got = slow.got[slow.begin("GET", "/")]
            await got.until(lambda: len(got.body) > 10_000)
            assert (await edge.ask("GET", "/second")).body == b"hello"
            assert not got.is_ended
            slow._quic._write_stream_limits = limits  # type: ignore[method-assign]
            slow.begin("GET", "/wakes-the-client")
            assert (await got.whole()).body == body
            assert list(tmp_path.iterdir()) == []  # its files have no names

    script = lambda origin: answering(origin, plain(body), plain())  # noqa: E731
    playing(script, test, buffers=Buffers(spool=tmp_path), limits=OriginLimits(connections=1))


def test_all_responses_together_hold_no_more_than_the_budget_and_all_come_whole() -> None:
    body = b"".join(index.to_bytes(4, "big") for index in range(30_000))

    async def test(edge: Edging) -> None:
        answers = await asyncio.gather(*(edge.ask("GET", f"/{number}") for number in range(10)))
        assert all(got.body == body for got in answers)

    playing(lambda origin: answering(origin, plain(body)), test, buffers=Buffers(window_bytes=30_000, all_bytes=60_000))
