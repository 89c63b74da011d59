"""Priority signals of requests: read from frames and fields, merged, and overridden by the site's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mixedsched.core.h3._frames import read_varint
from mixedsched.core.h3.codes import ErrorCode, FrameType, Http3Error
from mixedsched.core.h3.response import Headers, RequestHead
from mixedsched.model.priority import Priority, PriorityParameters, parse_field, parse_parameters

SignalledBy = Literal["update", "field", "default"]
Trigger = Literal["update", "header", "response"]
"""The cause of a changed priority: a PRIORITY_UPDATE frame, the request's `priority` field, or the response's."""

MAX_SIGNAL_BYTES = 1024
"""Of a frame or of fields: room for extension parameters. What browsers send has under ten bytes."""


@dataclass(frozen=True, slots=True)
class PriorityUpdate:
    """A PRIORITY_UPDATE for a request stream. parameters: None for a value that is not a dictionary and must be ignored."""

    stream_id: int
    parameters: PriorityParameters | None

    def priority(self, stream_limit: int) -> Priority | None:
        """The priority that it asks for; None if it must be ignored.

        stream_limit: number of request streams allowed so far. Raises Http3Error for a stream beyond it.
        """
        if self.stream_id >= 4 * stream_limit:
            raise Http3Error(ErrorCode.H3_ID_ERROR, "PRIORITY_UPDATE beyond the stream limit")
        return self.parameters.over(Priority()) if self.parameters is not None else None


def read_update(frame_type: int, payload: bytes) -> PriorityUpdate:
    """Read a PRIORITY_UPDATE frame (RFC 9218 section 7). Raises Http3Error."""
    element = read_varint(payload, 0)
    if element is None:
        raise Http3Error(ErrorCode.H3_FRAME_ERROR, "PRIORITY_UPDATE without an element ID")
    element_id, start = element
    if frame_type == FrameType.PRIORITY_UPDATE_PUSH:
        raise Http3Error(ErrorCode.H3_ID_ERROR, "PRIORITY_UPDATE for a push that was never promised")
    if element_id % 4 != 0:
        raise Http3Error(ErrorCode.H3_ID_ERROR, "PRIORITY_UPDATE for a stream that does not carry requests")
    return PriorityUpdate(element_id, parse_parameters(payload[start:]))


NOTHING = PriorityParameters()


@dataclass(frozen=True, slots=True)
class Signal:
    """The priority of a request, as it was signalled.

    What the site says stays in force when the client changes its mind; the client decides about the rest (RFC 9218 section 8
    leaves that open).
    """

    client: Priority
    by: SignalledBy  # how the client said so; `default` if it did not
    server: PriorityParameters = NOTHING  # the `priority` field of the site's response
    asked: Priority | None = None  # what the client wanted when its request came, if it has changed its mind since

    @property
    def priority(self) -> Priority:
        """The priority in force: the site's parameters where there are any, the client's elsewhere."""
        return self.server.over(self.client)

    @property
    def is_signalled(self) -> bool:
        """Whether the client or the site said anything."""
        return self.by != "default" or self.server != NOTHING

    @property
    def is_late(self) -> bool:
        """Whether the client changed its mind after its request had come."""
        return self.asked is not None

    def updated(self, client: Priority) -> Signal:
        """The signal after a PRIORITY_UPDATE, which replaces all of the client's parameters."""
        changed = self.client if client != self.client else None
        return Signal(client, "update", self.server, self.asked if self.asked is not None else changed)

    def answered(self, fields: Headers) -> Signal:
        """The signal with the site's parameters from its response, several `priority` lines read as one dictionary."""
        lines = [value for name, value in fields if name == b"priority"]
        parameters = parse_parameters(b", ".join(lines)) if lines else None
        return self if parameters is None else Signal(self.client, self.by, parameters, self.asked)


class Signals:
    """Merges the two ways in which a client signals on one connection.

    A PRIORITY_UPDATE outranks the `priority` field in whichever order they arrive (RFC 9218 section 7); a parameter that it
    omits has its default. Of several early frames for one stream the last one counts; they are bounded by the number of streams
    that the client may open.
    """

    def __init__(self) -> None:
        self._early: dict[int, Priority] = {}

    def early(self, stream_id: int) -> Priority | None:
        """The update that came before its request, if any."""
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
            is_read = sum(map(len, lines)) <= MAX_SIGNAL_BYTES  # reading takes time
            return Signal(parse_field(lines if is_read else ()), "field")
        return Signal(Priority(incremental=head.method == "CONNECT"), "default")

    def forget(self, stream_id: int) -> None:
        self._early.pop(stream_id, None)
