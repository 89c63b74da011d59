"""One hostile connection against the HTTP/3 layer, without QUIC, and what must hold of it whatever the client sends."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from mixedsched.core.h3._http import HttpLayer
from mixedsched.core.h3._signals import PriorityUpdate
from mixedsched.core.h3.codes import Http3Error
from mixedsched.core.h3.events import HttpEvent, RequestFailed, RequestReceived, RequestTooLarge
from mixedsched.model.priority import parse_parameters
from tests.core.h3.raw import CONTROL, DECODER, ENCODER, RecordingQuic
from tests.fuzz import mutation, reference
from tests.fuzz.seeds import varint

OTHER = 14  # a unidirectional stream of any type

_CLOSED_CRITICAL = 0x104
_ALLOWED = {
    CONTROL: {_CLOSED_CRITICAL, 0x105, 0x106, 0x107, 0x108, 0x109, 0x10A},
    ENCODER: {_CLOSED_CRITICAL, 0x200, 0x201},  # 0x200: what it unblocks may be broken
    DECODER: {_CLOSED_CRITICAL, 0x202},
}
_ALLOWED[OTHER] = {0x103}.union(*_ALLOWED.values())
_ALLOWED_ON_REQUESTS = {0x105, 0x106, 0x200}
_ALLOWED_OF_STREAMS = {0x10B, 0x10D, 0x10E}


class RuleBrokenError(AssertionError):
    """The server did what it must not."""


@dataclass(slots=True)
class HostileStream:
    """pieces: still to be sent. sent: what was, behind the stream's type. ending: fin, reset, or neither."""

    stream_id: int
    start: bytes
    data: bytes
    is_mutated: bool
    ending: str
    pieces: list[bytes]
    sent: bytearray = field(default_factory=bytearray)
    is_over: bool = False
    is_read: bool = False
    is_answered: bool = False
    is_given_up: bool = False

    @property
    def body(self) -> bytes:
        """What has come behind the stream's type."""
        return bytes(self.sent[len(self.start) :])


@dataclass(slots=True)
class Outcome:
    """inputs: mutated streams; error_code: of the connection, None if it lived."""

    inputs: int
    error_code: int | None
    requests: int


class Trial:
    """A connection drawn from a number; the same number gives the same connection."""

    def __init__(self, number: int) -> None:
        self._rng = Random(number)
        self._quic = RecordingQuic()
        self._layer = HttpLayer(self._quic, 0.0)
        self._now_s = 0.0
        self._streams = {stream.stream_id: stream for stream in self._draw_streams()}
        self._updates: list[PriorityUpdate] = []
        self._requests = 0
        self._error_code: int | None = None

    def _draw_streams(self) -> list[HostileStream]:
        rng = self._rng
        wildness = rng.choice((0.1, 0.3, 1.0))  # calm connections live longer and get further
        streams = [
            self._draw(CONTROL, varint(0, rng.choice((0, 0, 2, 8))), *mutation.control_stream(rng, wildness)),
            self._draw(ENCODER, b"\x02", *mutation.encoder_stream(rng, wildness)),
        ]
        if rng.random() < 0.2:
            streams.append(self._draw(DECODER, b"\x03", *mutation.decoder_stream(rng, wildness)))
        if rng.random() < 0.1 * wildness:
            stream_type = rng.choice((0x00, 0x01, 0x02, 0x03, 0x21, 0x54, (1 << 62) - 1))
            streams.append(self._draw(OTHER, b"", varint(stream_type) + rng.randbytes(rng.randrange(9)), True))
        for index in range(rng.randrange(1, 7)):
            streams.append(self._draw(4 * index, b"", *mutation.request_stream(index, rng, wildness)))
        self._inputs = sum(stream.is_mutated for stream in streams)
        return streams

    def _draw(self, stream_id: int, start: bytes, data: bytes, is_mutated: bool) -> HostileStream:
        rng = self._rng
        if stream_id % 4 == 0:
            ending = rng.choice(("fin", "fin", "fin", "reset", ""))
        else:
            ending = rng.choice(("fin", "reset")) if rng.random() < 0.02 else ""
        whole = start + data
        places = mutation.cuts(len(whole), rng)
        pieces = [whole[places[index] : places[index + 1]] for index in range(len(places) - 1)]
        return HostileStream(stream_id, start, data, is_mutated, ending, pieces)

    def run(self) -> Outcome:
        """Play it to its end. Raises RuleBrokenError, or whatever the server raises that it must not."""
        waiting = list(self._streams.values())
        while waiting and self._error_code is None:
            stream = self._rng.choice(waiting)
            if self._rng.random() < 0.04:
                self._disturb()
            if self._error_code is None and self._step(stream):
                waiting.remove(stream)
        if self._error_code is None:
            self._check_what_was_read()
            self._end_all()
        return Outcome(self._inputs, self._error_code, self._requests)

    def _disturb(self) -> None:
        """Time passes, the server begins to leave, or the client does not want a response any more."""
        match self._rng.randrange(8):
            case 0:
                self._layer.send_goaway()
            case 1 | 2:
                self._now_s += self._rng.choice((0.001, 1.0, 1000.0))
            case _:
                stream_id = self._rng.choice((*(4 * index for index in range(6)), 3, 7, 11))
                if stream_id % 4 == 3 and self._rng.random() < 0.9:
                    return
                try:
                    self._layer.stopped(stream_id, self._now_s)
                except Http3Error as error:
                    require(stream_id % 4 == 3 and error.error_code == _CLOSED_CRITICAL, "stopped: wrong code")
                    self._error_code = error.error_code
                    return
                require(stream_id % 4 == 0, "a critical stream may not be stopped")
                if stream_id in self._streams:
                    self._answered(self._streams[stream_id])

    def _step(self, stream: HostileStream) -> bool:
        """Send a stream's next piece; True if it was the last."""
        is_last = not stream.pieces or (len(stream.pieces) == 1 and stream.ending == "fin")
        piece = stream.pieces.pop(0) if stream.pieces else b""
        try:
            if is_last and stream.ending == "reset":
                stream.is_over = True
                events = self._layer.reset(stream.stream_id, self._now_s)
            elif is_last and stream.ending == "":
                return True
            else:
                stream.sent += piece
                stream.is_over = is_last
                events = self._layer.receive(stream.stream_id, piece, is_last, self._now_s)
        except Http3Error as error:
            self._error_code = error.error_code
            self._check_error(stream, error.error_code)
            return True
        for event in events:
            self._take(event)
        self._maybe_forget(stream)
        return is_last

    def _take(self, event: HttpEvent) -> None:
        match event:
            case PriorityUpdate():
                self._updates.append(event)
                return
            case RequestReceived() | RequestTooLarge():
                self._requests += 1
                stream = self._streams[event.stream_id]
                require(not stream.is_given_up, "a request on a stream that was given up")
                require(not stream.is_read, "two requests on one stream")
                stream.is_read = True
                if not stream.is_answered and self._rng.random() < 0.8:
                    fields = [(b":status", b"200"), (b"x-number", b"%d" % self._requests)]
                    self._layer.send_head(event.stream_id, fields, None)
                    self._answered(stream)
                stream.is_given_up = isinstance(event, RequestTooLarge)
            case RequestFailed():
                stream = self._streams[event.stream_id]
                require(event.error_code in _ALLOWED_OF_STREAMS, f"stream error {event.error_code:#x}")
                require(not stream.is_given_up, "given up twice")
                require((event.stream_id, event.error_code) in self._quic.resets, "given up and not reset")
                stream.is_given_up = True
                self._answered(stream)

    def _answered(self, stream: HostileStream) -> None:
        stream.is_answered = True
        self._maybe_forget(stream)

    def _maybe_forget(self, stream: HostileStream) -> None:
        """As QUIC does with a stream that is over both ways."""
        if stream.is_over and stream.is_answered:
            request = self._layer._requests.get(stream.stream_id)
            stream.is_given_up |= request is not None and request.is_blocked
            self._layer.forget(stream.stream_id)

    def _check_error(self, stream: HostileStream, error_code: int) -> None:
        """The connection was closed because of this stream: does the reference agree?"""
        allowed = _ALLOWED.get(stream.stream_id, _ALLOWED_ON_REQUESTS)
        is_double = error_code == 0x103 and any(map(self._has_second_of_type, (0, 2, 3)))
        require(error_code in allowed or is_double, f"{error_code:#x} because of stream {stream.stream_id}")
        if stream.stream_id == CONTROL and not is_double:
            expected = _code_of_control(stream.body) or (_CLOSED_CRITICAL if stream.is_over else None)
            require(error_code == expected, f"control stream: {error_code:#x}, reference {expected}")
        if stream.stream_id % 4 == 0 and error_code != 0x200:
            expected = _code_of_request(stream)
            require(error_code == expected, f"request stream: {error_code:#x}, reference {expected}")

    def _check_what_was_read(self) -> None:
        """The connection lived: nothing that came may call for its end, and what was signalled is what was sent."""
        control = self._streams[CONTROL]
        if len(control.sent) >= len(control.start) and not self._has_second_of_type(0):
            require(not control.is_over, "the control stream has ended")
            updates = reference.read_control(control.body)
            expected = [PriorityUpdate(stream_id, parse_parameters(value)) for stream_id, value in updates]
            require(self._updates == expected, f"{self._updates} and not {expected}")
        for stream in self._streams.values():
            if stream.stream_id % 4 == 0 and not stream.is_given_up and stream.ending != "reset":
                expected_code = _code_of_request(stream)
                request = self._layer._requests.get(stream.stream_id)
                is_dropped = request is None or request.is_abandoned
                is_blocked = request is not None and request.is_blocked
                is_settled = stream.is_read or is_blocked or not stream.is_over
                require(is_settled, "a stream has ended, and neither was its request read nor was it given up")
                require(expected_code is None or is_dropped, f"{expected_code} was let pass")

    def _has_second_of_type(self, stream_type: int) -> bool:
        unknown = self._streams.get(OTHER)
        return unknown is not None and unknown.data[:1] == bytes([stream_type])

    def _end_all(self) -> None:
        """The client goes through with all streams: nothing may stay of them."""
        for stream in self._streams.values():
            if stream.stream_id % 4 == 0:
                if not stream.is_over:
                    stream.is_over = True
                    for event in self._layer.reset(stream.stream_id, self._now_s):
                        self._take(event)
                self._answered(stream)
        require(self._layer._requests == {}, "requests stay")
        require(self._layer._held_bytes == self._layer._control.held_bytes, "held bytes are miscounted")
        open_ids = {stream.stream_id for stream in self._streams.values() if not stream.is_over}
        require(set(self._layer._unidirectional) <= open_ids, "unidirectional streams stay")


def _code_of_control(data: bytes) -> int | None:
    try:
        reference.read_control(data)
    except reference.BrokenError as error:
        return error.error_code
    return None


def _code_of_request(stream: HostileStream) -> int | None:
    try:
        reference.read_request(stream.body, stream.is_over and stream.ending == "fin")
    except reference.BrokenError as error:
        return error.error_code
    return None


def require(is_so: bool, otherwise: str) -> None:
    """Raises RuleBrokenError if it is not so."""
    if not is_so:
        raise RuleBrokenError(otherwise)
