"""What an edge is told: the web server behind it, the names it serves, and how much it may hold and wait."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from mixedsched.core.h3.forwarding import host_of
from mixedsched.errors import UsageError
from mixedsched.world.server.running import MemorySettings, ServerFacts, WorkerInput
from mixedsched.world.server.settings import ServerSettings

# Between two tries of an origin that cannot be reached, or two health checks of one that is not well: doubled each time.
PAUSE_MIN_S, PAUSE_MAX_S = 0.1, 5.0
_DEFAULT_PORTS = {"http": 80, "https": 443, "h2c": 80}


@dataclass(frozen=True, slots=True)
class OriginAddress:
    """Where the web server listens."""

    text: str  # as it was given
    is_tls: bool = False
    is_h2c: bool = False  # HTTP/2 without TLS, by prior knowledge
    host: str = ""  # of TCP
    port: int = 0
    socket: str = ""  # path of a Unix socket, instead

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read http://HOST[:PORT], https://HOST[:PORT], h2c://HOST[:PORT] or unix:/PATH. Raises UsageError."""
        fix = "give it like http://127.0.0.1:8080, https://app.example or unix:/run/app.sock"
        if text.startswith("unix:"):
            path = text.removeprefix("unix:").removeprefix("//")
            if not path.startswith("/"):
                raise UsageError(f"'{text}' is no origin", why="the path of the socket is not absolute", fix=fix)
            return cls(text, socket=path)
        try:
            parts = urlsplit(text)
            port = parts.port
            (parts.hostname or "").encode("idna")  # as asking for its address does
        except ValueError as error:
            raise UsageError(f"'{text}' is no origin", why=str(error), fix=fix) from error
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username or port == 0:
            raise UsageError(f"'{text}' is no origin", fix=fix)
        if parts.path not in ("", "/") or parts.query or parts.fragment:
            raise UsageError(
                f"'{text}' is no origin", why="requests are passed on with their own path", fix="leave out the path"
            )
        return cls(
            text, parts.scheme == "https", parts.scheme == "h2c", parts.hostname, port or _DEFAULT_PORTS[parts.scheme]
        )


def longer_pause_s(pause_s: float) -> float:
    """The pause behind one more failure. pause_s: the one before; 0 for none."""
    return min(PAUSE_MAX_S, max(PAUSE_MIN_S, 2 * pause_s))


def served_name(text: str) -> str:
    """A host name that is to be served, in the form in which names are compared. Raises UsageError."""
    bare = text.removeprefix("*.")
    host = host_of(f"[{bare}]" if ":" in bare else bare)
    if host is None:
        raise UsageError(f"'{text}' is no host name", fix="give it like shop.example or *.shop.example, without a port")
    return text[: len(text) - len(bare)] + host


@dataclass(frozen=True, slots=True)
class OriginLimits:
    """How the edge uses its origin."""

    connections: int = 64  # at a time, of HTTP/1.1, or requests over HTTP/2; those beyond wait in a fair queue
    connect_s: float = 5.0  # for a connection, beyond which clients get 504
    answer_s: float = 60.0  # until a response begins, beyond which clients get 504; or in the queue, 503
    silence_s: float = 300.0  # within a response that is wanted, beyond which it is cut off
    keep_s: float = 20.0  # for which an idle connection is kept
    health_path: str | None = None  # asked for again and again; None for no health checks
    health_s: float = 5.0  # between checks while the origin is healthy
    waiting: int = 10_000  # requests in the queue; beyond, clients get 503


@dataclass(frozen=True, slots=True)
class Buffers:
    """How much the edge holds of bodies, in bytes."""

    window_bytes: int = 256 * 1024  # read ahead of one response
    all_bytes: int = 64_000_000  # of all responses; beyond, only those with nothing to send are read
    spool: Path | None = None  # folder for what origins send faster than clients read; None to let origins wait
    spool_bytes: int = 1_000_000_000  # of one response in a file
    spool_all_bytes: int = 10_000_000_000  # in all files of a process; beyond, origins wait as without a spool
    request_bytes: int = 1_000_000_000  # of a request's body; beyond, clients get 413


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """A certificate and its key in PEM; the chain behind the certificate."""

    certificate: Path
    key: Path


def certificate_pairs(certificates: Sequence[Path], keys: Sequence[Path]) -> tuple[CertificateFiles, ...]:
    """Raises UsageError where they are not pairs."""
    if len(certificates) != len(keys):
        raise UsageError(
            f"there are {len(certificates)} certificates and {len(keys)} keys", fix="give a --key for each --cert"
        )
    return tuple(CertificateFiles(*pair) for pair in zip(certificates, keys, strict=True))


@dataclass(frozen=True, slots=True)
class EdgeLogs:
    """Logs besides that of standard output."""

    access: Path | None = None  # a line for each request in the combined format of web servers
    access_json: Path | None = None  # or as JSON
    metrics_port: int | str | None = None
    """Counters in Prometheus' text format on this port of 127.0.0.1, 0 for any free one; or, in a worker, on a Unix socket."""


@dataclass(frozen=True, slots=True)
class EdgeSettings:
    """What an edge does."""

    origin: str  # http://HOST[:PORT], https://HOST[:PORT], h2c://HOST[:PORT] or unix:/PATH
    hosts: tuple[str, ...] = ()  # names that are served, "*.example.org" among them; none: those of the certificates
    certificates: tuple[CertificateFiles, ...] = ()  # none: one made for the hosts, for tests
    origin_host: str | None = None  # what the origin is asked for as Host; None for what the client asked for
    origin_ca: Path | None = None  # whom to trust about an https origin; None for the system's authorities
    origin_verify: bool = True  # whether an https origin must prove who it is
    rules: Path | None = None  # lines of a path's pattern and a priority
    limits: OriginLimits = field(default_factory=OriginLimits)
    buffers: Buffers = field(default_factory=Buffers)
    log: EdgeLogs = field(default_factory=EdgeLogs)


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """An edge to run, and how: the first line of standard input, as JSON. It stops when standard input ends."""

    edge: EdgeSettings
    scheme: str = "eps"  # with parameters: "mixed:alpha=0.5"
    mapping: str | None = None  # table by name or file; None for the scheme's own
    settings: ServerSettings = field(default_factory=ServerSettings)
    memory: MemorySettings | None = None  # of scheme `adaptive`
    worker: WorkerInput | None = None  # for one of several processes on a port


@dataclass(frozen=True, slots=True)
class EdgeFacts(ServerFacts):
    """An edge that listens: the first line of `edge --json`, as that of `serve` and the origin."""

    origin: str = ""
    metrics: str | None = None  # URL of the counters
