"""Runs a server until it is told to stop: in this process, or in several that share its port."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import errno
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import uvloop
from pydantic import TypeAdapter

from mixedsched.core.h3.certificate import Certificate, make_certificate
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.live import LiveResponder
from mixedsched.core.h3.response import Responder
from mixedsched.core.h3.session import Session
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import MixedschedError
from mixedsched.model.scheme import ConfiguredScheme, configure
from mixedsched.world import catalog
from mixedsched.world.server._connections import Traffic
from mixedsched.world.server._endpoint import Endpoint
from mixedsched.world.server._files import SiteFiles
from mixedsched.world.server._learning import background_learner, learning_of, say
from mixedsched.world.server._stopping import StopSignal, first_of
from mixedsched.world.server.beacons import BeaconFiles
from mixedsched.world.server.handover import Handover
from mixedsched.world.server.log import ServerLog
from mixedsched.world.server.running import (
    FACTS,
    INPUT,
    ConnectionRecord,
    MemorySettings,
    ServerFacts,
    ServerInput,
    WorkerInput,
)
from mixedsched.world.server.schedule import ScheduleInterval
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.server.takeover import HeldPort
from mixedsched.world.system.children import Child
from mixedsched.world.system.udp import buffer_sizes, host_and_port, open_shared_udp_sockets, open_udp_socket

_INTERVAL = TypeAdapter(ScheduleInterval)
_STOP_SLACK_S = 3.0  # that a worker may take to stop, beyond the grace of its clients, before it is killed


class LiveEndpoint(Protocol):
    """What a service may see and change of its endpoint."""

    @property
    def sessions(self) -> list[Session]: ...

    @property
    def traffic(self) -> Traffic: ...

    def use_scheme(self, scheme: ConfiguredScheme) -> None:
        """HeldPort responses by another mapping from now on. The scheduler must be of the same kind."""


@dataclass(frozen=True, slots=True)
class Service:
    """A server of whichever kind.

    module: what a worker process runs; input: as it reads from standard input, with the worker's part. hosts: for the
    certificate, if it is made here. memory: of a scheme that learns. responding: what answers, while the server runs.
    described: the facts of such a server. choose_certificate: by the host name that a client gives; else there is just the one
    made here. joined: told of the endpoint before it starts. reload: reads files again, upon SIGHUP.
    beside: what runs in the process that has several workers, while they run. leaving: told when another process has the port.
    """

    module: str
    input: Callable[[WorkerInput], Any]
    scheme: str
    mapping: str | None
    settings: ServerSettings
    worker: WorkerInput | None
    hosts: Sequence[str]
    responding: Callable[[ServerLog], AbstractAsyncContextManager[Responder | LiveResponder]]
    described: Callable[[ServerFacts], ServerFacts]
    memory: MemorySettings | None = None
    choose_certificate: Callable[[str | None], Certificate] | None = None
    joined: Callable[[LiveEndpoint], None] = lambda _endpoint: None
    reload: Callable[[], None] | None = None
    beside: Callable[[], AbstractAsyncContextManager[None]] = contextlib.nullcontext
    leaving: Callable[[], None] = lambda: None

    def configured(self) -> ConfiguredScheme:
        """Raises UsageError or MappingError for a bad scheme or mapping."""
        return configure(self.scheme, SCHEMES, catalog.load_mapping, self.mapping)


def run_server(given: ServerInput, log: ServerLog) -> None:
    """Serve a site until told to stop, see run_service."""
    run_service(_site_service(given), log)


def run_service(service: Service, log: ServerLog) -> None:
    """Serve until told to stop: by SIGINT or SIGTERM, or by the end of standard input if the settings say so.

    A second signal ends it at once. Raises UsageError or MappingError for a bad scheme or mapping, and MixedschedError if the
    port cannot be had, or a worker ends by itself.
    """
    with background_learner(service.memory if service.worker is None else None):
        if service.settings.workers > 1 and service.worker is None:
            asyncio.run(_run_workers_and_more(service, log))  # uvloop starts no processes in groups of their own
        else:
            uvloop.run(_run(service, log))


def _site_service(given: ServerInput) -> Service:
    site = given.site

    @asynccontextmanager
    async def responding(_log: ServerLog) -> AsyncIterator[Responder]:
        files = SiteFiles(site.entries, site.hosts[0], recorded=site.recorded)
        yield BeaconFiles(files, say) if given.memory is not None and given.memory.beacons else files

    return Service(
        module="mixedsched.world.server",
        input=lambda worker: INPUT.dump_python(replace(given, worker=worker), mode="json"),
        scheme=given.scheme,
        mapping=given.mapping,
        settings=given.settings,
        worker=given.worker,
        memory=given.memory,
        hosts=site.hosts,
        responding=responding,
        described=lambda facts: replace(
            facts, site=site.name, url=site.url, hosts=site.hosts, connections=site.connections
        ),
    )


@asynccontextmanager
async def listening(
    service: Service, log: ServerLog, place: HeldPort | None = None
) -> AsyncIterator[tuple[Endpoint, ServerFacts]]:
    """Serve on the running event loop until the end of the `async with`, which ends all connections. Raises as run_service."""
    settings, worker = service.settings, service.worker
    scheme = service.configured()
    certificate = Certificate.from_pem(worker.certificate_pem) if worker is not None else _certificate(service)
    handover: Handover | None
    if place is not None:
        sock, handover = place.sock, place.handover
    else:
        (sock,) = _open_sockets(settings) if worker is None else (socket.socket(fileno=worker.socket),)
        handover = _handover(worker)
    choose = service.choose_certificate
    with learning_of(service.memory) as learning:
        async with service.responding(log) as responder:
            endpoint = Endpoint(sock, settings, certificate, scheme, responder, log, handover, choose, learning)
            receive_bytes, send_bytes = buffer_sizes(sock)
            facts = ServerFacts(
                listening=host_and_port(*sock.getsockname()[:2]),
                spki_sha256=(choose(None) if choose is not None else certificate).spki_sha256,
                site="",
                url="",
                hosts=(),
                connections=1,
                across_connections=settings.across_connections,
                scheme=scheme.label,
                mapping=scheme.mapping.name if scheme.mapping is not None else None,
                workers=settings.workers,
                gso=endpoint.uses_gso,
                receive_buffer_bytes=receive_bytes,
                send_buffer_bytes=send_bytes,
            )
            service.joined(endpoint)
            endpoint.start()
            try:
                yield endpoint, service.described(facts)
            finally:
                endpoint.close()


async def _run(service: Service, log: ServerLog) -> None:
    stop = StopSignal(with_stdin=service.settings.stop_with_stdin)
    if service.reload is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, service.reload)
    with log, _place(service) as place:
        async with listening(service, log, place) as (endpoint, facts), AsyncExitStack() as stack:
            if place is not None:

                def leave() -> None:
                    service.leaving()
                    stop.asked.set()

                stack.enter_context(place.kept(endpoint.inlet, leave))
            log.listening(facts)
            await stop.asked.wait()
            await first_of(endpoint.shut_down(service.settings.grace_s), stop.at_once.wait())


@contextmanager
def _place(service: Service) -> Iterator[HeldPort | None]:
    """The place of the process that runs, if the settings say where to find it."""
    settings = service.settings
    if settings.hand_over is None or service.worker is not None:
        yield None
        return
    place = HeldPort.found(settings.hand_over, lambda: _open_sockets(settings)[0])
    try:
        yield place
    finally:
        place.give_up()


async def _run_workers_and_more(service: Service, log: ServerLog) -> None:
    async with service.beside():
        await _run_workers(service, log)


async def _run_workers(service: Service, log: ServerLog) -> None:
    """Serve with several processes on one port.

    None is replaced: a worker that ends by itself ends the server with an error, so that no measurement goes on with less.
    """
    settings = service.settings
    service.configured()  # so that a bad one is reported once
    certificate, sockets = _certificate(service), _open_sockets(settings)
    stop = StopSignal(with_stdin=settings.stop_with_stdin)
    workers: list[Child] = []
    handovers = Handover.among(len(sockets))
    try:
        for sock, handover in zip(sockets, handovers, strict=True):
            workers.append(await _start_worker(service, certificate, sock, handover))
        for sock, handover in zip(sockets, handovers, strict=True):
            sock.close()
            handover.close()
        await asyncio.gather(*(worker.until_ready("a worker of the server did not start") for worker in workers))
        if service.reload is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _tell_to_reload, workers)
        facts = [FACTS.validate_python(worker.first) for worker in workers]
        with log:
            log.listening(service.described(replace(facts[0], gso=all(item.gso for item in facts))))
            await _until_stopped(workers, stop, settings.grace_s, log)
    finally:
        for worker in workers:
            worker.kill()
        await asyncio.gather(*(worker.stop() for worker in workers))


async def _start_worker(service: Service, certificate: Certificate, sock: socket.socket, handover: Handover) -> Child:
    inbox, *inboxes = (end.fileno() for end in handover.sockets)
    own = WorkerInput(handover.worker, certificate.to_pem(), sock.fileno(), inbox, tuple(inboxes))
    return await Child.start(
        *(sys.executable, "-m", service.module),
        settings=service.input(own),
        pass_fds=(own.socket, own.inbox, *own.inboxes),
        own_stderr=False,
    )


def _tell_to_reload(workers: Sequence[Child]) -> None:
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGHUP)


async def _until_stopped(workers: Sequence[Child], stop: StopSignal, grace_s: float, log: ServerLog) -> None:
    relays = [asyncio.create_task(_relay_log(number, worker, log)) for number, worker in enumerate(workers)]
    await first_of(stop.asked.wait(), *(asyncio.shield(relay) for relay in relays))
    ended = [number for number, relay in enumerate(relays) if relay.done()]
    asked = stop.asked.is_set()
    for worker in workers:
        worker.end_input()
    over = asyncio.gather(*relays)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace_s + _STOP_SLACK_S):
            await first_of(asyncio.shield(over), stop.at_once.wait())
    if not over.done():
        for worker in workers:
            worker.terminate()  # which asks a second time
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over, _STOP_SLACK_S)
    if ended and not asked:
        raise MixedschedError(
            f"worker {ended[0]} of the server has ended by itself", why="see above, or the system's log"
        )


async def _relay_log(number: int, worker: Child, log: ServerLog) -> None:
    """Pass on a worker's log until the worker has ended."""
    async for line in worker.lines():
        if "request" in line:
            log.request(ServedRequest(**line["request"]), number)
        elif "connection" in line:
            log.connection(ConnectionRecord(**line["connection"]), number)
        elif "schedule" in line:
            log.schedule(_INTERVAL.validate_python(line["schedule"]), number)


def _certificate(service: Service) -> Certificate:
    return make_certificate([*service.hosts, "localhost", "127.0.0.1", "::1"], dt.datetime.now(dt.UTC))


def _handover(worker: WorkerInput | None) -> Handover | None:
    if worker is None:
        return None
    inboxes = {number: socket.socket(fileno=inbox) for number, inbox in enumerate(worker.inboxes)}
    return Handover(worker.number, socket.socket(fileno=worker.inbox), inboxes)


def _open_sockets(settings: ServerSettings) -> list[socket.socket]:
    """One socket for each worker. Raises MixedschedError."""
    try:
        if settings.workers > 1:
            return open_shared_udp_sockets(settings.host, settings.port, settings.workers)
        return [open_udp_socket(settings.host, settings.port)]
    except OSError as error:
        where = host_and_port(settings.host, settings.port)
        if error.errno == errno.EADDRINUSE:
            why, fix = "the port is in use", "choose another --port, or 0 for a free one"
        else:
            why, fix = error.strerror or str(error), "check --host and --port"
        raise MixedschedError(f"cannot listen on UDP {where}", why=why, fix=fix) from error
