"""What clients signal about requests: fields and frames merged, early frames kept until their request arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mixedsched.h3.control import H3_ID_ERROR, ControlStreamError, PriorityUpdate
from mixedsched.h3.response import RequestHead
from mixedsched.priority import Priority, parse_field


@dataclass(frozen=True, slots=True)
class Signal:
    """A request's priority as the client wants it, and how it said so (`default` = not at all)."""

    priority: Priority
    by: Literal["update", "field", "default"]


class Signals:
    """Merges the two ways of signalling on one connection.

    A PRIORITY_UPDATE outranks the `priority` field in whichever order they arrive (RFC 9218 section 7), and says all
    there is: what it omits has its default. Of several early frames for one stream the last one counts; they are bounded
    by the number of streams that the client may open.
    """

    def __init__(self) -> None:
        self._updates: dict[int, Priority] = {}

    def take_update(self, update: PriorityUpdate, stream_limit: int) -> Signal | None:
        """The new signal of the stream; None if the frame's value is no dictionary and is to be ignored.

        stream_limit: number of request streams allowed so far. Raises ControlStreamError for a stream beyond it.
        """
        if update.stream_id >= 4 * stream_limit:
            raise ControlStreamError(H3_ID_ERROR, "PRIORITY_UPDATE beyond the stream limit")
        if update.parameters is None:
            return None
        priority = update.parameters.over(Priority())
        self._updates[update.stream_id] = priority
        return Signal(priority, "update")

    def of_request(self, stream_id: int, head: RequestHead) -> Signal:
        """The signal of a request that has arrived."""
        if stream_id in self._updates:
            return Signal(self._updates[stream_id], "update")
        lines = head.field_lines(b"priority")
        return Signal(parse_field(lines), "field" if lines else "default")

    def forget(self, stream_id: int) -> None:
        self._updates.pop(stream_id, None)
