"""What a server's connection keeps of its handshake once that is confirmed: what late packets still ask for, and no more.

aioquic holds all of it until the connection ends, which is most of what an idle connection costs: TLS with its keys, hashes
and the client's extensions, three buffers of 16 KiB for its messages, streams and packet spaces of two epochs whose keys are
discarded. And it makes a table of 33 bound methods for each connection, of which a client asks for a few.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aioquic import tls
from aioquic.quic.connection import QuicConnection
from aioquic.quic.crypto import CryptoPair, NoCallback
from aioquic.quic.recovery import QuicPacketSpace

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._connection import ScheduledConnection

_OVER = (tls.Epoch.INITIAL, tls.Epoch.HANDSHAKE)  # whose keys are discarded with the handshake's end
_NO_KEYS = CryptoPair()  # opens nothing, for all connections
_NO_SPACE = QuicPacketSpace()  # of all connections: nothing is received in it, as there are no keys
_NO_SPACE.discarded = True


class _NoKeysOfAnyVersion(dict[int, CryptoPair]):
    """For packets of the first epoch, which has keys for each version of QUIC."""

    def __missing__(self, version: int) -> CryptoPair:
        return _NO_KEYS


_NO_INITIAL_KEYS = _NoKeysOfAnyVersion()

_FrameHandler = tuple[Callable[..., None], frozenset[tls.Epoch]]
_known: dict[
    int, tuple[str, frozenset[tls.Epoch]]
] = {}  # what aioquic calls for each type of frame, and in which epochs


class FrameHandlers(dict[int, _FrameHandler]):
    """Stands where aioquic keeps its handlers by type of frame, and holds those that were asked for."""

    __slots__ = ("_connection",)

    def __init__(self, connection: QuicConnection) -> None:
        super().__init__()
        self._connection = connection
        if not _known:
            table = connection._QuicConnection__frame_handlers  # type: ignore[attr-defined]
            _known.update({kind: (handler.__name__, epochs) for kind, (handler, epochs) in table.items()})

    def __missing__(self, frame_type: int) -> _FrameHandler:
        name, epochs = _known[frame_type]
        found = self[frame_type] = getattr(self._connection, name), epochs
        return found


class _FinishedTls(tls.Context):
    """aioquic's TLS behind a handshake, which refuses all messages of a client; with what may be asked of it, and no more."""

    def __init__(self, finished: tls.Context) -> None:
        self.state = finished.state
        self.alpn_negotiated = finished.alpn_negotiated
        self.early_data_accepted = finished.early_data_accepted
        self.client_random = finished.client_random
        self._receive_buffer = finished._receive_buffer
        self._session_resumed = finished._session_resumed


def drop_handshake(connection: ScheduledConnection) -> None:
    """Let go what only a handshake needs. To be called once it is confirmed, and not from within a packet.

    Late packets of it find no keys, as with aioquic.
    """
    connection.tls = _FinishedTls(connection.tls)
    connection._crypto_buffers = {}
    for epoch in _OVER:
        connection._cryptos[epoch] = _NO_KEYS
        connection._spaces[epoch] = _NO_SPACE
        del connection._crypto_streams[epoch]
    if not connection._cryptos[tls.Epoch.ZERO_RTT].recv.is_valid():
        connection._cryptos[tls.Epoch.ZERO_RTT] = _NO_KEYS
    connection._cryptos_initial = _NO_INITIAL_KEYS
    connection._loss.spaces = [connection._spaces[tls.Epoch.ONE_RTT]]
    if connection._quic_logger is None:
        for keys in (connection._cryptos[tls.Epoch.ONE_RTT].recv, connection._cryptos[tls.Epoch.ONE_RTT].send):
            keys._setup_cb = keys._teardown_cb = NoCallback
