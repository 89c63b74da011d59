"""Reads one request stream: field sections whole, the body counted and dropped."""

from collections import deque
from collections.abc import Iterator

from mixedsched.core.h3._frames import FrameHead, FrameReader
from mixedsched.core.h3.codes import RESERVED_FRAME_TYPES, ErrorCode, FrameType, Http3Error, StreamError

_NOT_HERE = frozenset(
    {
        FrameType.CANCEL_PUSH,
        FrameType.SETTINGS,
        FrameType.PUSH_PROMISE,
        FrameType.GOAWAY,
        FrameType.MAX_PUSH_ID,
        FrameType.PRIORITY_UPDATE_REQUEST,
        FrameType.PRIORITY_UPDATE_PUSH,
        *RESERVED_FRAME_TYPES,
    }
)


class RequestStream:
    """The client's half of a request stream, in pieces of any size."""

    def __init__(self, stream_id: int) -> None:
        self.stream_id = stream_id
        self.sections: deque[bytes] = deque()  # encoded (head, then trailers), waiting to be decoded
        self.is_blocked = False  # the first section waits for the encoder stream
        self.has_head = False  # and it is decoded
        self.content_length: int | None = None  # as the head announced it
        self.body_bytes = 0
        self.is_ended = False  # the client has finished the stream
        self.is_abandoned = False  # what still comes is dropped
        self.counted_bytes = 0  # how much of held_bytes its owner has counted last
        self._frames = FrameReader()
        self._sections_seen = 0
        self._idle_frames = 0

    @property
    def held_bytes(self) -> int:
        """Bytes that were fed and are kept."""
        return self._frames.held_bytes + sum(len(section) for section in self.sections)

    def abandon(self) -> None:
        """Drop what was kept and whatever is still to come."""
        self.is_abandoned = True
        self.is_blocked = False
        self.sections.clear()
        self._frames = FrameReader()

    def feed(self, data: bytes, max_section_bytes: int) -> Iterator[FrameHead]:
        """Take the next bytes; yields the frames completed by them, and those of the body as soon as they begin.

        A HEADERS frame longer than max_section_bytes is yielded as it begins, too; the caller then abandons the stream.
        Raises Http3Error.
        """
        self._frames.feed(data)
        while (head := self._frames.head()) is not None:
            if head.type == FrameType.HEADERS:
                if self._sections_seen == 2:
                    raise Http3Error(ErrorCode.H3_FRAME_UNEXPECTED, "HEADERS after trailers")
                if head.size_bytes <= max_section_bytes:
                    section = self._frames.payload()
                    if section is None:
                        return
                    self._sections_seen += 1
                    self.sections.append(section)
            elif head.type == FrameType.DATA:
                if self._sections_seen != 1:
                    raise Http3Error(ErrorCode.H3_FRAME_UNEXPECTED, "DATA before the head or after trailers")
                self._skip(head)
                self.body_bytes += head.size_bytes
            elif head.type in _NOT_HERE:
                raise Http3Error(ErrorCode.H3_FRAME_UNEXPECTED, "frame not allowed on a request stream")
            else:
                self._skip(head)
            yield head
            if self.is_abandoned:
                return

    def _skip(self, head: FrameHead) -> None:
        self._frames.skip()
        if head.type != FrameType.DATA or head.size_bytes == 0:
            self._idle_frames += 1

    def pop_idle_frames(self) -> int:
        """How many useless frames have come since the last call."""
        idle_frames, self._idle_frames = self._idle_frames, 0
        return idle_frames

    def require_complete(self) -> None:
        """Check the request if its stream has ended. Raises Http3Error or StreamError."""
        if not self.is_ended or self.is_abandoned:
            return
        if not self._frames.is_between_frames:
            raise Http3Error(ErrorCode.H3_FRAME_ERROR, "the stream ends within a frame")
        if self.is_blocked:
            return  # it is checked again when its sections are decoded
        if not self.has_head:
            raise StreamError(ErrorCode.H3_REQUEST_INCOMPLETE, "the stream ends without a request")
        if self.content_length is not None and self.content_length != self.body_bytes:
            raise StreamError(ErrorCode.H3_MESSAGE_ERROR, "the body is not as long as content-length says")
