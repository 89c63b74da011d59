"""How a server is to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mixedsched.core.h3.qlog import MAX_TRACE_BYTES
from mixedsched.world.server.admission import RetryPolicy
from mixedsched.world.server.limits import Limits


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """What is to be seen of connections.

    qlog_folder: where traces go, one file a connection; None for none. qlog_bytes: the longest that one may be. explain:
    whether to tell which streams get the packets. connections: whether to tell of each connection, not of requests alone.
    """

    qlog_folder: Path | None = None
    qlog_bytes: int = MAX_TRACE_BYTES
    explain: bool = False
    connections: bool = False

    @property
    def is_wanted(self) -> bool:
        return self.qlog_folder is not None or self.explain


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where to listen, and how.

    port: 0 for any free one. workers: processes that share the port. gso: send flights of packets in one system call where
    the kernel can; no good through a kernel's emulated link, to which a flight is one packet. grace_s: how long responses
    under way may take when the server is told to stop. stop_with_stdin: stop when standard input ends. across_connections:
    connections from one IP address share a scheduler, see h3.shared; with one worker only.
    """

    host: str = "127.0.0.1"
    port: int = 0
    congestion_control: str = "cubic"
    workers: int = 1
    gso: bool = True
    retry: RetryPolicy = RetryPolicy.AUTO
    grace_s: float = 2.0
    limits: Limits = field(default_factory=Limits)
    stop_with_stdin: bool = False
    watch: WatchSettings = field(default_factory=WatchSettings)
    across_connections: bool = False


@dataclass(frozen=True, slots=True)
class Listening:
    """What became of the settings: where the server listens, and what the system has granted."""

    host: str
    port: int
    workers: int
    gso: bool
    receive_buffer_bytes: int
    send_buffer_bytes: int
    has_short_buffers: bool
