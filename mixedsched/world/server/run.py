"""Runs a server until it is told to stop."""

from __future__ import annotations

import datetime as dt
import errno
import signal
import socket
import sys
from collections.abc import Callable
from typing import Protocol

import uvloop

from mixedsched.core.h3.certificate import Certificate, make_certificate
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.response import Responder
from mixedsched.errors import MixedschedError
from mixedsched.model.scheme import ConfiguredScheme
from mixedsched.world.server.connected import Connected
from mixedsched.world.server.endpoint import Endpoint
from mixedsched.world.server.explain import Stretch
from mixedsched.world.server.facts import ServerFacts
from mixedsched.world.server.files import SiteFiles
from mixedsched.world.server.log import ServerLog
from mixedsched.world.server.settings import Listening, ServerSettings
from mixedsched.world.server.site import ServedSite
from mixedsched.world.server.stopping import Stop, serve_until_stopped
from mixedsched.world.server.workers import Workers
from mixedsched.world.system.udp import buffer_sizes, host_and_port, open_shared_udp_sockets, open_udp_socket

ServedBy = Callable[[ServedRequest, int | None], None]
"""(a request that is over, the number of the worker that has served it; None where there is one process only)"""

ExplainedBy = Callable[[Stretch, int | None], None]
"""(who got the packets of a connection, the number of the worker as in ServedBy)"""

ConnectedBy = Callable[[Connected, int | None], None]
"""(a connection whose handshake is over, the number of the worker as in ServedBy)"""


def run_server(site: ServedSite, scheme: ConfiguredScheme, settings: ServerSettings, log: ServerLog) -> None:
    """Serve until told to stop: by SIGINT or SIGTERM, or by the end of standard input if the settings say so.

    A second signal ends it at once. Raises MixedschedError if the port cannot be had.
    """
    certificate = make_certificate([*site.hosts, "localhost", "127.0.0.1", "::1"], dt.datetime.now(dt.UTC))
    responder = SiteFiles(site.entries, site.hosts[0], recorded=site.recorded)
    server = open_server(settings, certificate, scheme, responder)

    def listening(facts: Listening) -> None:
        log.listening(
            ServerFacts(
                listening=host_and_port(facts.host, facts.port),
                spki_sha256=certificate.spki_sha256,
                site=site.name,
                url=site.url,
                hosts=site.hosts,
                connections=site.connections,
                across_connections=settings.across_connections,
                scheme=scheme.label,
                mapping=scheme.mapping.name if scheme.mapping is not None else None,
                workers=facts.workers,
                gso=facts.gso,
                receive_buffer_bytes=facts.receive_buffer_bytes,
                send_buffer_bytes=facts.send_buffer_bytes,
            )
        )

    with log:
        server.run(listening, log.request, log.schedule, log.connection)


class Server(Protocol):
    """A server whose sockets are open."""

    def run(
        self, listening: Callable[[Listening], None], served: ServedBy, explained: ExplainedBy, connected: ConnectedBy
    ) -> None:
        """Serve until SIGINT, SIGTERM or, where wanted, the end of standard input; a second signal ends it at once."""


def open_server(
    settings: ServerSettings, certificate: Certificate, scheme: ConfiguredScheme, responder: Responder
) -> Server:
    """Open the sockets, and start the worker processes where there are to be several.

    They are forked, so this comes before anything that starts threads. Raises MixedschedError if the port cannot be had.
    """
    try:
        if settings.workers > 1:
            sockets = open_shared_udp_sockets(settings.host, settings.port, settings.workers)
        else:
            sockets = [open_udp_socket(settings.host, settings.port)]
    except OSError as error:
        raise _cannot_listen(settings, error) from error
    if settings.workers > 1:
        return Workers(sockets, settings, certificate, scheme, responder)
    return _OneProcess(sockets[0], settings, certificate, scheme, responder)


class _OneProcess:
    """A server that is this process."""

    def __init__(
        self,
        sock: socket.socket,
        settings: ServerSettings,
        certificate: Certificate,
        scheme: ConfiguredScheme,
        responder: Responder,
    ) -> None:
        self._sock = sock
        self._settings = settings
        self._certificate = certificate
        self._scheme = scheme
        self._responder = responder

    def run(
        self, listening: Callable[[Listening], None], served: ServedBy, explained: ExplainedBy, connected: ConnectedBy
    ) -> None:
        uvloop.run(self._run(listening, served, explained, connected))

    async def _run(
        self, listening: Callable[[Listening], None], served: ServedBy, explained: ExplainedBy, connected: ConnectedBy
    ) -> None:
        settings = self._settings
        stop = Stop()
        stop.on_signals((signal.SIGINT, signal.SIGTERM))
        if settings.stop_with_stdin:
            stop.on_end_of(sys.stdin.fileno())
        endpoint = Endpoint(
            self._sock,
            settings,
            self._certificate,
            self._scheme,
            self._responder,
            lambda item: served(item, None),
            explained=lambda stretch: explained(stretch, None),
            connected=lambda item: connected(item, None),
        )
        listening(facts_of(self._sock, settings, endpoint.uses_gso))
        await serve_until_stopped(endpoint, stop, settings.grace_s)


def facts_of(sock: socket.socket, settings: ServerSettings, gso: bool) -> Listening:
    """Where a socket listens, with what."""
    host, port = sock.getsockname()[:2]
    buffers = buffer_sizes(sock)
    return Listening(
        host, port, settings.workers, gso, buffers.receive_bytes, buffers.send_bytes, has_short_buffers=buffers.is_short
    )


def _cannot_listen(settings: ServerSettings, error: OSError) -> MixedschedError:
    where = host_and_port(settings.host, settings.port)
    if error.errno == errno.EADDRINUSE:
        return MixedschedError(
            f"cannot listen on UDP {where}", why="the port is in use", fix="choose another --port, or 0 for a free one"
        )
    return MixedschedError(
        f"cannot listen on UDP {where}", why=error.strerror or str(error), fix="check --host and --port"
    )
