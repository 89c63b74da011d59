"""What is asked for, and what came back."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from cryptography import x509

from mixedsched.errors import InputError, MixedschedError, UsageError

BODY_MOST_BYTES = 1 << 20
"""More of a body is not read."""
TIMEOUT_S = 5.0
"""For a connection, and again for an answer."""
_AS_THEY_ARE = "".join(map(chr, range(0x21, 0x7F)))  # characters of a path; all others are escaped, as browsers do
FIELDS = {"user-agent": "mixedsched", "accept-encoding": "gzip"}
"""Of each request: contents are compared as they are sent to browsers, compressed or not."""


@dataclass(frozen=True, slots=True)
class HttpsPage:
    """A page at an https address."""

    host: str
    """Its name, as the DNS has it, or its address, without brackets."""
    port: int
    path: str
    """With its query, as it is sent."""
    trusted: Path | None = None
    """A file of certificates to trust instead of those that the system trusts."""

    @classmethod
    def of(cls, url: str, trusted: Path | None = None) -> "HttpsPage":
        """Read an address. Raises UsageError if it is not one on https, InputError for a file without certificates."""
        try:
            parts = urlsplit(url)
            port = parts.port or 443
            host = (parts.hostname or "").encode("idna").decode()
        except ValueError as error:  # UnicodeError among them
            raise UsageError(
                f"'{url}' is not an address", why=str(error), fix="for example https://example.org/"
            ) from error
        if parts.scheme != "https" or not host:
            raise UsageError(
                f"'{url}' is not an https address", why="HTTP/3 has no other", fix="for example https://example.org/"
            )
        if trusted is not None:
            _refuse_without_certificates(trusted)
        query = f"?{parts.query}" if parts.query else ""
        return cls(host, port, quote(f"{parts.path or '/'}{query}", safe=_AS_THEY_ARE), trusted)

    @property
    def authority(self) -> str:
        """As in a Host field."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 443 else f"{host}:{self.port}"


def _refuse_without_certificates(file: Path) -> None:
    try:
        ssl.create_default_context(cafile=str(file))
    except OSError as error:  # ssl.SSLError is one
        raise InputError(
            f"{file} holds no certificates", why=error.strerror or str(error), fix="name a file in PEM format"
        ) from error


@dataclass(frozen=True, slots=True)
class HttpsAnswer:
    """A response, or as much of it as was read."""

    status: int
    fields: Mapping[str, str]
    """By name in lower case; lines of one name are joined by commas."""
    body_bytes: int
    """Read, BODY_MOST_BYTES at most."""
    body_sha256: str
    """Of what was read, in hexadecimal digits."""
    connected_ms: float
    """From the beginning until the handshakes were complete."""
    certificate: x509.Certificate | None = None
    """The server's own; not known over QUIC, where the handshake has checked it."""


class RefusedError(MixedschedError):
    """A server gave no answer. `is_certificate`: because the certificate that it showed is not to be trusted."""

    def __init__(self, what: str, *, why: str = "", fix: str = "", is_certificate: bool = False) -> None:
        super().__init__(what, why=why, fix=fix)
        self.is_certificate = is_certificate


def joined_fields(lines: list[tuple[str, str]]) -> dict[str, str]:
    """By name in lower case; lines of one name are joined by commas (RFC 9110 section 5.3)."""
    values: dict[str, list[str]] = {}
    for name, value in lines:
        values.setdefault(name.lower(), []).append(value)
    return {name: ", ".join(of_name) for name, of_name in values.items()}
