"""What is signalled about requests: fields and frames of the client merged, early frames kept, the site's own wishes on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mixedsched.core.h3.codes import ErrorCode, Http3Error
from mixedsched.core.h3.control import MAX_UPDATE_BYTES, PriorityUpdate
from mixedsched.core.h3.response import Headers, RequestHead
from mixedsched.model.priority import Priority, PriorityParameters, parse_field, parse_parameters

SignalledBy = Literal["update", "field", "default"]
Trigger = Literal["update", "header", "response"]
"""What changes a priority: a PRIORITY_UPDATE frame, the request's `priority` field, the response's."""


def updated_priority(update: PriorityUpdate, stream_limit: int) -> Priority | None:
    """What a frame says; None if its value is no dictionary, so that it is to be ignored.

    stream_limit: number of request streams allowed so far. Raises Http3Error for a stream beyond it.
    """
    if update.stream_id >= 4 * stream_limit:
        raise Http3Error(ErrorCode.H3_ID_ERROR, "PRIORITY_UPDATE beyond the stream limit")
    return update.parameters.over(Priority()) if update.parameters is not None else None


NOTHING = PriorityParameters()


@dataclass(frozen=True, slots=True)
class Signal:
    """The priority of a request, as it was signalled.

    client: what the client wants; by: how it said so (`default` = not at all). server: what the site says in its response's
    `priority` field. What the site says stays in force when the client changes its mind; about the rest the client decides
    (RFC 9218 section 8 leaves that open).
    """

    client: Priority
    by: SignalledBy
    server: PriorityParameters = NOTHING

    @property
    def priority(self) -> Priority:
        """What counts: the site's parameters where there are any, the client's elsewhere."""
        return self.server.over(self.client)

    @property
    def is_signalled(self) -> bool:
        """Whether anybody said anything."""
        return self.by != "default" or self.server != NOTHING

    def updated(self, client: Priority) -> Signal:
        """After a PRIORITY_UPDATE, which says all there is."""
        return Signal(client, "update", self.server)

    def answered(self, fields: Headers) -> Signal:
        """With what the response's fields say, several `priority` lines as one dictionary."""
        lines = [value for name, value in fields if name == b"priority"]
        parameters = parse_parameters(b", ".join(lines)) if lines else None
        return self if parameters is None else Signal(self.client, self.by, parameters)


class Signals:
    """Merges the two ways in which a client signals on one connection.

    A PRIORITY_UPDATE outranks the `priority` field in whichever order they arrive (RFC 9218 section 7), and says all
    there is: what it omits has its default. Of several early frames for one stream the last one counts; they are bounded
    by the number of streams that the client may open.
    """

    def __init__(self) -> None:
        self._early: dict[int, Priority] = {}

    def early(self, stream_id: int) -> Priority | None:
        """What was said of a request that has not come yet."""
        return self._early.get(stream_id)

    def keep(self, stream_id: int, priority: Priority) -> None:
        """Remember an update that came before its request."""
        self._early[stream_id] = priority

    def of_request(self, stream_id: int, head: RequestHead) -> Signal:
        """The signal of a request that has arrived. Tunnels are incremental unless the client says otherwise (section 11)."""
        early = self._early.pop(stream_id, None)
        if early is not None:
            return Signal(early, "update")
        lines = head.field_lines(b"priority")
        if lines:
            is_read = sum(map(len, lines)) <= MAX_UPDATE_BYTES  # as for frames; reading takes time
            return Signal(parse_field(lines if is_read else ()), "field")
        return Signal(Priority(incremental=head.method == "CONNECT"), "default")

    def forget(self, stream_id: int) -> None:
        self._early.pop(stream_id, None)
