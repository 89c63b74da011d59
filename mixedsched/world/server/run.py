"""Runs a server until it is told to stop: in this process, or in several that share its port."""

from __future__ import annotations

import asyncio
import datetime as dt
import errno
import signal
import socket
import sys

import uvloop

from mixedsched.core.h3.certificate import Certificate, make_certificate
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import MixedschedError
from mixedsched.model.scheme import configure
from mixedsched.world import catalog
from mixedsched.world.server.endpoint import Endpoint
from mixedsched.world.server.facts import ServerFacts
from mixedsched.world.server.files import SiteFiles
from mixedsched.world.server.handover import Handover
from mixedsched.world.server.log import ServerLog
from mixedsched.world.server.running import ServerInput, WorkerInput
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.server.stopping import StopRequest, first_of
from mixedsched.world.server.workers import run_workers
from mixedsched.world.system.udp import buffer_sizes, host_and_port, open_shared_udp_sockets, open_udp_socket


def run_server(given: ServerInput, log: ServerLog) -> None:
    """Serve until told to stop: by SIGINT or SIGTERM, or by the end of standard input if the settings say so.

    A second signal ends it at once. Raises UsageError or MappingError for a bad scheme or mapping, and MixedschedError if the
    port cannot be had, or a worker ends by itself.
    """
    if given.settings.workers > 1 and given.worker is None:
        asyncio.run(_run_workers(given, log))  # uvloop starts no processes in groups of their own
    else:
        uvloop.run(_run(given, log))


async def _run(given: ServerInput, log: ServerLog) -> None:
    site, settings, worker = given.site, given.settings, given.worker
    scheme = configure(given.scheme, SCHEMES, catalog.load_mapping, given.mapping)
    certificate = Certificate.from_pem(worker.certificate_pem) if worker is not None else _certificate(given)
    (sock,) = _open_sockets(settings) if worker is None else (socket.socket(fileno=worker.socket),)
    stop = _stop(settings)
    with log:
        responder = SiteFiles(site.entries, site.hosts[0], recorded=site.recorded)
        endpoint = Endpoint(sock, settings, certificate, scheme, responder, log, _handover(worker))
        buffers = buffer_sizes(sock)
        log.listening(
            ServerFacts(
                listening=host_and_port(*sock.getsockname()[:2]),
                spki_sha256=certificate.spki_sha256,
                site=site.name,
                url=site.url,
                hosts=site.hosts,
                connections=site.connections,
                across_connections=settings.across_connections,
                scheme=scheme.label,
                mapping=scheme.mapping.name if scheme.mapping is not None else None,
                workers=settings.workers,
                gso=endpoint.uses_gso,
                receive_buffer_bytes=buffers.receive_bytes,
                send_buffer_bytes=buffers.send_bytes,
            )
        )
        endpoint.start()
        try:
            await stop.asked.wait()
            await first_of(endpoint.shut_down(settings.grace_s), stop.at_once.wait())
        finally:
            endpoint.close()


async def _run_workers(given: ServerInput, log: ServerLog) -> None:
    configure(
        given.scheme, SCHEMES, catalog.load_mapping, given.mapping
    )  # a bad one is reported before a worker starts
    await run_workers(given, _certificate(given), _open_sockets(given.settings), _stop(given.settings), log)


def _stop(settings: ServerSettings) -> StopRequest:
    stop = StopRequest()
    stop.on_signals((signal.SIGINT, signal.SIGTERM))
    if settings.stop_with_stdin:
        stop.on_end_of(sys.stdin.fileno())
    return stop


def _certificate(given: ServerInput) -> Certificate:
    return make_certificate([*given.site.hosts, "localhost", "127.0.0.1", "::1"], dt.datetime.now(dt.UTC))


def _handover(worker: WorkerInput | None) -> Handover | None:
    if worker is None:
        return None
    inboxes = [socket.socket(fileno=inbox) for inbox in worker.inboxes]
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
            raise MixedschedError(
                f"cannot listen on UDP {where}",
                why="the port is in use",
                fix="choose another --port, or 0 for a free one",
            ) from error
        raise MixedschedError(
            f"cannot listen on UDP {where}", why=error.strerror or str(error), fix="check --host and --port"
        ) from error
