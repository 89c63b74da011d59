"""Bytes that were late: those of a less urgent response that left while a more urgent one had bytes to send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mixedsched.model.priority import URGENCY_MAX

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._streams import PullingSender


class LateBytes:
    """Counts, for each urgency, the responses of one connection that have bytes to send which flow control lets leave.

    late_bytes: of frames that left although a response with a lower number of urgency was counted, repeats included. A response
    that waits for its body, for credit, or has everything in flight, is not counted, so nothing is late because of it.
    """

    def __init__(self) -> None:
        self.late_bytes = 0
        self._ready = [0] * (URGENCY_MAX + 1)

    def turned(self, sender: PullingSender, *, is_ready: bool) -> None:
        """A response has bytes to send now, or none."""
        if sender.is_ready is not is_ready:
            sender.is_ready = is_ready
            self._ready[sender.urgency] += 1 if is_ready else -1

    def moved(self, sender: PullingSender, urgency: int) -> None:
        """A response has another urgency."""
        if sender.is_ready:
            self._ready[sender.urgency] -= 1
            self._ready[urgency] += 1
        sender.urgency = urgency

    def sent(self, sender: PullingSender, size_bytes: int) -> None:
        """A frame of a response leaves."""
        if sender.urgency and any(self._ready[: sender.urgency]):
            self.late_bytes += size_bytes
