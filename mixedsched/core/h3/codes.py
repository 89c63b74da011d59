"""Numbers of HTTP/3 and QPACK as this server uses them, and errors of the connection or of one stream.

Sources: RFC 9114 sections 7.2, 8.1 and 11.2; RFC 9204 sections 5 and 6; RFC 9218 section 7.
"""

from enum import IntEnum


class ErrorCode(IntEnum):
    """Why a connection or a stream is closed."""

    H3_NO_ERROR = 0x100
    H3_GENERAL_PROTOCOL_ERROR = 0x101
    H3_INTERNAL_ERROR = 0x102
    H3_STREAM_CREATION_ERROR = 0x103
    H3_CLOSED_CRITICAL_STREAM = 0x104
    H3_FRAME_UNEXPECTED = 0x105
    H3_FRAME_ERROR = 0x106
    H3_EXCESSIVE_LOAD = 0x107
    H3_ID_ERROR = 0x108
    H3_SETTINGS_ERROR = 0x109
    H3_MISSING_SETTINGS = 0x10A
    H3_REQUEST_REJECTED = 0x10B
    H3_REQUEST_CANCELLED = 0x10C
    H3_REQUEST_INCOMPLETE = 0x10D
    H3_MESSAGE_ERROR = 0x10E
    QPACK_DECOMPRESSION_FAILED = 0x200
    QPACK_ENCODER_STREAM_ERROR = 0x201
    QPACK_DECODER_STREAM_ERROR = 0x202


class FrameType(IntEnum):
    DATA = 0x00
    HEADERS = 0x01
    CANCEL_PUSH = 0x03
    SETTINGS = 0x04
    PUSH_PROMISE = 0x05
    GOAWAY = 0x07
    MAX_PUSH_ID = 0x0D
    PRIORITY_UPDATE_REQUEST = 0xF0700
    PRIORITY_UPDATE_PUSH = 0xF0701


class StreamType(IntEnum):
    """The first bytes of a unidirectional stream."""

    CONTROL = 0x00
    PUSH = 0x01
    QPACK_ENCODER = 0x02
    QPACK_DECODER = 0x03


class Setting(IntEnum):
    QPACK_MAX_TABLE_CAPACITY = 0x01
    MAX_FIELD_SECTION_SIZE = 0x06
    QPACK_BLOCKED_STREAMS = 0x07
    ENABLE_CONNECT_PROTOCOL = 0x08
    H3_DATAGRAM = 0x33


# Left over from HTTP/2, and refused (RFC 9114 sections 7.2.8 and 7.2.4.1).
RESERVED_FRAME_TYPES = frozenset({0x02, 0x06, 0x08, 0x09})
RESERVED_SETTINGS = frozenset({0x00, 0x02, 0x03, 0x04, 0x05})


class Http3Error(Exception):
    """The peer broke a rule (or a limit) such that the connection must be closed with this code."""

    def __init__(self, error_code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.error_code = error_code


class StreamError(Exception):
    """The peer broke a rule such that one stream must be closed with this code, and the others go on."""

    def __init__(self, error_code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.error_code = error_code
