"""Reads one request stream: field sections whole, the body counted and dropped."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from mixedsched.core.h3.codes import RESERVED_FRAME_TYPES, ErrorCode, FrameType, Http3Error
from mixedsched.core.h3.frames import FrameHead, FrameReader

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
    """The client's half of a request stream, in pieces of any size.

    sections: encoded field sections (head, then trailers) that wait to be decoded, is_blocked: for the encoder stream.
    has_head: whether the head was decoded. content_length: what it announced. is_ended: whether the client has finished the
    stream. is_abandoned: whatever still comes is dropped. counted_bytes: what its owner has last counted of held_bytes.
    """

    def __init__(self, stream_id: int) -> None:
        self.stream_id = stream_id
        self.sections: deque[bytes] = deque()
        self.is_blocked = False
        self.has_head = False
        self.content_length: int | None = None
        self.body_bytes = 0
        self.is_ended = False
        self.is_abandoned = False
        self.counted_bytes = 0
        self._frames = FrameReader()
        self._sections_seen = 0
        self._idle_frames = 0

    @property
    def held_bytes(self) -> int:
        """How much is kept of what was fed."""
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
        """How many frames came that bring nothing, since the last call."""
        idle_frames, self._idle_frames = self._idle_frames, 0
        return idle_frames

    def require_no_cut_frame(self) -> None:
        """Raises Http3Error if the stream has ended within a frame."""
        if self.is_ended and not self.is_abandoned and not self._frames.is_between_frames:
            raise Http3Error(ErrorCode.H3_FRAME_ERROR, "the stream ends within a frame")
