"""h2, as a gateway needs it that shares a connection among all its clients. Pinned by tests/world/edge/test_http2.py."""

from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event
from h2.exceptions import InvalidBodyLengthError
from hyperframe.frame import DataFrame, Frame, GoAwayFrame


class WrongLength(Event):
    """A body is not as long as announced; its stream was reset."""

    def __init__(self, stream_id: int) -> None:
        self.stream_id = stream_id


class ClientH2(H2Connection):
    """h2, but for two things that would cost all requests of a connection.

    It takes and sends nothing more behind GOAWAY, though requests up to the last one that it names go on (RFC 9113 section
    6.8): nginx says GOAWAY after 1000 requests, whatever is under way. And it ends the connection for a body that is not as
    long as announced, which is a fault of its stream only (section 8.1.1).
    """

    def _receive_data_frame(self, frame: DataFrame) -> tuple[list[Frame], list[Event]]:
        try:
            return super()._receive_data_frame(frame)
        except InvalidBodyLengthError:
            stream = self._get_stream_by_id(frame.stream_id)
            frames = stream.reset_stream(ErrorCodes.PROTOCOL_ERROR)
            self.acknowledge_received_data(frame.flow_controlled_length, frame.stream_id)
            return frames, [WrongLength(frame.stream_id)]

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        event = ConnectionTerminated()
        event.last_stream_id = frame.last_stream_id
        return [], [event]
