"""Compressed heads of responses: any client reads them, whatever dynamic table its SETTINGS allow (RFC 9204)."""

from __future__ import annotations

import pylsqpack
import pytest
from aioquic.buffer import encode_uint_var

from mixedsched.core.h3._frames import FrameReader
from mixedsched.core.h3._qpack import MAX_CLIENT_TABLE_BYTES
from mixedsched.core.h3.codes import Setting
from tests.core.h3.raw import CONTROL, DECODER, SETTINGS, Raw, frame

OUR_ENCODER = 7


class Reader:
    """A client that allows a table of this size and reads heads with it."""

    def __init__(self, table_bytes: int) -> None:
        settings = {Setting.QPACK_MAX_TABLE_CAPACITY: table_bytes, Setting.QPACK_BLOCKED_STREAMS: 16}
        payload = b"".join(encode_uint_var(key) + encode_uint_var(value) for key, value in settings.items())
        self.raw = Raw(with_settings=False).feed(CONTROL, b"\0" + frame(SETTINGS, payload)).feed(DECODER, b"\x03")
        self._decoder = pylsqpack.Decoder(min(table_bytes, 1 << 30), 16)
        self._read_bytes = 1  # of our encoder's stream, its type included

    @property
    def instructions(self) -> bytes:
        """What our encoder has said of the table."""
        return bytes(self.raw.quic.sent[OUR_ENCODER][1:])

    def read(self, stream_id: int) -> list[tuple[bytes, bytes]]:
        """The head on a stream, after which the client acknowledges what it has read."""
        sent = self.raw.quic.sent
        self._decoder.feed_encoder(bytes(sent[OUR_ENCODER][self._read_bytes :]))
        self._read_bytes = len(sent[OUR_ENCODER])
        frames = FrameReader()
        frames.feed(bytes(sent[stream_id]))
        assert frames.head() is not None
        instructions, fields = self._decoder.feed_header(stream_id, frames.payload() or b"")
        self.raw.feed(DECODER, instructions)
        assert self.raw.error_code is None
        return fields


def head_of(number: int) -> list[tuple[bytes, bytes]]:
    """Lines that come again now and then, which is what puts them into the table."""
    return [(b":status", b"200"), (b"etag", b'"%032d"' % (number // 2)), (b"x-page", b"page %d" % (number // 3))]


@pytest.mark.parametrize("table_bytes", [0, 31, 100, 4096, 8192, 65_536, 65_537, 1 << 20, (1 << 62) - 1])
def test_heads_of_thousands_of_responses_are_read_whatever_table_the_client_allows(table_bytes: int) -> None:
    """Sections name entries by numbers that wrap at a multiple of the size that the client allows, however much of it is used
    (section 4.5.1.1): a long connection shows it."""
    client = Reader(table_bytes)
    for number in range(2000):
        client.raw.layer.send_head(4 * number, head_of(number), None)
        assert client.read(4 * number) == head_of(number)


def test_a_client_cannot_make_our_table_as_large_as_it_likes() -> None:
    """A connection keeps at most what browsers allow; beyond, heads are sent without a table."""
    client = Reader(MAX_CLIENT_TABLE_BYTES + 1)
    for number in range(500):
        client.raw.layer.send_head(4 * number, head_of(number), None)
        assert client.read(4 * number) == head_of(number)
    assert client.instructions == b""
