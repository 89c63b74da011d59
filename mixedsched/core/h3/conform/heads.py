"""Reads the head of a response as a client sees it, from a stream's first bytes."""

from dataclasses import dataclass

import pylsqpack

from mixedsched.core.h3._frames import FrameReader
from mixedsched.core.h3.codes import FrameType

_MOST_HEAD_BYTES = 64_000


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Of a final response. server: its `server` field, as sent; body_bytes: None if it is not announced."""

    status: int
    server: str
    body_bytes: int | None


class HeadReader:
    """Of one stream. Interim responses are passed over; what cannot be read gives no head."""

    def __init__(self, decoder: pylsqpack.Decoder, stream_id: int) -> None:
        self._decoder = decoder
        self._stream_id = stream_id
        self._frames = FrameReader()
        self._is_over = False

    def feed(self, data: bytes) -> ResponseHead | None:
        """The head once it is complete, None before and after."""
        if self._is_over:
            return None
        self._frames.feed(data)
        while (head := self._frames.head()) is not None:
            if head.type != FrameType.HEADERS or head.size_bytes > _MOST_HEAD_BYTES:
                self._frames.skip()
                continue
            payload = self._frames.payload()
            if payload is None:
                return None
            found = self._decode(payload)
            if found is None or found.status >= 200:
                self._is_over = True
                return found
        return None

    def _decode(self, payload: bytes) -> ResponseHead | None:
        try:
            _, lines = self._decoder.feed_header(self._stream_id, payload)
            fields = dict(reversed([(name, value) for name, value in lines]))
            length = fields.get(b"content-length")
            return ResponseHead(
                int(fields[b":status"]),
                fields.get(b"server", b"").decode("latin-1"),
                int(length) if length is not None else None,
            )
        except (pylsqpack.DecompressionFailed, pylsqpack.StreamBlocked, KeyError, ValueError):
            return None
