"""Speaks HTTP/3 to our layer byte by byte, without QUIC: every frame, legal or not, in pieces of any size."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pylsqpack
from aioquic.buffer import encode_uint_var

from mixedsched.core.h3._http import HttpLayer
from mixedsched.core.h3.codes import Http3Error
from mixedsched.core.h3.events import HttpEvent, RequestReceived
from mixedsched.core.h3.response import Headers

DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID = 0x00, 0x01, 0x03, 0x04, 0x05, 0x07, 0x0D
REQUEST_UPDATE, PUSH_UPDATE = 0xF0700, 0xF0701
CONTROL, ENCODER, DECODER = 2, 6, 10  # the client's streams, in the order in which most open them

GET: Headers = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"pair.test"), (b":path", b"/10")]

POST: Headers = [(b":method", b"POST"), *GET[1:]]


def frame(frame_type: int, payload: bytes = b"") -> bytes:
    return encode_uint_var(frame_type) + encode_uint_var(len(payload)) + payload


def update(stream_id: int, value: bytes, frame_type: int = REQUEST_UPDATE) -> bytes:
    return frame(frame_type, encode_uint_var(stream_id) + value)


def section(fields: Headers) -> bytes:
    """A field section that needs no dynamic table."""
    return pylsqpack.Encoder().encode(0, fields)[1]


def head(*more: tuple[bytes, bytes], fields: Headers = GET) -> bytes:
    """A HEADERS frame."""
    return frame(HEADERS, section([*fields, *more]))


class RecordingQuic:
    """Stands where the QUIC connection does. sent: stream ID -> bytes; ended: IDs; resets, stops: (stream ID, error code);
    held: stream ID -> bytes that count against the client's credit."""

    def __init__(self) -> None:
        self.sent: dict[int, bytearray] = {}
        self.ended: list[int] = []
        self.resets: list[tuple[int, int]] = []
        self.stops: list[tuple[int, int]] = []
        self.held: dict[int, int] = {}
        self._next_id = 3

    def get_next_available_stream_id(self, is_unidirectional: bool = False) -> int:
        assert is_unidirectional, "a server opens no other streams"
        self._next_id += 4
        return self._next_id - 4

    def send_stream_data(self, stream_id: int, data: bytes, end_stream: bool = False) -> None:
        self.sent.setdefault(stream_id, bytearray()).extend(data)
        if end_stream:
            self.ended.append(stream_id)

    def reset_stream(self, stream_id: int, error_code: int) -> None:
        self.resets.append((stream_id, error_code))

    def stop_stream(self, stream_id: int, error_code: int) -> None:
        self.stops.append((stream_id, error_code))

    def hold_received(self, stream_id: int, size_bytes: int) -> None:
        self.held[stream_id] = self.held.get(stream_id, 0) + size_bytes

    def release_received(self, stream_id: int, size_bytes: int | None = None) -> None:
        left = self.held.pop(stream_id, 0) - (size_bytes or 0)
        if size_bytes is not None and left > 0:
            self.held[stream_id] = left


class Raw:
    """A layer and what it made of what it was told. error_code: that of the connection, None while it lives."""

    def __init__(self, *, with_settings: bool = True, is_live: bool = False) -> None:
        self.quic = RecordingQuic()
        self.layer = HttpLayer(self.quic, 0.0, is_live=is_live)
        self.events: list[HttpEvent] = []
        self.error_code: int | None = None
        self.now_s = 0.0
        if with_settings:
            self.feed(CONTROL, b"\0" + frame(SETTINGS))

    def feed(self, stream_id: int, data: bytes, end_stream: bool = False) -> Raw:
        """Hand over the next bytes of a stream."""
        if self.error_code is None:
            try:
                self.events += self.layer.receive(stream_id, data, end_stream, self.now_s)
            except Http3Error as error:
                self.error_code = error.error_code
        return self

    def feed_pieces(self, stream_id: int, data: bytes, cuts: Iterable[int], end_stream: bool = False) -> Raw:
        """Hand it over cut at these places."""
        places = [0, *sorted(cuts), len(data)]
        for start, end in pairwise(places):
            self.feed(stream_id, data[start:end], end_stream and end == len(data) and start == places[-2])
        return self

    def reset(self, stream_id: int) -> Raw:
        """The client cuts its half of a stream off."""
        try:
            self.events += self.layer.reset(stream_id, self.now_s)
        except Http3Error as error:
            self.error_code = error.error_code
        return self

    def stop(self, stream_id: int) -> Raw:
        """The client does not want our half of a stream."""
        try:
            self.layer.stopped(stream_id, self.now_s)
        except Http3Error as error:
            self.error_code = error.error_code
        return self

    @property
    def requests(self) -> list[int]:
        """The streams whose requests have arrived."""
        return [event.stream_id for event in self.events if isinstance(event, RequestReceived)]
