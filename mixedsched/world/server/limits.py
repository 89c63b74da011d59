"""What a server lets its clients use, so that none can take it away from the others."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds. Clients beyond them are refused or wait; those already served notice nothing.

    connections: open at a time, in all. connections_per_client: from one address, or one /64 network of IPv6.
    handshakes: not finished yet; first packets beyond are ignored, so the client sends them again.
    unproven_handshakes: of clients that have not shown that their address is theirs; beyond, they must (Retry).
    handshake_s: for a handshake; idle_s: without a packet from the client. A connection beyond is closed.
    streams: requests of one connection at a time.
    receive_bytes: what a client may send ahead of our reading, per stream and in all: requests are short.
    memory_bytes: of the whole process, mapped files not counted; with more in use, newcomers are refused.
    """

    connections: int = 1000
    connections_per_client: int = 500
    handshakes: int = 500
    unproven_handshakes: int = 100
    handshake_s: float = 10.0
    idle_s: float = 30.0
    streams: int = 128
    receive_bytes: int = 256 * 1024
    memory_bytes: int = 1_000_000_000

    def __post_init__(self) -> None:
        for item in fields(self):
            if getattr(self, item.name) < (0 if item.name == "unproven_handshakes" else 1e-3):
                raise ValueError(f"{item.name} must be positive, got {getattr(self, item.name)}")

    def shared_among(self, processes: int) -> Self:
        """The limits of each of several processes, so that together they keep these; a client may land on any of them."""
        return replace(
            self,
            **{
                name: -(-getattr(self, name) // processes)
                for name in ("connections", "handshakes", "unproven_handshakes", "memory_bytes")
            },
        )
