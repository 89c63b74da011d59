"""Facts about a server and its connections, as its log has them."""

from dataclasses import asdict, dataclass
from typing import Any, Self

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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Self:
        """Undoes to_dict, JSON in between or not."""
        return cls(**{**facts, "hosts": tuple(facts["hosts"])})


@dataclass(frozen=True, slots=True)
class ConnectionRecord:
    """A connection whose handshake is over: a line of the server's log."""

    connection: int  # its number, as requests name it
    client: str  # address and port
    server_name: str | None  # the host that the client asked for in its handshake, if any

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
