"""An origin that speaks HTTP/2, frame by frame: how its connections end, and what becomes of the requests on them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from unittest.mock import MagicMock

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes
from hpack import Encoder
from hyperframe.frame import ContinuationFrame, DataFrame, Frame, GoAwayFrame, HeadersFrame, SettingsFrame

from mixedsched.world.edge import _http2
from mixedsched.world.edge._http2 import Http2Connection
from mixedsched.world.edge._origin import OriginRequest
from mixedsched.world.edge._pool import OriginPool
from mixedsched.world.edge.settings import OriginAddress, OriginLimits
from tests.world.edge.edging import LIMIT_S, Edging, Origin, Script, origin_running, playing, run
from tests.world.edge.pooling import Asking, silent

PREFACE_BYTES = 24


@dataclass
class Wire:
    """The origin's side of one connection. number: of the connection, from 1."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def request(self) -> int:
        """Wait for the next request's head; the stream's ID."""
        while True:
            frame, size_bytes = Frame.parse_frame_header(memoryview(await self.reader.readexactly(9)))
            await self.reader.readexactly(size_bytes)
            if isinstance(frame, HeadersFrame):
                return frame.stream_id

    def head(self, stream_id: int, *fields: tuple[str, str], status: str = "200") -> None:
        self._write(_headers(stream_id, (":status", status), *fields))

    def long_head(self, stream_id: int, *fields: tuple[str, str]) -> None:
        """In several frames, as one has 16 KiB at most."""
        frame = _headers(stream_id, (":status", "200"), *fields)
        frame.flags.discard("END_HEADERS")
        frame.data, rest = frame.data[:16_384], frame.data[16_384:]
        self._write(frame)
        while rest:
            more = ContinuationFrame(stream_id, rest[:16_384])
            rest = rest[16_384:]
            if not rest:
                more.flags.add("END_HEADERS")
            self._write(more)

    def data(self, stream_id: int, data: bytes, *, ends: bool = True) -> None:
        self._write(DataFrame(stream_id, data), ends=ends)

    def trailers(self, stream_id: int, *fields: tuple[str, str]) -> None:
        self._write(_headers(stream_id, *fields), ends=True)

    def go_away(self, last_stream_id: int) -> None:
        self._write(GoAwayFrame(0, last_stream_id=last_stream_id))

    def _write(self, frame: Frame, *, ends: bool = False) -> None:
        if ends:
            frame.flags.add("END_STREAM")
        self.writer.write(frame.serialize())


def _headers(stream_id: int, *fields: tuple[str, str]) -> HeadersFrame:
    frame = HeadersFrame(stream_id, Encoder().encode(fields))
    frame.flags.add("END_HEADERS")
    return frame


def speaking(play: Callable[[Wire], Awaitable[None]]) -> Callable[[Origin], Script]:
    def made(origin: Origin) -> Script:
        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            wire = Wire(origin.connections, reader, writer)
            await reader.readexactly(PREFACE_BYTES)
            writer.write(SettingsFrame(0).serialize())
            await play(wire)

        return script

    return made


def play_h2c(
    wire: Callable[[Wire], Awaitable[None]],
    test: Callable[[Edging], Awaitable[None]],
    limits: OriginLimits = OriginLimits(),  # noqa: B008 - is not changed
) -> None:
    playing(speaking(wire), test, is_h2c=True, limits=limits)


async def answering_each(wire: Wire) -> None:
    while True:
        stream_id = await wire.request()
        wire.head(stream_id)
        wire.data(stream_id, f"connection {wire.number}".encode())


def test_what_is_under_way_goes_on_behind_goaway_and_the_next_request_takes_another_connection() -> None:
    """RFC 9113 section 6.8. nginx says so after 1000 requests."""
    is_asked = asyncio.Event()

    async def wire(wire: Wire) -> None:
        if wire.number > 1:
            await answering_each(wire)
        stream_id = await wire.request()
        wire.head(stream_id)
        wire.go_away(stream_id)
        await is_asked.wait()
        wire.data(stream_id, b"connection 1")
        assert await wire.reader.read() is not None, "the edge closes what it needs no more"

    async def test(edge: Edging) -> None:
        first = edge.client.begin("GET", "/1")
        await edge.client.got[first].until(lambda: bool(edge.client.got[first].head))
        assert (await edge.ask("GET", "/2")).body == b"connection 2"
        is_asked.set()
        got = await edge.client.got[first].whole()
        assert (got.body, got.is_ended, got.reset) == (b"connection 1", True, None)

    play_h2c(wire, test)


def test_requests_beyond_the_last_that_goaway_names_are_sent_again_and_hold_no_place() -> None:
    async def wire(wire: Wire) -> None:
        if wire.number % 2 == 0:
            await answering_each(wire)
        stream_id = await wire.request()
        wire.head(stream_id)
        wire.data(stream_id, b"first")
        await wire.request()
        wire.go_away(stream_id)

    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).body == b"first"
        assert [(await edge.ask("GET", "/")).body for _ in range(3)] == [b"connection 2"] * 3

    play_h2c(wire, test, OriginLimits(connections=1))


def test_what_the_origin_has_not_begun_is_sent_again_whatever_the_method() -> None:
    """RFC 9113 section 8.7."""

    async def wire(wire: Wire) -> None:
        if wire.number == 3:
            await answering_each(wire)
        await wire.request()
        wire.go_away(0)

    async def test(edge: Edging) -> None:
        assert (await edge.ask("POST", "/")).body == b"connection 3"

    play_h2c(wire, test)


def test_a_connection_on_which_nothing_comes_any_more_is_not_used_again() -> None:
    async def wire(wire: Wire) -> None:
        if wire.number > 1:
            await answering_each(wire)
        stream_id = await wire.request()
        wire.head(stream_id)
        wire.data(stream_id, b"connection 1")
        await asyncio.sleep(60)

    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).body == b"connection 1"
        assert (await edge.ask("GET", "/")).status == 504
        assert (await edge.ask("GET", "/")).body == b"connection 2"

    play_h2c(wire, test, OriginLimits(answer_s=0.3))


@pytest.mark.parametrize("status", ["abc", "20", "2000", "000", "101", "\N{SUPERSCRIPT TWO}00"])
def test_a_status_that_is_none_gives_502_and_breaks_nothing(status: str, caplog: pytest.LogCaptureFixture) -> None:
    async def wire(wire: Wire) -> None:
        if wire.number > 1:
            await answering_each(wire)
        wire.head(await wire.request(), status=status)
        await wire.reader.read()

    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).status == 502
        assert (await edge.ask("GET", "/")).body == b"connection 2"

    play_h2c(wire, test)
    assert not [record for record in caplog.records if record.name == "asyncio"]


def test_an_origin_that_begins_nothing_gives_502() -> None:
    async def wire(wire: Wire) -> None:
        await wire.request()
        wire.go_away(0)

    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).status == 502

    play_h2c(wire, test)


def test_a_request_on_a_kept_connection_that_was_closed_is_sent_again() -> None:
    async def wire(wire: Wire) -> None:
        stream_id = await wire.request()
        wire.head(stream_id)
        wire.data(stream_id, f"connection {wire.number}".encode())
        await wire.request()
        wire.writer.transport.abort()

    async def test(edge: Edging) -> None:
        assert [(await edge.ask("GET", "/")).body for _ in range(2)] == [b"connection 1", b"connection 2"]
        assert (await edge.ask("POST", "/", [], b"x")).status == 502

    play_h2c(wire, test)


@pytest.mark.parametrize(("data", "has_trailers"), [(b"abcd", False), (b"ab", False), (b"ab", True)])
def test_a_response_that_lies_about_its_length_is_cut_off_and_costs_no_other(data: bytes, has_trailers: bool) -> None:
    """RFC 9113 section 8.1.1."""

    async def wire(wire: Wire) -> None:
        waiting, lying = await wire.request(), await wire.request()
        wire.head(waiting)
        wire.head(lying, ("content-length", "3"))
        wire.data(lying, data, ends=not has_trailers)
        if has_trailers:
            wire.trailers(lying, ("x-sum", "3"))
        await is_cut.wait()
        wire.data(waiting, b"whole")
        await answering_each(wire)

    async def test(edge: Edging) -> None:
        waiting = edge.client.begin("GET", "/1")
        got = await edge.ask("GET", "/2")
        assert (got.is_ended, got.status if got.reset is None else 0) in {(True, 502), (False, 0)}
        is_cut.set()
        assert (await edge.client.got[waiting].whole()).body == b"whole"
        assert (await edge.ask("GET", "/3")).body == b"connection 1"

    is_cut = asyncio.Event()
    play_h2c(wire, test)


@pytest.mark.parametrize(
    "field",
    [("x-a", "b "), ("x-a", "b\nc"), ("X-A", "b"), ("connection", "close"), ("content-length", "x"), (":x", "b")],
)
def test_a_response_with_a_malformed_field_costs_no_other(field: tuple[str, str]) -> None:
    """RFC 9113 section 8.1.1. Applications let spaces slip into fields; over HTTP/1.1 they do not matter."""

    async def wire(wire: Wire) -> None:
        waiting, broken = await wire.request(), await wire.request()
        wire.head(waiting)
        wire.head(broken, field)
        wire.data(broken, b"not wanted any more")
        await is_refused.wait()
        wire.data(waiting, b"whole")
        await answering_each(wire)

    async def test(edge: Edging) -> None:
        waiting = edge.client.begin("GET", "/1")
        assert (await edge.ask("GET", "/2")).status == 502
        is_refused.set()
        assert (await edge.client.got[waiting].whole()).body == b"whole"
        assert (await edge.ask("GET", "/3")).body == b"connection 1"

    is_refused = asyncio.Event()
    play_h2c(wire, test)


@pytest.mark.parametrize("end", ["cancelled", "complete", "too long"])
def test_what_was_not_read_of_a_response_that_is_over_takes_no_room_from_others(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 9113 section 6.9.1: all responses together have a window, too, which nothing else makes wide again."""
    monkeypatch.setattr(_http2, "_CONNECTION_WINDOW_BYTES", 1)
    part = b"a" * 16_384

    async def test() -> None:
        connection, transport, origin = Http2Connection(MagicMock()), MagicMock(), H2Connection(H2Configuration(False))
        origin.initiate_connection()
        transport.write = origin.receive_data
        connection.connection_made(transport)
        for _ in range(20):
            stream = connection.start(
                OriginRequest("GET", "/", [(b"host", b"x.test")], None, has_body=False), MagicMock()
            )
            assert stream is not None
            stream.pause()
            fields = [(":status", "200"), ("content-length", str(len(part) - 1))]
            origin.send_headers(stream.stream_id, fields[: 2 if end == "too long" else 1])
            origin.send_data(stream.stream_id, part, end_stream=end == "complete")
            connection.data_received(origin.data_to_send())
            stream.cancel() if end == "cancelled" else stream.resume()
            connection.data_received(origin.data_to_send())

    run(test)


def test_a_pool_that_closes_also_closes_a_connection_that_goes_away() -> None:
    is_over = asyncio.Event()

    async def wire(wire: Wire) -> None:
        stream_id = await wire.request()
        wire.go_away(stream_id)
        with contextlib.suppress(ConnectionError):
            await wire.reader.read()
        is_over.set()

    async def test() -> None:
        origin = Origin()
        async with origin_running(origin, speaking(wire)(origin)):
            pool = OriginPool(OriginAddress.parse(origin.url.replace("http:", "h2c:")), OriginLimits())
            asking = Asking()
            pool.ask(asking)
            await asking.is_begun.wait()
            while pool.open_connections:  # until GOAWAY has come
                await asyncio.sleep(0)
            pool.close()
            await is_over.wait()
            await asking.is_failed.wait()

    run(test)


# WebSockets: each has its own connection of HTTP/1.1, beside that of all others.


def test_tunnels_count_as_requests_at_the_origin_and_one_that_is_given_up_opens_nothing() -> None:
    async def test() -> None:
        async with origin_running(Origin(), silent) as origin, asyncio.timeout(LIMIT_S):
            address = OriginAddress.parse(origin.url.replace("http:", "h2c:"))
            pool = OriginPool(address, OriginLimits(connections=2))
            shared, given_up, wanted = Asking(), Asking("websocket"), Asking("websocket")
            pool.ask(shared)
            await shared.is_begun.wait()
            pool.ask(given_up)
            pool.ask(wanted)
            assert pool.waiting == 1
            pool.leave(given_up)
            await wanted.is_begun.wait()
            assert given_up.stream is None
            pool.close()

    run(test)


def test_a_tunnel_that_finds_no_connection_does_not_take_those_over_http2_with_it() -> None:
    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/")).body == b"connection 1"
        edge.origin.take_no_more()
        refused = edge.client.begin("CONNECT", "/ws", ends=False, protocol="websocket")
        assert (await edge.client.got[refused].whole()).status == 502
        assert (await edge.ask("GET", "/")).body == b"connection 1"

    play_h2c(answering_each, test)


def test_a_body_waits_while_the_socket_takes_no_more_whatever_window_the_origin_grants() -> None:
    """Else an upload to an origin that is slower than its windows are wide would fill the memory."""

    async def test() -> None:
        connection, transport, origin = Http2Connection(MagicMock()), MagicMock(), H2Connection(H2Configuration(False))
        origin.initiate_connection()
        origin.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 2**30})
        origin.increment_flow_control_window(2**30)
        connection.connection_made(transport)
        connection.data_received(origin.data_to_send())
        events = MagicMock()
        stream = connection.start(OriginRequest("POST", "/", [(b"host", b"x.test")], None, has_body=True), events)
        assert stream is not None
        connection.pause_writing()
        transport.write.reset_mock()
        stream.send(bytes(1_000_000))
        stream.end([])
        assert not transport.write.called
        events.writable.assert_called_with(now=False)
        connection.resume_writing()
        assert sum(len(call.args[0]) for call in transport.write.call_args_list) > 1_000_000
        events.writable.assert_called_with(now=True)
        assert stream.is_sent

    run(test)


def test_a_response_whose_head_is_too_long_for_http3_costs_no_other() -> None:
    async def test(edge: Edging) -> None:
        waiting = edge.client.begin("GET", "/1")
        got = await edge.ask("GET", "/2")
        assert got.status == 502
        is_cut.set()
        assert (await edge.client.got[waiting].whole()).body == b"whole"

    async def wire(wire: Wire) -> None:
        waiting, long = await wire.request(), await wire.request()
        wire.head(waiting)
        wire.long_head(long, ("x-a", "a" * 70_000))
        await is_cut.wait()
        wire.data(waiting, b"whole")
        await answering_each(wire)

    is_cut = asyncio.Event()
    play_h2c(wire, test)
