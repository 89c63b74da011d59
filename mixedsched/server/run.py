"""Runs a server until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

import uvloop

from mixedsched.errors import MixedschedError
from mixedsched.h3.certificate import Certificate
from mixedsched.h3.response import Responder
from mixedsched.h3.session import Served
from mixedsched.scheme import ConfiguredScheme
from mixedsched.server.endpoint import Endpoint
from mixedsched.udp import host_and_port, open_udp_socket


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where to listen, and how. port: 0 for any free one. stop_with_stdin: stop when standard input ends."""

    host: str = "127.0.0.1"
    port: int = 0
    congestion_control: str = "cubic"
    stop_with_stdin: bool = False


def run_server(
    settings: ServerSettings,
    certificate: Certificate,
    scheme: ConfiguredScheme,
    responder: Responder,
    listening: Callable[[str, int], None],
    served: Callable[[Served], None],
) -> None:
    """Serve until SIGINT, SIGTERM or, where wanted, the end of standard input.

    listening: told host and port once the socket is open. served: told of each request that is over.
    """
    uvloop.run(_serve(settings, certificate, scheme, responder, listening, served))


async def _serve(
    settings: ServerSettings,
    certificate: Certificate,
    scheme: ConfiguredScheme,
    responder: Responder,
    listening: Callable[[str, int], None],
    served: Callable[[Served], None],
) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if settings.stop_with_stdin:
        loop.add_reader(sys.stdin, _at_end_of_stdin, stop)
    endpoint = Endpoint(certificate, scheme, responder, served, settings.congestion_control)
    try:
        sock = open_udp_socket(settings.host, settings.port)
    except OSError as error:
        raise _cannot_listen(settings, error) from error
    host, port = sock.getsockname()[:2]
    await loop.create_datagram_endpoint(lambda: endpoint, sock=sock)
    listening(host, port)
    try:
        await stop.wait()
    finally:
        endpoint.close()


def _at_end_of_stdin(stop: asyncio.Event) -> None:
    if not sys.stdin.buffer.read1(1024):  # type: ignore[union-attr]
        asyncio.get_running_loop().remove_reader(sys.stdin)
        stop.set()


def _cannot_listen(settings: ServerSettings, error: OSError) -> MixedschedError:
    where = host_and_port(settings.host, settings.port)
    if error.errno == errno.EADDRINUSE:
        return MixedschedError(
            f"cannot listen on UDP {where}", why="the port is in use", fix="choose another --port, or 0 for a free one"
        )
    return MixedschedError(
        f"cannot listen on UDP {where}", why=error.strerror or str(error), fix="check --host and --port"
    )
