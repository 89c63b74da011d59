"""One of several server processes on a port. It stops when its standard input ends, and tells its parent by JSON lines."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from dataclasses import dataclass
from typing import Any

from mixedsched.core.h3.certificate import Certificate
from mixedsched.core.h3.response import Responder
from mixedsched.model.scheme import ConfiguredScheme
from mixedsched.world.server.endpoint import Endpoint
from mixedsched.world.server.handover import Handover
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.server.stopping import Stop, serve_until_stopped

MAX_UNREAD_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pipes:
    """A worker's ends of the pipes to its parent, as file descriptors: wishes come in, lines go out."""

    wishes: int
    lines: int


class _Lines(asyncio.Protocol):
    """JSON lines to the parent. If it does not read them, those beyond MAX_UNREAD_BYTES are dropped."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # of a pipe to write to

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._transport = None
        self._closed.set()

    def write(self, message: dict[str, Any]) -> None:
        if self._transport is not None and self._transport.get_write_buffer_size() < MAX_UNREAD_BYTES:
            self._transport.write(json.dumps(message).encode() + b"\n")

    async def close(self) -> None:
        """Returns when all was read, or the parent has gone."""
        if self._transport is not None:
            self._transport.close()
            await self._closed.wait()


async def work(
    sock: socket.socket,
    handover: Handover,
    pipes: Pipes,
    settings: ServerSettings,
    certificate: Certificate,
    scheme: ConfiguredScheme,
    responder: Responder,
) -> None:
    """Serve until told to stop.

    The first line is {"gso": ...}, the others {"request": ...}, {"schedule": ...} and {"connection": ...}.
    """
    loop = asyncio.get_running_loop()
    stop = Stop()
    stop.on_signals((signal.SIGTERM,))
    stop.on_end_of(pipes.wishes)
    lines = _Lines()
    with open(pipes.lines, "wb", buffering=0) as file:  # noqa: PTH123 - a pipe, opened already
        await loop.connect_write_pipe(lambda: lines, file)
        endpoint = Endpoint(
            sock,
            settings,
            certificate,
            scheme,
            responder,
            lambda item: lines.write({"request": item.to_dict()}),
            handover,
            lambda stretch: lines.write({"schedule": stretch.to_dict()}),
            lambda item: lines.write({"connection": item.to_dict()}),
        )
        lines.write({"gso": endpoint.uses_gso})
        await serve_until_stopped(endpoint, stop, settings.grace_s)
        await lines.close()
