"""What passes through the edge: requests to the origin and responses back, streams of both kinds, and their ends."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
from email.utils import parsedate_to_datetime

import pytest

from tests.patience import until
from tests.world.edge.edging import Edging, Origin, Script, answering, plain, playing


def test_a_response_comes_with_its_status_fields_and_body() -> None:
    async def test(edge: Edging) -> None:
        got = await edge.ask("GET", "/a?b=c")
        assert (got.status, got.body, got["x-a"]) == (418, b"short and stout", ["1", "2"])
        assert got["content-length"] == ["15"]
        assert edge.origin.heads[0].startswith("GET /a?b=c HTTP/1.1\r\nhost: x.test\r\n")

    playing(
        lambda origin: answering(origin, plain(b"short and stout", "X-A: 1", "X-A: 2", status="418 I'm a teapot")), test
    )


def test_a_connection_to_the_origin_is_kept_and_used_again() -> None:
    async def test(edge: Edging) -> None:
        for _ in range(3):
            assert (await edge.ask("GET", "/")).body == b"hello"
        assert edge.origin.connections == 1

    playing(lambda origin: answering(origin, plain()), test)


def test_head_has_the_length_and_no_body() -> None:
    async def test(edge: Edging) -> None:
        for _ in range(2):
            got = await edge.ask("HEAD", "/")
            assert (got.status, got["content-length"], got.body) == (200, ["1000"], b"")
        assert edge.origin.connections == 1

    playing(lambda origin: answering(origin, b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"), test)


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_a_status_without_content_ends_with_its_head(status: str) -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).body == b""

    playing(lambda origin: answering(origin, f"HTTP/1.1 {status}\r\netag: x\r\n\r\n".encode()), test)


def test_a_body_of_unknown_length_comes_in_chunks_or_until_the_origin_closes() -> None:
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\nx-sum: 7\r\nhost: no\r\n\r\n"

    async def test(edge: Edging) -> None:
        first = await edge.ask("GET", "/")
        assert (first.body, first["transfer-encoding"], first.trailers) == (b"abcdefg", [], [("x-sum", "7")])
        second = await edge.ask("GET", "/")
        assert (second.body, second.is_ended) == (b"until the end", True)

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            writer.write(chunked)
            await origin.read(reader)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")

        return play

    playing(script, test)


def test_parts_pass_as_they_come_and_nothing_waits_for_the_end() -> None:
    async def test(edge: Edging) -> None:
        got = edge.client.got[edge.client.begin("GET", "/events")]
        for number in range(3):
            await got.until(lambda n=number: got.body.count(b"data") == n + 1)  # type: ignore[misc]
            assert not got.is_ended
            go_on.set()
        await got.whole()

    go_on = asyncio.Event()

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            for _ in range(3):
                writer.write(b"data: x\n\n")
                await go_on.wait()
                go_on.clear()

        return play

    playing(script, test)


def test_a_large_body_comes_whole() -> None:
    body = b"".join(index.to_bytes(4, "big") for index in range(500_000))

    async def test(edge: Edging) -> None:
        got = await edge.ask("GET", "/")
        assert hashlib.sha256(got.body).digest() == hashlib.sha256(body).digest()

    playing(lambda origin: answering(origin, plain(body)), test)


@pytest.mark.parametrize("announced", [True, False])
def test_a_requests_body_reaches_the_origin_whole(announced: bool) -> None:
    body = bytes(range(256)) * 4000

    async def test(edge: Edging) -> None:
        fields = [("content-length", str(len(body)))] if announced else []
        got = await edge.ask("POST", "/", fields, body)
        assert got.status == 200
        assert edge.origin.bodies == [body]
        assert ("transfer-encoding: chunked" in edge.origin.heads[0]) != announced

    playing(lambda origin: answering(origin, plain()), test)


def test_a_request_without_a_body_is_sent_without_framing() -> None:
    async def test(edge: Edging) -> None:
        for method in ("GET", "DELETE", "OPTIONS"):
            await edge.ask(method, "/")
        assert not any("content-length" in head or "transfer-encoding" in head for head in edge.origin.heads)

    playing(lambda origin: answering(origin, plain()), test)


def test_an_empty_body_is_announced_as_the_client_did() -> None:
    async def test(edge: Edging) -> None:
        await edge.ask("POST", "/", [("content-length", "0")])
        assert "content-length: 0\r\n" in edge.origin.heads[0]

    playing(lambda origin: answering(origin, plain()), test)


def test_trailers_of_a_request_reach_the_origin() -> None:
    async def test(edge: Edging) -> None:
        stream_id = edge.client.begin("POST", "/", [("te", "trailers")], ends=False)
        edge.client.send(stream_id, b"abc")
        edge.client.send_trailers(stream_id, [("x-sum", "3"), ("content-length", "9")])
        assert (await edge.client.got[stream_id].whole()).status == 200
        assert edge.origin.heads[1:] == ["trailer x-sum: 3"]
        assert "te: trailers\r\n" in edge.origin.heads[0]

    playing(lambda origin: answering(origin, plain()), test)


def test_interim_responses_pass_on_before_the_final_one() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n"

    async def test(edge: Edging) -> None:
        got = await edge.ask("GET", "/")
        assert got.interim == [[(":status", "103"), ("link", "</a.css>; rel=preload")]]
        assert got.body == b"hello"

    playing(lambda origin: answering(origin, early + plain()), test)


@pytest.mark.parametrize("status", ["103 Early Hints", "204 No Content"])
def test_a_length_that_the_status_forbids_is_left_out(status: str) -> None:
    async def test(edge: Edging) -> None:
        got = await edge.ask("GET", "/")
        assert not [name for head in (*got.interim, got.head) for name, _ in head if name == "content-length"]

    head = f"HTTP/1.1 {status}\r\ncontent-length: 5\r\n\r\n".encode()
    after = b"HTTP/1.1 204 No Content\r\n\r\n" if status.startswith("1") else b""
    playing(lambda origin: answering(origin, head + after), test)


@pytest.mark.parametrize("given", ["Sun, 06 Nov 1994 08:49:37 GMT", None])
def test_the_origins_date_passes_and_where_it_tells_none_it_is_when_the_answer_came(given: str | None) -> None:
    async def test(edge: Edging) -> None:
        before = dt.datetime.now(dt.UTC).replace(microsecond=0)
        (date,) = (await edge.ask("GET", "/"))["date"]
        if given is None:
            assert before <= parsedate_to_datetime(date) <= dt.datetime.now(dt.UTC)
        else:
            assert date == given

    playing(lambda origin: answering(origin, plain(b"", *([f"date: {given}"] if given else []))), test)


@pytest.mark.parametrize(
    ("framing", "field", "body"),
    [
        ([("content-length", "3")], b"content-length: 3\r\n", b"abc"),
        ([], b"transfer-encoding: chunked\r\n", b"3\r\nabc\r\n0\r\n\r\n"),
    ],
    ids=["of known length", "of unknown length"],
)
def test_an_upload_that_waits_for_100_continue_gets_it_from_the_origin(
    framing: list[tuple[str, str]], field: bytes, body: bytes
) -> None:
    async def test(edge: Edging) -> None:
        stream_id = edge.client.begin("POST", "/", [("expect", "100-continue"), *framing], ends=False)
        got = edge.client.got[stream_id]
        await got.until(lambda: bool(got.interim))
        edge.client.send(stream_id, b"abc", ends=True)
        assert (await got.whole()).body == body

    def script(_: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"expect: 100-continue\r\n" in head
            assert field in head
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            writer.write(plain(await reader.readexactly(len(body))))

        return play

    playing(script, test)


def test_a_cancelled_response_is_cancelled_at_the_origin() -> None:
    ended = asyncio.Event()

    async def test(edge: Edging) -> None:
        stream_id = edge.client.begin("GET", "/endless")
        await edge.client.got[stream_id].until(lambda: len(edge.client.got[stream_id].body) > 100_000)
        edge.client.cancel(stream_id)
        await ended.wait()
        assert [(item.status, item.complete) for item in edge.log.requests] == [(200, False)]

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
            try:
                while True:
                    writer.write(bytes(65536))
                    await writer.drain()
            finally:
                ended.set()

        return play

    playing(script, test)


def test_a_request_that_is_given_up_before_the_answer_is_logged_as_such() -> None:
    async def test(edge: Edging) -> None:
        stream_id = edge.client.begin("GET", "/never")
        await edge.origin.asked(1)
        edge.client.cancel(stream_id)
        await until(lambda: edge.log.requests)
        assert [(item.status, item.complete) for item in edge.log.requests] == [(499, False)]

    def script(origin: Origin) -> Script:
        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await origin.read(reader)
            await asyncio.sleep(60)

        return play

    playing(script, test)
