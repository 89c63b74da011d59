"""Several server processes on one port, and the parent that starts them, gathers what they tell, and ends them.

None is started anew: a worker that ends by itself ends the server with an error, so that no measurement goes on with less.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import uvloop

from mixedsched.core.h3.certificate import Certificate
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.response import Responder
from mixedsched.errors import MixedschedError
from mixedsched.model.scheme import ConfiguredScheme
from mixedsched.world.server.connected import Connected
from mixedsched.world.server.explain import Stretch
from mixedsched.world.server.handover import Handover
from mixedsched.world.server.settings import Listening, ServerSettings
from mixedsched.world.server.stopping import Stop, first_of
from mixedsched.world.server.worker import Pipes, work
from mixedsched.world.system.udp import buffer_sizes

_STOP_SLACK_S = 3.0  # that a worker may take to stop, beyond its clients' grace, before it is killed
_LINE_LIMIT_BYTES = 1 << 20

_ServedBy = Callable[[ServedRequest, int | None], None]  # as in run.py, which imports this module
_ExplainedBy = Callable[[Stretch, int | None], None]
_ConnectedBy = Callable[[Connected, int | None], None]


@dataclass(frozen=True, slots=True)
class _Told:
    """Who is told what, see run.py."""

    served: _ServedBy
    explained: _ExplainedBy
    connected: _ConnectedBy


@dataclass(slots=True)
class _Child:
    """A worker process as its parent sees it. wishes: a pipe whose end tells it to stop, None when that was said."""

    number: int
    pid: int
    wishes: int | None
    lines: int

    def stop(self) -> None:
        if self.wishes is not None:
            os.close(self.wishes)
            self.wishes = None

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Workers:
    """A server of several processes, started by the constructor."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        settings: ServerSettings,
        certificate: Certificate,
        scheme: ConfiguredScheme,
        responder: Responder,
    ) -> None:
        self._settings = settings
        self._host, self._port = sockets[0].getsockname()[:2]
        self._buffers = buffer_sizes(sockets[0])
        handovers = Handover.among(len(sockets))
        self._children: list[_Child] = []
        for number, (sock, handover) in enumerate(zip(sockets, handovers, strict=True)):

            def run(pipes: Pipes, sock: socket.socket = sock, handover: Handover = handover) -> None:
                for other in sockets:
                    if other is not sock:
                        other.close()
                uvloop.run(work(sock, handover, pipes, settings, certificate, scheme, responder))

            self._children.append(_fork(number, run, self._children))
        for sock in sockets:
            sock.close()
        for handover in handovers:
            handover.close()

    def run(
        self,
        listening: Callable[[Listening], None],
        served: _ServedBy,
        explained: _ExplainedBy,
        connected: _ConnectedBy,
    ) -> None:
        """As Server.run. Raises MixedschedError if a worker ends by itself."""
        try:
            uvloop.run(self._run(listening, _Told(served, explained, connected)))
        finally:
            for child in self._children:
                child.signal(signal.SIGKILL)
                os.waitpid(child.pid, 0)

    async def _run(self, listening: Callable[[Listening], None], told: _Told) -> None:
        stop = Stop()
        stop.on_signals((signal.SIGINT, signal.SIGTERM))
        if self._settings.stop_with_stdin:
            stop.on_end_of(sys.stdin.fileno())
        readers = [await _reader(child.lines) for child in self._children]
        firsts = [await reader.readline() for reader in readers]
        if all(firsts):
            buffers = self._buffers
            listening(
                Listening(
                    self._host,
                    self._port,
                    workers=len(self._children),
                    gso=all(json.loads(first)["gso"] for first in firsts),
                    receive_buffer_bytes=buffers.receive_bytes,
                    send_buffer_bytes=buffers.send_bytes,
                    has_short_buffers=buffers.is_short,
                )
            )
        tasks = [
            asyncio.create_task(_gather(child.number, reader, told))
            for child, reader in zip(self._children, readers, strict=True)
        ]
        await first_of(stop.asked.wait(), *(asyncio.shield(task) for task in tasks))
        ended = [child.number for child, task in zip(self._children, tasks, strict=True) if task.done()]
        asked = stop.asked.is_set()
        for child in self._children:
            child.stop()
        over = asyncio.gather(*tasks)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.grace_s + _STOP_SLACK_S):
                await first_of(asyncio.shield(over), stop.at_once.wait())
        if not over.done():
            for child in self._children:
                child.signal(signal.SIGTERM)  # their second wish
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over, _STOP_SLACK_S)
        if ended and not asked:
            raise MixedschedError(
                f"worker {ended[0]} of the server has ended by itself", why="see above, or the system's log"
            )


def _fork(number: int, run: Callable[[Pipes], None], elder: Sequence[_Child]) -> _Child:
    """Start a worker process. elder: those started before, whose pipes are none of its business: while it held them open,
    they could not end."""
    wishes_from, wishes_to = os.pipe()
    lines_from, lines_to = os.pipe()
    pid = os.fork()
    if pid:
        os.close(wishes_from)
        os.close(lines_to)
        return _Child(number, pid, wishes_to, lines_from)
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the parent
        for descriptor in (wishes_to, lines_from):
            os.close(descriptor)
        for child in elder:
            child.stop()
            os.close(child.lines)
        run(Pipes(wishes_from, lines_to))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)  # what the parent has begun is not ours to finish


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=_LINE_LIMIT_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader),
        open(descriptor, "rb", buffering=0),  # noqa: SIM115 - a pipe, which the transport closes
    )
    return reader


async def _gather(number: int, reader: asyncio.StreamReader, told: _Told) -> None:
    """Pass on what a worker tells, until it has ended."""
    while line := await reader.readline():
        message = json.loads(line)
        if "request" in message:
            told.served(ServedRequest(**message["request"]), number)
        elif "connection" in message:
            told.connected(Connected(**message["connection"]), number)
        else:
            told.explained(Stretch.from_dict(message["schedule"]), number)
