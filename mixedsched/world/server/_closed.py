"""Connections that were closed a moment ago, whose clients may have missed it (RFC 9000 section 10.2.1)."""

from collections.abc import Iterable
from dataclasses import dataclass

KEPT_S = 2.0  # beyond three probe timeouts of everyday networks
MAX_KEPT = 1000
_MAX_GROWTH = 3  # of an answer over the packet it answers, as towards addresses that are not validated


@dataclass(slots=True)
class _Closed:
    datagram: bytes
    until_s: float
    packets: int = 0  # that have come since


class ClosedConnections:
    """Answers the 1st, 2nd, 4th, 8th ... packet that still comes for a closed connection with its CONNECTION_CLOSE.

    Each is remembered for KEPT_S, the latest MAX_KEPT of them. All times are seconds of the caller's clock.
    """

    def __init__(self) -> None:
        self._by_id: dict[bytes, _Closed] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def remember(self, connection_ids: Iterable[bytes], datagram: bytes, now_s: float) -> None:
        """Remember the CONNECTION_CLOSE of a closed connection. connection_ids: that lead to it."""
        self._drop_old(now_s)
        closed = _Closed(datagram, now_s + KEPT_S)
        for connection_id in connection_ids:
            self._by_id[connection_id] = closed
        while len(self._by_id) > MAX_KEPT:
            del self._by_id[next(iter(self._by_id))]

    def answer(self, connection_id: bytes, size_bytes: int, now_s: float) -> bytes | None:
        """The packet to answer one of this size with; None for none."""
        closed = self._by_id.get(connection_id)
        if closed is None or now_s >= closed.until_s:
            return None
        closed.packets += 1
        is_power_of_two = closed.packets & (closed.packets - 1) == 0
        fits = len(closed.datagram) <= _MAX_GROWTH * size_bytes
        return closed.datagram if is_power_of_two and fits else None

    def _drop_old(self, now_s: float) -> None:
        """They are in order of time, so the first that is still valid ends the search."""
        for connection_id, closed in tuple(self._by_id.items()):
            if closed.until_s > now_s:
                return
            del self._by_id[connection_id]
