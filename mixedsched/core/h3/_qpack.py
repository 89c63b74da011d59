"""Header compression (RFC 9204): pylsqpack's coder with the protocol's errors, and a count of lines before they are decoded."""

import pylsqpack

from mixedsched.core.h3.codes import ErrorCode, Http3Error
from mixedsched.core.h3.response import Headers

TABLE_BYTES = 4096  # of our decoder
MAX_CLIENT_TABLE_BYTES = 64 * 1024  # of our encoder; what Chromium and Firefox allow
BLOCKED_STREAMS = 16
_EMPTY_SECTION = b"\0\0"  # legal in trailers; pylsqpack takes it for broken


class Qpack:
    """Both directions of one connection. Instructions that it returns belong on the encoder's or the decoder's own stream."""

    def __init__(self) -> None:
        self._encoder = pylsqpack.Encoder()
        self._decoder = pylsqpack.Decoder(TABLE_BYTES, BLOCKED_STREAMS)

    def apply_settings(self, table_bytes: int, blocked_streams: int) -> bytes:
        """Take the client's settings for our encoder. Returns encoder instructions.

        Sections refer to the table by numbers that wrap at a multiple of the size that the client allows, whatever is used of
        it (RFC 9204 section 4.5.1.1). pylsqpack has one size for both, so that sections of a smaller table would be misread:
        the table is as large as allowed, or where that is too much for us, there is none.
        """
        if table_bytes > MAX_CLIENT_TABLE_BYTES:
            table_bytes = 0
        blocked_streams = min(blocked_streams, BLOCKED_STREAMS)
        return self._encoder.apply_settings(max_table_capacity=table_bytes, blocked_streams=blocked_streams)

    def encode(self, stream_id: int, fields: Headers) -> tuple[bytes, bytes]:
        """(encoder instructions, the encoded section)"""
        return self._encoder.encode(stream_id, fields)

    def decode(self, stream_id: int, section: bytes) -> tuple[bytes, Headers] | None:
        """(decoder instructions, the fields); None if the section waits for the encoder stream. Raises Http3Error."""
        if section == _EMPTY_SECTION:
            return b"", []
        try:
            return self._decoder.feed_header(stream_id, section)
        except pylsqpack.StreamBlocked:
            return None
        except pylsqpack.DecompressionFailed as error:
            raise _decompression_failed() from error

    def resume(self, stream_id: int) -> tuple[bytes, Headers]:
        """Decode a section that has waited, as `decode` does. Raises Http3Error."""
        try:
            return self._decoder.resume_header(stream_id)
        except pylsqpack.DecompressionFailed as error:
            raise _decompression_failed() from error

    def cancel(self, stream_id: int) -> bytes:
        """Nothing more of a stream will be decoded. Returns decoder instructions."""
        return self._decoder.cancel_stream(stream_id)

    def feed_encoder(self, data: bytes) -> list[int]:
        """Take data of the client's encoder stream. Returns the streams whose sections waited for it. Raises Http3Error."""
        try:
            return sorted(self._decoder.feed_encoder(data))
        except pylsqpack.EncoderStreamError as error:
            raise Http3Error(ErrorCode.QPACK_ENCODER_STREAM_ERROR, "bad instruction of the encoder") from error

    def feed_decoder(self, data: bytes) -> None:
        """Take data of the client's decoder stream. Raises Http3Error."""
        try:
            self._encoder.feed_decoder(data)
        except pylsqpack.DecoderStreamError as error:
            raise Http3Error(ErrorCode.QPACK_DECODER_STREAM_ERROR, "bad instruction of the decoder") from error


def _decompression_failed() -> Http3Error:
    return Http3Error(ErrorCode.QPACK_DECOMPRESSION_FAILED, "a field section cannot be decoded")


def count_lines(section: bytes, limit: int) -> int:
    """How many field lines an encoded section has; counting stops beyond `limit`, or where the encoding is broken.

    Asked before a section is decoded: a line may take one byte and stand for a whole dynamic table of 4 KiB.
    Source: RFC 9204 section 4.5.
    """
    position = _after_integer(section, _after_integer(section, 0, 8), 7)
    lines = 0
    while position < len(section) and lines <= limit:
        first = section[position]
        lines += 1
        if first & 0x80:  # indexed
            position = _after_integer(section, position, 6)
        elif first & 0x40:  # literal with the name of an entry
            position = _after_string(section, _after_integer(section, position, 4), 7)
        elif first & 0x20:  # literal with a name of its own
            position = _after_string(section, _after_string(section, position, 3), 7)
        elif first & 0x10:  # indexed behind the base
            position = _after_integer(section, position, 4)
        else:  # literal with the name of an entry behind the base
            position = _after_string(section, _after_integer(section, position, 3), 7)
    return lines


def _after_string(section: bytes, position: int, prefix_bits: int) -> int:
    """The position behind a string whose length has that prefix."""
    length, position = _integer(section, position, prefix_bits)
    return position + length


def _after_integer(section: bytes, position: int, prefix_bits: int) -> int:
    return _integer(section, position, prefix_bits)[1]


def _integer(section: bytes, position: int, prefix_bits: int) -> tuple[int, int]:
    """A prefixed integer (RFC 7541 section 5.1) and the position behind it; the end of the section where it is cut off."""
    if position >= len(section):
        return 0, len(section)
    largest = (1 << prefix_bits) - 1
    value = section[position] & largest
    position += 1
    if value < largest:
        return value, position
    shift = 0
    while position < len(section) and shift < 63:
        more = section[position]
        position += 1
        value += (more & 0x7F) << shift
        if not more & 0x80:
            return value, position
        shift += 7
    return 0, len(section)
