"""A small HTTP/3 client over real UDP, and our server as a process, for tests."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent


@dataclass
class Answer:
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def status(self) -> int:
        return int(self.headers[":status"])


class _Client(QuicConnectionProtocol):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.h3 = H3Connection(self._quic)
        self.answers: dict[int, Answer] = {}
        self.waiting: dict[int, asyncio.Future[Answer]] = {}

    def ask(
        self, method: str, path: str, trailers: Sequence[tuple[bytes, bytes]] = (), **fields: str
    ) -> asyncio.Future[Answer]:
        stream_id = self._quic.get_next_available_stream_id()
        head = [
            (b":method", method.encode()),
            (b":scheme", b"https"),
            (b":authority", fields.pop("authority", "x.test").encode()),
            (b":path", path.encode()),
        ]
        head += [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
        self.h3.send_headers(stream_id, head, end_stream=not trailers)
        if trailers:
            self.h3.send_headers(stream_id, list(trailers), end_stream=True)
        self.answers[stream_id] = Answer()
        self.waiting[stream_id] = asyncio.get_running_loop().create_future()
        self.transmit()
        return self.waiting[stream_id]

    def quic_event_received(self, event: QuicEvent) -> None:
        for h3_event in self.h3.handle_event(event):
            if isinstance(h3_event, HeadersReceived):
                pairs = {name.decode(): value.decode() for name, value in h3_event.headers}
                self.answers[h3_event.stream_id].headers = pairs
            elif isinstance(h3_event, DataReceived):
                self.answers[h3_event.stream_id].body += h3_event.data
            if isinstance(h3_event, HeadersReceived | DataReceived) and h3_event.stream_ended:
                self.waiting[h3_event.stream_id].set_result(self.answers[h3_event.stream_id])


def fetch(port: int, *requests: tuple[str, str] | tuple[str, str, dict[str, Any]]) -> list[Answer]:
    """Ask for (method, path[, fields and trailers]) on one connection, all at once; answers in order of asking."""
    return asyncio.run(_fetch(port, requests))


async def _fetch(port: int, requests: tuple[Any, ...]) -> list[Answer]:
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="x.test", verify_mode=0)
    async with connect("127.0.0.1", port, configuration=configuration, create_protocol=_Client) as client:
        assert isinstance(client, _Client)
        futures = [client.ask(method, path, **(fields[0] if fields else {})) for method, path, *fields in requests]
        return list(await asyncio.wait_for(asyncio.gather(*futures), 20))


@dataclass
class RunningServer:
    process: subprocess.Popen[str]
    first: dict[str, Any]

    @property
    def port(self) -> int:
        return int(self.first["listening"].rpartition(":")[2])

    def next_line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line: dict[str, Any] = json.loads(self.process.stdout.readline())
        return line


@contextmanager
def serving(site: Path | str, *options: str) -> Iterator[RunningServer]:
    """`mixedsched serve SITE --json`, stopped at the end."""
    command = [
        sys.executable,
        "-m",
        "mixedsched",
        "serve",
        str(site),
        "--port",
        "0",
        "--json",
        "--stop-with-stdin",
        *options,
    ]
    # As most people have it: what is written is buffered.
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=buffered
    )
    with process:
        assert process.stdout is not None
        assert process.stdin is not None
        line = process.stdout.readline()
        try:
            assert line, process.stderr.read() if process.stderr else ""
            yield RunningServer(process, json.loads(line))
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            finally:
                process.kill()
