"""The proof that an HTTP/1.1 origin has understood a WebSocket's handshake. HTTP/3 has none (RFC 9220, RFC 8441 section 5)."""

import base64
import hashlib
from collections.abc import Iterable

_OF_ALL = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3


def accept_value(key: bytes) -> bytes:
    """What `sec-websocket-accept` must be for this `sec-websocket-key` (RFC 6455 section 4.2.2)."""
    return base64.b64encode(hashlib.sha1(key + _OF_ALL, usedforsecurity=False).digest())


def why_not_accepted(key: bytes, fields: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Why this answer with status 101 does not open a WebSocket (RFC 6455 section 4.1); None if it does."""
    values = [value.strip() for name, value in fields if name == b"sec-websocket-accept"]
    if not values:
        return "it has no sec-websocket-accept"
    if values != [accept_value(key)]:
        return "its sec-websocket-accept belongs to another key"
    return None
