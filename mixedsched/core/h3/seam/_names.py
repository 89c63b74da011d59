"""The host name that a client gives in its handshake, which aioquic's server reads and forgets."""

from __future__ import annotations

from collections.abc import Callable

from aioquic import tls
from aioquic.buffer import Buffer  # type: ignore[attr-defined]


def note_server_name(context: tls.Context, noted: Callable[[str | None], None]) -> None:
    """Have a server's TLS tell the name in the ClientHello (RFC 6066 section 3); None if it has none."""
    handle_hello = context._server_handle_hello

    def handle(input_buf: Buffer, initial_buf: Buffer, handshake_buf: Buffer) -> None:
        start = input_buf.tell()
        noted(tls.pull_client_hello(input_buf).server_name)
        input_buf.seek(start)
        handle_hello(input_buf, initial_buf, handshake_buf)

    context._server_handle_hello = handle  # type: ignore[method-assign]
