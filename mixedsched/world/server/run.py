"""Runs a server until it is told to stop: in this process, or in several that share its port."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace

import uvloop

from mixedsched.core.h3.certificate import Certificate
from mixedsched.core.h3.response import Responder
from mixedsched.world.server._endpoint import Endpoint
from mixedsched.world.server._files import SiteFiles
from mixedsched.world.server._learning import background_learner, learning_of, say
from mixedsched.world.server._stopping import PAUSE, READ, StopSignal
from mixedsched.world.server._workers import run_workers
from mixedsched.world.server.beacons import BeaconFiles
from mixedsched.world.server.handover import Handover
from mixedsched.world.server.log import ServerLog
from mixedsched.world.server.running import INPUT, ServerFacts, ServerInput, WorkerInput
from mixedsched.world.server.service import Service, open_sockets
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.server.takeover import HeldPort
from mixedsched.world.system.loops import first_of
from mixedsched.world.system.udp import buffer_sizes, host_and_port

_log = logging.getLogger(__name__)


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
            asyncio.run(_run_workers(service, log))  # uvloop starts no processes in groups of their own
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
    certificate = Certificate.from_pem(worker.certificate_pem) if worker is not None else service.own_certificate()
    sockets, handover = _sockets(settings, worker, place)
    choose = service.choose_certificate
    with learning_of(service.memory) as learning:
        async with service.responding(log) as responder:
            endpoint = Endpoint(sockets, settings, certificate, scheme, responder, log, handover, choose, learning)
            receive_bytes, send_bytes = buffer_sizes(sockets[0])
            facts = ServerFacts(
                listening=host_and_port(*sockets[0].getsockname()[:2]),
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
            if place is not None:
                await place.take()
            endpoint.start(reads=worker is None or not worker.waits)
            try:
                yield endpoint, service.described(facts)
            finally:
                endpoint.close()


def _sockets(
    settings: ServerSettings, worker: WorkerInput | None, place: HeldPort | None
) -> tuple[list[socket.socket], Handover | None]:
    """What this process reads: of the port, and from others on it."""
    if worker is not None:
        inboxes = {number: socket.socket(fileno=inbox) for number, inbox in worker.inboxes.items()}
        handover = Handover(worker.own_id, socket.socket(fileno=worker.inbox), inboxes, worker.number)
        return [socket.socket(fileno=descriptor) for descriptor in worker.sockets], handover
    if place is not None:
        return place.divided_among(1)[0], place.handovers(1)[0]
    return open_sockets(settings), None


async def _run(service: Service, log: ServerLog) -> None:
    with _place(service) as place, log:
        orders: dict[str, Callable[[], None]] = {}
        stop = StopSignal(
            with_stdin=service.settings.stop_with_stdin, orders=orders if service.worker is not None else None
        )
        if service.reload is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, service.reload)
        async with listening(service, log, place) as (endpoint, facts), AsyncExitStack() as stack:
            if place is not None:
                await stack.enter_async_context(place.kept(endpoint.inlet, service.leaving, stop.asked.set))

            def pause() -> None:
                endpoint.inlet.leave_unread()
                log.paused()

            orders.update({PAUSE: pause, READ: endpoint.inlet.read_on})
            log.listening(facts)
            await stop.asked.wait()
            await first_of(endpoint.shut_down(service.settings.grace_s), stop.at_once.wait())


async def _run_workers(service: Service, log: ServerLog) -> None:
    service.configured()  # so that a bad one is reported once
    async with service.beside():
        with _place(service) as place:
            await run_workers(service, log, place)


@contextmanager
def _place(service: Service) -> Iterator[HeldPort | None]:
    """The place of the server that runs, if the settings say where to find it."""
    settings = service.settings
    if settings.hand_over is None or service.worker is not None:
        yield None
        return
    place = HeldPort.found(settings.hand_over, lambda: open_sockets(settings))
    if place.is_taken_over:
        _warn_of_other_address(settings, place)
    try:
        yield place
    finally:
        place.close()


def _warn_of_other_address(settings: ServerSettings, place: HeldPort) -> None:
    host, port = place.sockets[0].getsockname()[:2]
    asked = settings.host, settings.port or port
    if asked not in {(host, port), ("localhost", port)}:
        _log.warning(
            "the server that runs listens on %s, and so will this one, not on %s: to change it, stop the one that runs first",
            host_and_port(host, port),
            host_and_port(*asked),
        )
