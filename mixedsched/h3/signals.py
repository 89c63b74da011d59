"""What clients signal about requests: fields and frames merged, early frames kept until their request arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mixedsched.h3.control import H3_ID_ERROR, ControlStreamError, PriorityUpdate
from mixedsched.h3.response import RequestHead
from mixedsched.priority import Priority, parse_field


def updated_priority(update: PriorityUpdate, stream_limit: int) -> Priority | None:
    """What a frame says; None if its value is no dictionary, so that it is to be ignored.

    stream_limit: number of request streams allowed so far. Raises ControlStreamError for a stream beyond it.
    """
    if update.stream_id >= 4 * stream_limit:
        raise ControlStreamError(H3_ID_ERROR, "PRIORITY_UPDATE beyond the stream limit")
    return update.parameters.over(Priority()) if update.parameters is not None else None


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
        self._early: dict[int, Priority] = {}

    def keep(self, stream_id: int, priority: Priority) -> None:
        """Remember an update that came before its request."""
        self._early[stream_id] = priority

    def of_request(self, stream_id: int, head: RequestHead) -> Signal:
        """The signal of a request that has arrived."""
        if stream_id in self._early:
            return Signal(self._early[stream_id], "update")
        lines = head.field_lines(b"priority")
        return Signal(parse_field(lines), "field" if lines else "default")

    def forget(self, stream_id: int) -> None:
        self._early.pop(stream_id, None)
