"""How a server runs: where it listens, what it lets its clients use, and what it logs."""

from dataclasses import dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from typing import Self

from mixedsched.core.h3 import MAX_TRACE_BYTES
from mixedsched.core.h3.datagram_size import BASE_BYTES, MAX_BYTES
from mixedsched.errors import UsageError
from mixedsched.model.congestion import CongestionControl
from mixedsched.units import parse_duration_s

MAX_STREAMS = 1_000_000  # that may be allowed at a time; QUIC cannot express more than 2**60
_SHORTEST_S, _LONGEST_S = 0.001, 24 * 3600.0  # of a limit


class RetryPolicy(Enum):
    """When a client must prove its address before it costs us a handshake."""

    AUTO = "auto"  # while many handshakes of unproven addresses are under way
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds on what clients use, so that none takes it from the others: those beyond are refused or must wait."""

    connections: int = 1000  # open at a time, in all
    connections_per_client: int = 500  # from one address, or one /64 network of IPv6
    handshakes: int = 500  # under way; first packets beyond are ignored, and the client sends them again
    unproven_handshakes: int = 100  # of clients that have not proven their address; beyond, they must (Retry)
    handshake_s: float = 10.0  # a connection whose handshake takes longer is closed
    idle_s: float = 30.0  # and so is one without a packet from the client for so long
    streams: int = 128  # requests of one connection at a time
    receive_bytes: int = 256 * 1024  # what a client may send ahead of our reading, per stream
    receive_all_bytes: int = (
        1024 * 1024
    )  # and in all: more, so that what waits on one stream does not hold up the others
    memory_bytes: int = (
        1_000_000_000  # of the process, mapped files not counted; with more in use, new clients are refused
    )

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


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Logs besides that of requests."""

    qlog_folder: Path | None = None  # for traces, one file per connection
    qlog_bytes: int = MAX_TRACE_BYTES  # the largest size of a trace
    schedule: bool = False  # which responses get the packets
    connections: bool = False  # each connection when its handshake is over

    @property
    def has_observers(self) -> bool:
        """Whether anything is reported for each packet."""
        return self.qlog_folder is not None or self.schedule


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where a server listens, and how it works."""

    host: str = "127.0.0.1"
    port: int = 0  # 0 for any free one
    congestion_control: CongestionControl = CongestionControl.CUBIC
    workers: int = 1  # processes that share the port
    gso: bool = True
    """Send flights of packets in one system call where the kernel can. Not through a link that a kernel emulates: it would
    take a flight for one packet."""
    retry: RetryPolicy = RetryPolicy.AUTO
    grace_s: float = 2.0  # for responses under way when the server is told to stop
    limits: Limits = field(default_factory=Limits)
    stop_with_stdin: bool = False  # stop when standard input ends
    log: LogSettings = field(default_factory=LogSettings)
    max_datagram_bytes: int | None = BASE_BYTES
    """The largest datagrams that are tried on a client's path; None for what the route's interface takes. With 1200, no larger
    ones are tried: measurements keep to that, as links count packets."""
    hand_over: Path | None = None
    """A Unix socket, by which a new server takes the port over from the one that runs."""
    across_connections: bool = False
    """Connections from one IP address share a scheduler, see h3.shared; with one worker only."""


def parse_limit_s(text: str, option: str) -> float:
    """The value of a time after which a connection is closed. Raises UsageError."""
    limit_s = parse_duration_s(text)
    if not _SHORTEST_S <= limit_s <= _LONGEST_S:
        raise UsageError(f"{option} {text} is not possible", fix="give a time from 1ms to 24h")
    return limit_s


def parse_datagram_bytes(text: str) -> int | None:
    """The value of --max-datagram-size; None for auto. Raises UsageError."""
    if text == "auto":
        return None
    if not (text.isascii() and text.isdigit() and BASE_BYTES <= int(text) <= MAX_BYTES):
        raise UsageError(
            f"--max-datagram-size {text} is not possible",
            why="QUIC needs 1200 bytes, and the server writes no more than 16000",
            fix=f"give a number from {BASE_BYTES} to {MAX_BYTES}, or auto",
        )
    return int(text)
