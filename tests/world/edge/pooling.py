"""What tests of the pool of connections need: requests without a client, and an origin that says nothing."""

from __future__ import annotations

import asyncio

from mixedsched.world.edge._origin import OriginFault, OriginRequest, OriginStream


class Asking:
    """A request as the pool sees it."""

    client, urgency = "192.0.2.7", 3

    def __init__(self, upgrade: str | None = None) -> None:
        self.request = OriginRequest("GET", "/", [(b"host", b"x.test")], None, has_body=False, upgrade=upgrade)
        self.stream: OriginStream | None = None
        self.body = b""
        self.is_begun, self.is_over, self.is_failed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @property
    def events(self) -> Asking:
        return self

    def connected(self, stream: OriginStream) -> None:
        self.stream = stream
        self.is_begun.set()

    def informed(self, *_: object) -> None: ...
    def answered(self, *_: object, has_body: bool) -> None: ...
    def writable(self, *, now: bool) -> None: ...

    def received(self, data: bytes) -> None:
        self.body += data

    def ended(self, _: object) -> None:
        self.is_over.set()

    def failed(self, _: OriginFault) -> None:
        self.is_failed.set()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(-1)
