"""An edge, a client in front of it and an origin behind it that does what a test says, all on one event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamReset

from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.world.edge.run import open_edge
from mixedsched.world.edge.settings import EdgeFacts, EdgeInput, EdgeSettings
from mixedsched.world.server.log import LoggedEvent, ServerLog
from mixedsched.world.server.running import ServerFacts
from mixedsched.world.server.settings import Limits, ServerSettings

LIMIT_S = 60.0
ROOM = Limits(memory_bytes=1 << 40)  # the edge lives in the process of the tests, whatever these have in memory
HOST = "x.test"
Fields = list[tuple[str, str]]
Given = Sequence[tuple[str, str]]
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class KeptLog(ServerLog):
    """Keeps what it is told of requests."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[ServedRequest] = []

    def request(self, request: ServedRequest, worker: int | None = None) -> None:
        self.requests.append(request)

    def listening(self, facts: ServerFacts) -> None:
        """Nobody reads it."""

    def _line(self, event: LoggedEvent, worker: int | None) -> str:
        return ""


@dataclass
class Got:
    """What came on one stream."""

    interim: list[Fields] = field(default_factory=list)
    head: Fields = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    trailers: Fields = field(default_factory=list)
    reset: int | None = None
    is_ended: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def status(self) -> int:
        return int(dict(self.head)[":status"]) if self.head else 0

    def __getitem__(self, name: str) -> list[str]:
        return [value for key, value in self.head if key == name]

    async def until(self, holds: Callable[[], bool]) -> Got:
        async with asyncio.timeout(LIMIT_S):
            while not holds():
                self.news.clear()
                await self.news.wait()
        return self

    async def whole(self) -> Got:
        """Wait for the end, or for the reset."""
        return await self.until(lambda: self.is_ended or self.reset is not None)


class _Http(H3Connection):
    """aioquic's client takes the length that a response to HEAD tells for a mistake."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.without_content: set[int] = set()

    def _check_content_length(self, stream: Any) -> None:
        if stream.stream_id not in self.without_content:
            super()._check_content_length(stream)


class Client(QuicConnectionProtocol):
    """An HTTP/3 client."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.h3 = _Http(self._quic)
        self.got: dict[int, Got] = {}
        self.terminated: ConnectionTerminated | None = None

    def begin(self, method: str, path: str, fields: Given = (), *, ends: bool = True, **pseudo: str) -> int:
        """Send a head; the stream's ID. pseudo: further pseudo-header fields, or others than usual."""
        stream_id = self._quic.get_next_available_stream_id()
        named = {"method": method, "scheme": "https", "authority": HOST, "path": path, **pseudo}
        head = [(f":{name}", value) for name, value in named.items()] + list(fields)
        self.got[stream_id] = Got()
        if method == "HEAD":
            self.h3.without_content.add(stream_id)
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in head]
        self.h3.send_headers(stream_id, pairs, end_stream=ends)
        self.transmit()
        return stream_id

    def send(self, stream_id: int, data: bytes, *, ends: bool = False) -> None:
        self.h3.send_data(stream_id, data, end_stream=ends)
        self.transmit()

    def send_trailers(self, stream_id: int, fields: Fields) -> None:
        self.h3.send_headers(stream_id, [(name.encode(), value.encode()) for name, value in fields], end_stream=True)
        self.transmit()

    def cancel(self, stream_id: int) -> None:
        self._quic.stop_stream(stream_id, 0x10C)
        self.transmit()

    def cut(self, stream_id: int) -> None:
        """Give up our half of a stream."""
        self._quic.reset_stream(stream_id, 0x10C)
        self.transmit()

    async def ask(self, method: str, path: str, fields: Given = (), body: bytes | None = None, **pseudo: str) -> Got:
        """A whole exchange."""
        stream_id = self.begin(method, path, fields, ends=body is None, **pseudo)
        if body is not None:
            self.send(stream_id, body, ends=True)
        return await self.got[stream_id].whole()

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            self.terminated = event
        if isinstance(event, StreamReset) and event.stream_id in self.got:
            self.got[event.stream_id].reset = event.error_code
        for found in self.h3.handle_event(event):
            if isinstance(found, HeadersReceived):
                self._take_fields(found)
            elif isinstance(found, DataReceived):
                self.got[found.stream_id].body += found.data
            if isinstance(found, HeadersReceived | DataReceived) and found.stream_ended:
                self.got[found.stream_id].is_ended = True
        for got in self.got.values():
            got.news.set()

    def _take_fields(self, found: HeadersReceived) -> None:
        got = self.got[found.stream_id]
        fields = [(name.decode(), value.decode("latin-1")) for name, value in found.headers]
        if got.head:
            got.trailers = fields
        elif fields[0][1].startswith("1"):
            got.interim.append(fields)
        else:
            got.head = fields


@dataclass
class Edging:
    """What a test has in hand. connections: how many the origin has taken; heads: of the requests that it has read."""

    facts: EdgeFacts
    client: Client
    log: KeptLog
    origin: Origin

    async def ask(self, method: str, path: str, fields: Given = (), body: bytes | None = None, **pseudo: str) -> Got:
        return await self.client.ask(method, path, fields, body, **pseudo)

    @asynccontextmanager
    async def another_client(self, **options: Any) -> AsyncIterator[Client]:
        async with client_of(self.facts, **options) as client:
            yield client


@dataclass
class Origin:
    """A web server of a test, on TCP."""

    port: int = 0
    connections: int = 0
    lost: int = 0  # connections that the edge has ended
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    server: asyncio.Server | None = None
    is_over: bool = False  # for scripts that wait for the test

    async def asked(self, count: int) -> None:
        """Wait until it has got as many requests."""
        async with asyncio.timeout(LIMIT_S):
            while len(self.heads) < count:
                await asyncio.sleep(0)

    def take_no_more(self) -> None:
        """Refuse connections from now on; those that there are go on."""
        assert self.server is not None
        self.server.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def read(self, reader: asyncio.StreamReader) -> str:
        """The next request's head, as it was sent, and its body if it has one. Raises IncompleteReadError at the end."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.heads.append(head)
        lower = head.lower()
        body = b""
        if "transfer-encoding: chunked" in lower:
            parts = []
            while size := int(await reader.readline(), 16):
                parts.append((await reader.readexactly(size + 2))[:-2])
            body = b"".join(parts)
            while (line := await reader.readline()) != b"\r\n":
                self.heads.append(f"trailer {line.decode().strip()}")
        elif "content-length: " in lower:
            body = await reader.readexactly(int(lower.partition("content-length: ")[2].partition("\r")[0]))
        self.bodies.append(body)
        return head


def answering(origin: Origin, *answers: bytes, closes: bool = False) -> Script:
    """Answers requests with these bytes, one after the other, the last one for ever."""
    left = list(answers)

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await origin.read(reader)
            writer.write(left.pop(0) if len(left) > 1 else left[0])
            await writer.drain()
            if closes:
                return

    return script


def plain(body: bytes = b"hello", *fields: str, status: str = "200 OK") -> bytes:
    """A response of HTTP/1.1."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *fields]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


@asynccontextmanager
async def origin_running(origin: Origin, script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[Origin]:
    tasks: set[asyncio.Task[Any]] = set()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        origin.connections += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await script(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):  # the last where a chunk's size should be
            origin.lost += 1
        except asyncio.CancelledError:
            pass
        finally:
            tasks.discard(task)
            writer.close()

    origin.server = server = await asyncio.start_server(take, "127.0.0.1", origin.port, ssl=tls)
    origin.port = server.sockets[0].getsockname()[1]
    try:
        yield origin
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def client_of(facts: EdgeFacts, server_name: str = HOST, **options: Any) -> AsyncIterator[Client]:
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=["h3"], server_name=server_name, verify_mode=0, **options
    )
    async with connect("127.0.0.1", facts.address[1], configuration=configuration, create_protocol=Client) as client:
        assert isinstance(client, Client)
        yield client


@asynccontextmanager
async def edging(
    script: Callable[[Origin], Script],
    *,
    given: EdgeInput | None = None,
    is_h2c: bool = False,
    tls: ssl.SSLContext | None = None,
    **settings: Any,
) -> AsyncIterator[Edging]:
    """is_h2c: the origin is asked by HTTP/2. tls: the origin's, which need not prove who it is. settings: of EdgeSettings."""
    origin = Origin()
    async with origin_running(origin, script(origin), tls):
        scheme = "h2c:" if is_h2c else "http:" if tls is None else "https:"
        url = origin.url.replace("http:", scheme)
        edge = EdgeSettings(**{"origin": url, "origin_verify": False, "hosts": (HOST,), **settings})
        given = given or EdgeInput(edge, settings=ServerSettings(limits=ROOM))
        log = KeptLog()
        async with open_edge(replace(given, edge=edge), log) as facts, client_of(facts) as client:
            yield Edging(facts, client, log, origin)


def playing(script: Callable[[Origin], Script], test: Callable[[Edging], Awaitable[None]], **settings: Any) -> None:
    """Play a test with an edge of these settings before an origin of this script."""

    async def play() -> None:
        async with edging(script, **settings) as edge:
            await test(edge)

    run(play)


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Play a test to its end."""

    async def limited() -> None:
        async with asyncio.timeout(LIMIT_S):
            await test()

    asyncio.run(limited())
