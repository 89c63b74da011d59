"""The last packets of closed connections, said again to clients that have missed them (RFC 9000 section 10.2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

KEPT_S = 2.0  # beyond three probe timeouts of everyday networks
MAX_KEPT = 1000
_MAX_GROWTH = 3  # of an answer over its question, as towards addresses that are not validated


@dataclass(slots=True)
class _Farewell:
    datagram: bytes
    until_s: float
    questions: int = 0


class Farewells:
    """Answers the 1st, 2nd, 4th, 8th ... packet that still comes for a closed connection with its CONNECTION_CLOSE.

    Kept for KEPT_S, the latest MAX_KEPT of them. All times are seconds of the caller's clock.
    """

    def __init__(self) -> None:
        self._by_id: dict[bytes, _Farewell] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def keep(self, connection_ids: Iterable[bytes], datagram: bytes, now_s: float) -> None:
        """A connection with these IDs has said this at last."""
        self._drop_old(now_s)
        farewell = _Farewell(datagram, now_s + KEPT_S)
        for connection_id in connection_ids:
            self._by_id[connection_id] = farewell
        while len(self._by_id) > MAX_KEPT:
            del self._by_id[next(iter(self._by_id))]

    def answer(self, connection_id: bytes, size_bytes: int, now_s: float) -> bytes | None:
        """What to say to a packet of this size; None for nothing."""
        farewell = self._by_id.get(connection_id)
        if farewell is None or now_s >= farewell.until_s:
            return None
        farewell.questions += 1
        is_power_of_two = farewell.questions & (farewell.questions - 1) == 0
        fits = len(farewell.datagram) <= _MAX_GROWTH * size_bytes
        return farewell.datagram if is_power_of_two and fits else None

    def _drop_old(self, now_s: float) -> None:
        """They were kept in order of time, so the first that is young ends the search."""
        for connection_id, farewell in tuple(self._by_id.items()):
            if farewell.until_s > now_s:
                return
            del self._by_id[connection_id]
