"""The client's first message, of which aioquic's server forgets the host name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aioquic import tls
from aioquic.buffer import Buffer  # type: ignore[attr-defined]

from mixedsched.core.h3.certificate import Certificate

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._connection import ScheduledConnection


class HelloReader:
    """Notes the host name of a ClientHello (RFC 6066 section 3) as the connection's `server_name`.

    handle: what aioquic does with the message. choose_certificate: the one to show for that name, if any.
    """

    def __init__(
        self,
        connection: ScheduledConnection,
        handle: Callable[..., None],
        choose_certificate: Callable[[str | None], Certificate] | None,
    ) -> None:
        self._connection = connection
        self._handle = handle
        self._choose_certificate = choose_certificate

    def handle(self, message: Buffer, *buffers: Buffer) -> None:
        start = message.tell()
        name = self._connection.server_name = tls.pull_client_hello(message).server_name
        message.seek(start)
        if self._choose_certificate is not None:
            chosen, context = self._choose_certificate(name), self._connection.tls
            context.certificate, context.certificate_chain = chosen.certificate, list(chosen.chain)
            context.certificate_private_key = chosen.private_key
        self._handle(message, *buffers)
