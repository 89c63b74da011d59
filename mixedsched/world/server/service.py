"""Describes a server of any kind to run.py, which runs it."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from mixedsched.core.h3.certificate import Certificate, make_certificate
from mixedsched.core.h3.live import LiveResponder
from mixedsched.core.h3.response import Responder
from mixedsched.core.h3.session import Session
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import MixedschedError
from mixedsched.model.scheme import ConfiguredScheme, configure
from mixedsched.world import catalog
from mixedsched.world.server._connections import Traffic
from mixedsched.world.server.log import ServerLog
from mixedsched.world.server.running import MemorySettings, ServerFacts, WorkerInput
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.system.udp import host_and_port, open_shared_udp_sockets, open_udp_socket


class LiveEndpoint(Protocol):
    """What a service may see and change of its endpoint."""

    @property
    def sessions(self) -> list[Session]: ...

    @property
    def traffic(self) -> Traffic: ...

    def use_scheme(self, scheme: ConfiguredScheme) -> None:
        """Place responses by another mapping from now on. The scheduler must be of the same kind."""


@dataclass(frozen=True, slots=True)
class Service:
    """A server of any kind.

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

    def own_certificate(self) -> Certificate:
        """A fresh one, for the hosts and this machine."""
        return make_certificate([*self.hosts, "localhost", "127.0.0.1", "::1"], dt.datetime.now(dt.UTC))


def open_sockets(settings: ServerSettings) -> list[socket.socket]:
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
