"""What a client writes on its streams, legal or not: frames and field sections as bytes."""

from dataclasses import dataclass

import pylsqpack
from aioquic.buffer import encode_uint_var

from mixedsched.core.h3._frames import encode_frame
from mixedsched.core.h3.codes import FrameType, StreamType

CONTROL, ENCODER, DECODER = 2, 6, 10
"""IDs of a client's unidirectional streams, in the order in which it opens them."""

Field = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class WirePiece:
    """Bytes for a stream. waits: whether the server gets time to answer before the next piece."""

    stream_id: int
    data: bytes
    ends: bool = False
    waits: bool = False


SETTINGS = encode_frame(FrameType.SETTINGS, b"")
"""Nothing is set, so that field sections come without a dynamic table."""
BEGINNING = bytes([StreamType.CONTROL]) + SETTINGS
"""The beginning of a control stream."""


def frame(frame_type: int, payload: bytes = b"") -> bytes:
    """A whole frame."""
    return encode_frame(frame_type, payload)


def update(stream_id: int, value: str, *, for_push: bool = False) -> bytes:
    """A PRIORITY_UPDATE frame."""
    kind = FrameType.PRIORITY_UPDATE_PUSH if for_push else FrameType.PRIORITY_UPDATE_REQUEST
    return encode_frame(kind, encode_uint_var(stream_id) + value.encode())


def request(authority: str, path: str, priorities: tuple[str, ...] = ()) -> bytes:
    """The HEADERS frame of a GET. priorities: the values of its priority fields, one for each line."""
    fields: list[Field] = [
        (b":method", b"GET"),
        (b":scheme", b"https"),
        (b":authority", authority.encode()),
        (b":path", path.encode()),
        (b"user-agent", b"mixedsched"),
        *((b"priority", value.encode()) for value in priorities),
    ]
    return encode_frame(FrameType.HEADERS, pylsqpack.Encoder().encode(0, fields)[1])
