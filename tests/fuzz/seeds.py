"""What well-behaved clients send, as frames that mutations can take apart."""

from __future__ import annotations

from dataclasses import dataclass

import pylsqpack
from aioquic.buffer import encode_uint_var

from mixedsched.core.h3.response import Headers

DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID = 0x00, 0x01, 0x03, 0x04, 0x05, 0x07, 0x0D
REQUEST_UPDATE, PUSH_UPDATE = 0xF0700, 0xF0701
FRAME_TYPES = (
    *(DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID, REQUEST_UPDATE, PUSH_UPDATE),
    *(0x02, 0x06, 0x08, 0x09),  # of HTTP/2
    *(0x0A, 0x0C, 0x0E, 0x21, 0x40, 0xF0702, 0x1F * 10**15 + 0x21, (1 << 62) - 1),  # unknown
)


@dataclass(frozen=True, slots=True)
class Frame:
    """size: what its head claims, None for the truth. widths: bytes of the two integers of its head, 0 for the fewest."""

    type: int
    payload: bytes = b""
    size: int | None = None
    widths: tuple[int, int] = (0, 0)

    def encode(self) -> bytes:
        size = len(self.payload) if self.size is None else self.size
        return varint(self.type, self.widths[0]) + varint(size, self.widths[1]) + self.payload


Frames = tuple[Frame, ...]


def varint(value: int, width_bytes: int = 0) -> bytes:
    """RFC 9000 section 16, in more bytes than needed where that is asked for."""
    fewest = encode_uint_var(value)
    if width_bytes <= len(fewest):
        return fewest
    return (value | ({2: 1, 4: 2, 8: 3}[width_bytes] << (8 * width_bytes - 2))).to_bytes(width_bytes, "big")


def settings(**values: int) -> Frame:
    """settings(x01=4096)."""
    pairs = [encode_uint_var(int(name[1:], 16)) + encode_uint_var(value) for name, value in values.items()]
    return Frame(SETTINGS, b"".join(pairs))


def update(stream_id: int, value: bytes, frame_type: int = REQUEST_UPDATE) -> Frame:
    return Frame(frame_type, encode_uint_var(stream_id) + value)


def head(*more: tuple[bytes, bytes], method: bytes = b"GET", path: bytes = b"/10") -> Headers:
    pseudo = [(b":method", method), (b":scheme", b"https"), (b":authority", b"pair.test"), (b":path", path)]
    return [*pseudo, *more]


def _headers(fields: Headers) -> Frame:
    """A field section that needs no dynamic table."""
    return Frame(HEADERS, pylsqpack.Encoder().encode(0, fields)[1])


GREASE = Frame(0x21 + 0x1F * 5, b"grease")

CONTROL_STREAMS: tuple[Frames, ...] = (
    (settings(x01=4096, x07=16),),
    (settings(), update(0, b"u=1, i"), update(4, b""), update(0, b"u=7")),
    (settings(x01=65536, x07=100, x06=262144, x33=1, x08=1), GREASE, Frame(MAX_PUSH_ID, b"\x08"), update(8, b"u=0, i")),
    (
        settings(x01=0),
        Frame(MAX_PUSH_ID, b"\0"),
        Frame(MAX_PUSH_ID, b"\x04"),
        Frame(GOAWAY, b"\x08"),
        Frame(GOAWAY, b"\0"),
    ),
    (Frame(SETTINGS, varint(0x1F * 7 + 0x21) + varint(77)), GREASE, update(400, b'x="y";z, u=2', REQUEST_UPDATE)),
    (settings(x01=100), update(0, b"u=1", PUSH_UPDATE), Frame(CANCEL_PUSH, b"\0")),
)

REQUEST_STREAMS: tuple[Frames, ...] = (
    (_headers(head((b"priority", b"u=1, i"), (b"sec-fetch-dest", b"image"))),),
    (_headers(head((b"content-length", b"5"), method=b"POST")), Frame(DATA, b"hello")),
    (_headers(head(method=b"POST")), Frame(DATA, b"one"), GREASE, Frame(DATA), Frame(DATA, b"t" * 80)),
    (_headers(head(method=b"PUT")), Frame(DATA, b"body"), _headers([(b"x-sum", b"5"), (b"priority", b"u=0")])),
    (GREASE, _headers(head((b"cookie", b"a=" + b"b" * 300), (b"priority", b"u=2"), (b"priority", b"i")))),
    (_headers([(b":method", b"CONNECT"), (b":authority", b"pair.test:443")]), Frame(DATA, b"tunnel")),
    (_headers(head((b"Upper", b"x"))),),
    (_headers([(b":method", b"GET")]),),
    (_headers(head((b"content-length", b"9"))), Frame(DATA, b"1234")),
    (_headers(head()), Frame(HEADERS, b"\0\0")),
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A client with a dynamic table. encoder: pieces of its encoder stream. sections: by the order of requests."""

    encoder: tuple[bytes, ...]
    sections: tuple[Frames, ...]


def _conversation(requests: int) -> Conversation:
    encoder = pylsqpack.Encoder()
    pieces, sections = [encoder.apply_settings(max_table_capacity=4096, blocked_streams=16)], []
    for index in range(requests):
        fields = head((b"user-agent", b"hostile/1.0"), (b"x-session", b"s" * 40), (b"cookie", b"k=%d" % (index // 3)))
        instructions, section = encoder.encode(4 * index, fields)
        pieces.append(instructions)
        sections.append((Frame(HEADERS, section),))
    return Conversation(tuple(pieces), tuple(sections))


CONVERSATION = _conversation(6)

DECODER_STREAMS = (b"", b"\x80", b"\x01", b"\x80\x84\x88", b"\x40\x44", b"\x3f\x00", b"\xff\x80\x01")

# Instructions of RFC 9204 section 4.3, right and wrong: capacities, insertions with and without names, duplicates.
ENCODER_INSTRUCTIONS = (
    b"\x3f\xe1\x1f",  # capacity 4096
    b"\x3f\xe2\x1f",  # 4097: more than was allowed
    b"\x20",
    b"\xc0\x05pair2",
    b"\xc1\x81\x0f",
    b"\x43abc\x03def",
    b"\x00",
    b"\x1f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x7f\x81\x1f" + b"z" * 286,
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00",
)

NUMBERS = (0, 1, 3, 4, 8, 62, 63, 64, 65, 508, 512, 1023, 1024, 1025, 4096, 4097, 16383, 16384, 32768, 32769)
NUMBERS += ((1 << 30) - 1, 1 << 30, (1 << 62) - 4, (1 << 62) - 1)
