"""h2, as a gateway needs it that shares a connection among all its clients. Pinned by tests/world/edge/test_http2.py."""

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event
from h2.exceptions import InvalidBodyLengthError, ProtocolError
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame

HEAD_BYTES_MAX = 256 * 1024
"""Of a response; beyond, the connection can only end, with all requests on it."""
_WHY_MOST = 200  # characters of h2's reason, which may hold a whole field


class Malformed(Event):
    """A response is malformed; its stream was reset."""

    def __init__(self, stream_id: int, why: str) -> None:
        self.stream_id = stream_id
        self.why = why


class ClientH2(H2Connection):
    """h2, but for two things that would cost all requests of a connection.

    It takes and sends nothing more behind GOAWAY, though requests up to the last one that it names go on (RFC 9113 section
    6.8): nginx says GOAWAY after 1000 requests, whatever is under way. And it ends the connection for a response that is
    malformed, such as one with a space behind a field or of another length than announced, which is a fault of its stream only
    (section 8.1.1).
    """

    def __init__(self, config: H2Configuration) -> None:
        super().__init__(config)
        self.decoder.max_header_list_size = HEAD_BYTES_MAX  # at once, as an origin may not have read our settings yet

    def _receive_headers_frame(self, frame: HeadersFrame) -> tuple[list[Frame], list[Event]]:
        try:
            return super()._receive_headers_frame(frame)
        except ProtocolError as error:
            # What could not be decoded, or must not come now, has a cause or a class of its own.
            if type(error) is not ProtocolError or error.__cause__ is not None or frame.stream_id not in self.streams:
                raise
            return self._refuse(frame.stream_id, f"the response is malformed: {str(error)[:_WHY_MOST]}")

    def _receive_data_frame(self, frame: DataFrame) -> tuple[list[Frame], list[Event]]:
        try:
            return super()._receive_data_frame(frame)
        except InvalidBodyLengthError:
            refused = self._refuse(frame.stream_id, "the response is not as long as its content-length says")
            self.acknowledge_received_data(frame.flow_controlled_length, frame.stream_id)
            return refused

    def _refuse(self, stream_id: int, why: str) -> tuple[list[Frame], list[Event]]:
        frames = self._get_stream_by_id(stream_id).reset_stream(ErrorCodes.PROTOCOL_ERROR)
        return frames, [Malformed(stream_id, why)]

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        event = ConnectionTerminated()
        event.last_stream_id = frame.last_stream_id
        return [], [event]
