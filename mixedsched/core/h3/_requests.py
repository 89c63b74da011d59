"""Reads one request stream: field sections whole, the body counted, and kept only for a responder that wants it. Says what
makes field sections malformed (RFC 9114 sections 4.2 and 4.3).
"""

import re
from collections import deque
from collections.abc import Iterator

from mixedsched.core.h3._frames import FrameHead, FrameReader
from mixedsched.core.h3.codes import RESERVED_FRAME_TYPES, ErrorCode, FrameType, Http3Error, StreamError
from mixedsched.core.h3.response import Headers, RequestHead

FIELD_OVERHEAD_BYTES = 32  # what each line adds to the size of a section (RFC 9114 section 4.2.2)

_NAME = re.compile(rb":?[!#$%&'*+\-.^_`|~0-9a-z]+")
_METHOD = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+\-.]*")  # RFC 3986 section 3.1
_BAD_VALUE = re.compile(rb"[\0\r\n]|\A[ \t]|[ \t]\Z")
_PSEUDO = frozenset({b":method", b":scheme", b":authority", b":path"})
_PSEUDO_EXTENDED = _PSEUDO | {b":protocol"}
_CONNECTION_SPECIFIC = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"})
_WITH_AUTHORITY = frozenset({b"http", b"https"})
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


def section_size_bytes(fields: Headers) -> int:
    """The uncompressed size of a field section, as SETTINGS_MAX_FIELD_SECTION_SIZE counts it."""
    return sum(len(name) + len(value) + FIELD_OVERHEAD_BYTES for name, value in fields)


def read_head(fields: Headers, *, extended: bool = False) -> RequestHead:
    """The head of a request. Raises StreamError where it is malformed.

    extended: whether CONNECT may name a protocol (RFC 9220), because our SETTINGS said so.
    """
    known = _PSEUDO_EXTENDED if extended else _PSEUDO
    pseudo: dict[bytes, bytes] = {}
    regular: Headers = []
    for name, value in fields:
        _require_valid_line(name, value)
        if not name.startswith(b":"):
            regular.append((name, value))
            _require_for_http3(name, value)
        elif regular or name in pseudo or name not in known:
            raise _malformed("a pseudo-header field that is unknown, doubled or late")
        else:
            pseudo[name] = value
    method, scheme = pseudo.get(b":method", b""), pseudo.get(b":scheme", b"")
    if not _METHOD.fullmatch(method):
        raise _malformed("no method")
    head = RequestHead(
        method.decode("ascii"),
        _authority(pseudo, regular).decode("latin-1"),
        pseudo.get(b":path", b"").decode("latin-1"),
        regular,
        pseudo[b":protocol"].decode("latin-1") if b":protocol" in pseudo else None,
    )
    if head.protocol is not None and method != b"CONNECT":
        raise _malformed("a protocol without CONNECT")
    if method == b"CONNECT" and head.protocol is None:
        if b":scheme" in pseudo or b":path" in pseudo or not head.authority:
            raise _malformed("CONNECT needs an authority and nothing else")
    elif not _SCHEME.fullmatch(scheme) or not head.path:
        raise _malformed("no scheme or no path")
    elif scheme.lower() in _WITH_AUTHORITY and (not head.authority or "@" in head.authority):
        raise _malformed("no authority, or one with user information")
    return head


def require_trailers(fields: Headers) -> None:
    """Check trailers, whose fields are all ignored, `priority` included. Raises StreamError where they are malformed."""
    for name, value in fields:
        _require_valid_line(name, value)
        if name.startswith(b":"):
            raise _malformed("a pseudo-header field in trailers")
        _require_for_http3(name, value)


def content_length(fields: Headers) -> int | None:
    """The length that a request announces for its body, None if it does not. Raises StreamError if it makes no sense."""
    values = {value for name, value in fields if name == b"content-length"}
    if not values:
        return None
    value = values.pop()
    if values or not value.isdigit() or len(value) > 18:
        raise _malformed("content-length is not one number")
    return int(value)


def _authority(pseudo: dict[bytes, bytes], regular: Headers) -> bytes:
    """From `:authority` or `host`, which must agree if there are both (RFC 9114 section 4.3.1)."""
    hosts = [value for name, value in regular if name == b"host"]
    named = [pseudo[b":authority"]] if b":authority" in pseudo else []
    if len(hosts) > 1 or (hosts and named and hosts != named):
        raise _malformed("two authorities")
    return (named or hosts or [b""])[0]


def _require_valid_line(name: bytes, value: bytes) -> None:
    if not _NAME.fullmatch(name) or _BAD_VALUE.search(value):
        raise _malformed("a field with forbidden characters")


def _require_for_http3(name: bytes, value: bytes) -> None:
    if name in _CONNECTION_SPECIFIC or (name == b"te" and value.lower() != b"trailers"):
        raise _malformed("a field that belongs to a connection")


def _malformed(reason: str) -> StreamError:
    return StreamError(ErrorCode.H3_MESSAGE_ERROR, reason)


class RequestStream:
    """The client's half of a request stream, in pieces of any size."""

    def __init__(self, stream_id: int, *, keeps_body: bool = False) -> None:
        self.stream_id = stream_id
        self.trailers: Headers = []  # of a kept body
        self.is_told = False  # that the request is complete
        self.sections: deque[bytes] = deque()  # encoded (head, then trailers), waiting to be decoded
        self.is_blocked = False  # the first section waits for the encoder stream
        self.has_head = False  # and it is decoded
        self.is_tunnel = False  # opened by an extended CONNECT
        self.has_earned = False  # a token of the flood gate, which cancelling takes back
        self.content_length: int | None = None  # as the head announced it
        self.body_bytes = 0
        self.is_ended = False  # the client has finished the stream
        self.is_abandoned = False  # what still comes is dropped
        self.counted_bytes = 0  # how much of held_bytes its owner has counted last
        self.credited_bytes = 0  # how much of early_bytes
        self._frames = FrameReader()
        self._sections_seen = 0
        self._idle_frames = 0
        self._keeps_body = keeps_body
        self._body = bytearray()  # what was not taken yet; in one piece, as a client may send single bytes
        self._in_data = False  # a kept DATA frame was begun

    @property
    def is_arriving(self) -> bool:
        """Whether more of the request is to come, and wanted."""
        return not (self.is_ended or self.is_abandoned)

    @property
    def held_bytes(self) -> int:
        """Bytes that were fed and are kept."""
        return self._frames.held_bytes + sum(len(section) for section in self.sections)

    @property
    def early_bytes(self) -> int:
        """Bytes of a kept body that has come before its head could be decoded, and may go on coming."""
        return 0 if self.has_head or self.is_abandoned else self.body_bytes

    def abandon(self) -> None:
        """Drop what was kept and whatever is still to come."""
        self.is_abandoned = True
        self.is_blocked = False
        self.sections.clear()
        self._body.clear()
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
                if self._keeps_body:
                    yield from self._keep(head)
                    if self._frames.is_between_frames or self._frames.held_bytes:
                        continue
                    return
                self._skip(head)
                self.body_bytes += head.size_bytes
            elif head.type in _NOT_HERE:
                raise Http3Error(ErrorCode.H3_FRAME_UNEXPECTED, "frame not allowed on a request stream")
            else:
                self._skip(head)
            yield head
            if self.is_abandoned:
                return

    def _keep(self, head: FrameHead) -> Iterator[FrameHead]:
        """Keep what is here of a DATA frame; yields it where it begins."""
        part = self._frames.part()
        begins, self._in_data = not self._in_data, len(part) < head.size_bytes
        self.body_bytes += len(part)
        self._body += part
        if head.size_bytes == 0:
            self._idle_frames += 1
        if begins:
            yield head

    def pop_body(self) -> bytes:
        """The part of the body that has come since the last call. Raises StreamError where it is longer than announced."""
        if self.content_length is not None and self.body_bytes > self.content_length:
            raise _malformed("the body is longer than content-length says")
        data, self._body = bytes(self._body), bytearray()
        return data

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
