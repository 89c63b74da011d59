"""Runs a server in several processes that share its port, and is their parent."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from pydantic import TypeAdapter

from mixedsched.core.h3.certificate import Certificate
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.errors import MixedschedError
from mixedsched.world.server._stopping import PAUSE, READ, STOP, StopSignal
from mixedsched.world.server.handover import Handover
from mixedsched.world.server.log import ServerLog
from mixedsched.world.server.running import FACTS, ConnectionRecord, WorkerInput
from mixedsched.world.server.schedule import ScheduleInterval
from mixedsched.world.server.service import Service, open_sockets
from mixedsched.world.server.takeover import HeldPort
from mixedsched.world.system.children import Child
from mixedsched.world.system.loops import first_of

_INTERVAL = TypeAdapter(ScheduleInterval)
_STOP_SLACK_S = 3.0  # that a worker may take to stop, beyond the grace of its clients, before it is killed


class Workers:
    """The processes, as they read their sockets and tell of it. log: gets what they log."""

    def __init__(self, log: ServerLog) -> None:
        self.processes: list[Child] = []
        self._paused: list[asyncio.Event] = []
        self._log = log

    async def start(
        self,
        service: Service,
        certificate: Certificate,
        sockets: Sequence[socket.socket],
        handover: Handover,
        *,
        waits: bool,
    ) -> None:
        """One more of them. waits: it reads its sockets only when told to."""
        inbox, inboxes = handover.inbox.fileno(), {other: end.fileno() for other, end in handover.inboxes.items()}
        ports = tuple(sock.fileno() for sock in sockets)
        own = WorkerInput(
            len(self.processes), handover.worker, certificate.to_pem(), ports, inbox, inboxes, waits=waits
        )
        process = await Child.start(
            *(sys.executable, "-m", service.module),
            settings=service.input(own),
            pass_fds=(*own.sockets, own.inbox, *own.inboxes.values()),
            own_stderr=False,
        )
        self.processes.append(process)
        self._paused.append(asyncio.Event())

    async def pause(self) -> None:
        """Have all of them leave what comes to the port there. Returns when they do."""
        for event in self._paused:
            event.clear()
        self._tell(PAUSE)
        for event in self._paused:
            await event.wait()

    def read_on(self) -> None:
        self._tell(READ)

    def stop(self) -> None:
        self._tell(STOP)

    def reload(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGHUP)

    async def relay(self, number: int) -> None:
        """Pass on a worker's log until the worker has ended."""
        async for line in self.processes[number].lines():
            if "request" in line:
                self._log.request(ServedRequest(**line["request"]), number)
            elif "connection" in line:
                self._log.connection(ConnectionRecord(**line["connection"]), number)
            elif "schedule" in line:
                self._log.schedule(_INTERVAL.validate_python(line["schedule"]), number)
            elif "paused" in line:
                self._paused[number].set()

    def _tell(self, order: str) -> None:
        for process in self.processes:
            if process.is_alive:
                process.tell({"do": order})


async def run_workers(service: Service, log: ServerLog, place: HeldPort | None) -> None:
    """Serve with several processes on one port. place: of the server that runs, where there may be one.

    None is replaced: a worker that ends by itself ends the server with an error, so that no measurement goes on with less.
    """
    settings = service.settings
    certificate = service.own_certificate()
    stop = StopSignal(with_stdin=settings.stop_with_stdin)
    workers = Workers(log)
    try:
        await _start_all(workers, service, certificate, place)
        if service.reload is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, workers.reload)
        facts = [FACTS.validate_python(worker.first) for worker in workers.processes]
        with log:
            async with AsyncExitStack() as stack:
                if place is not None:
                    await place.take()
                    workers.read_on()
                    await stack.enter_async_context(place.kept(workers, service.leaving, stop.asked.set))
                log.listening(service.described(replace(facts[0], gso=all(item.gso for item in facts))))
                await _until_stopped(workers, stop, settings.grace_s)
    finally:
        for worker in workers.processes:
            worker.kill()
        await asyncio.gather(*(worker.stop() for worker in workers.processes))


async def _start_all(workers: Workers, service: Service, certificate: Certificate, place: HeldPort | None) -> None:
    count = service.settings.workers
    if place is not None:
        divided, handovers = place.divided_among(count), place.handovers(count)
    else:
        divided, handovers = [[sock] for sock in open_sockets(service.settings)], Handover.among(count)
    try:
        for sockets, handover in zip(divided, handovers, strict=True):
            await workers.start(service, certificate, sockets, handover, waits=place is not None)
    finally:
        for sockets, handover in zip(divided, handovers, strict=True):
            handover.inbox.close()  # so that it ends with the worker
            if place is None:
                handover.close()
                for sock in sockets:
                    sock.close()
    await asyncio.gather(*(worker.until_ready("a worker of the server did not start") for worker in workers.processes))


async def _until_stopped(workers: Workers, stop: StopSignal, grace_s: float) -> None:
    relays = [asyncio.create_task(workers.relay(number)) for number in range(len(workers.processes))]
    await first_of(stop.asked.wait(), *(asyncio.shield(relay) for relay in relays))
    ended = [number for number, relay in enumerate(relays) if relay.done()]
    asked = stop.asked.is_set()
    workers.stop()
    over = asyncio.gather(*relays)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace_s + _STOP_SLACK_S):
            await first_of(asyncio.shield(over), stop.at_once.wait())
    if not over.done():
        for worker in workers.processes:
            worker.terminate()  # which asks a second time
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over, _STOP_SLACK_S)
    if ended and not asked:
        raise MixedschedError(
            f"worker {ended[0]} of the server has ended by itself", why="see above, or the system's log"
        )
