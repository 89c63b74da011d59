"""A server in a process of its own: `python -m mixedsched.world.server`, and what it reads from standard input."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.server.site import ServedSite
from mixedsched.world.system.children import Child, child
from mixedsched.world.system.udp import BUFFER_BYTES


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server that listens: the first line of `serve --json`."""

    listening: str  # HOST:PORT
    spki_sha256: str  # of the certificate's public key, in base64
    site: str
    url: str
    hosts: tuple[str, ...]
    connections: int  # that one load of the page should take
    across_connections: bool
    scheme: str
    mapping: str | None
    workers: int
    gso: bool
    receive_buffer_bytes: int
    send_buffer_bytes: int

    @property
    def address(self) -> tuple[str, int]:
        """Host and UDP port."""
        host, _, port = self.listening.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def has_short_buffers(self) -> bool:
        """Whether the system gave less than what was asked for, so that bursts may be lost."""
        return min(self.receive_buffer_bytes, self.send_buffer_bytes) < BUFFER_BYTES


@dataclass(frozen=True, slots=True)
class ConnectionRecord:
    """A connection whose handshake is over: a line of the server's log."""

    connection: int  # its number, as requests name it
    client: str  # address and port
    server_name: str | None  # the host that the client asked for in its handshake, if any


@dataclass(frozen=True, slots=True)
class WorkerInput:
    """The certificate and sockets that a worker process inherits. Sockets are file descriptors."""

    number: int  # from 0 on
    own_id: int  # its number in connection IDs
    certificate_pem: str  # with its key
    sockets: tuple[int, ...]  # of the server's port
    inbox: int  # for packets that other workers hand over
    inboxes: Mapping[int, int]  # of all workers, by their numbers in connection IDs
    waits: bool = False  # reads no packets before it is told to


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """What a scheme that learns keeps between visits."""

    file: Path
    every_visit: bool = False  # learn from all visits of a client, however close together
    frozen: bool = False  # learn nothing more, and give every visit the order that most visits get
    beacons: bool = False  # append the script of the beacon to documents, and take its reports
    learner: str | None = None  # module of a process that searches orders in the background; None for no such process


@dataclass(frozen=True, slots=True)
class ServerInput:
    """The site to serve, and how: the first line of standard input, as JSON. The server stops when standard input ends."""

    site: ServedSite
    scheme: str = "eps"  # with parameters: "mixed:alpha=0.5"
    mapping: str | None = None  # table by name or file; None for the scheme's own
    settings: ServerSettings = field(default_factory=ServerSettings)
    memory: MemorySettings | None = None  # of scheme `adaptive`
    worker: WorkerInput | None = None  # for one of several processes on a port


INPUT = TypeAdapter(ServerInput)
FACTS = TypeAdapter(ServerFacts)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server process that listens."""

    process: Child
    facts: ServerFacts

    def take_log(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Requests that are over and connections that are established since the last call, as the server's log has them."""
        lines = self.process.take_lines()
        requests = [line["request"] for line in lines if "request" in line]
        return requests, [line["connection"] for line in lines if "connection" in line]


@asynccontextmanager
async def running_server(given: ServerInput, name: str, *, prefix: Sequence[str] = ()) -> AsyncIterator[RunningServer]:
    """Start a server, wait until it listens, and stop it at the end; it also stops if this process is killed.

    name: what the error calls it. prefix: words before the command, see children.child. Raises MixedschedError if it does not
    start.
    """
    async with child(
        "mixedsched.world.server",
        failure=f"the server for {name} did not start",
        settings=INPUT.dump_python(given, mode="json"),
        prefix=prefix,
    ) as process:
        yield RunningServer(process, FACTS.validate_python(process.first))
