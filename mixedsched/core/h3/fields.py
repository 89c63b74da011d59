"""Field sections of requests: how many lines one has, and what makes it malformed (RFC 9114 sections 4.2 and 4.3)."""

from __future__ import annotations

import re

from mixedsched.core.h3.codes import ErrorCode, StreamError
from mixedsched.core.h3.response import Headers, RequestHead

FIELD_OVERHEAD_BYTES = 32  # what each line adds to the size of a section (RFC 9114 section 4.2.2)

_NAME = re.compile(rb":?[!#$%&'*+\-.^_`|~0-9a-z]+")
_METHOD = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_BAD_VALUE = re.compile(rb"[\0\r\n]|\A[ \t]|[ \t]\Z")
_PSEUDO = frozenset({b":method", b":scheme", b":authority", b":path"})
_CONNECTION_SPECIFIC = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"})
_WITH_AUTHORITY = frozenset({b"http", b"https"})


def section_size_bytes(fields: Headers) -> int:
    """The uncompressed size of a field section, as SETTINGS_MAX_FIELD_SECTION_SIZE counts it."""
    return sum(len(name) + len(value) + FIELD_OVERHEAD_BYTES for name, value in fields)


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


def read_head(fields: Headers) -> RequestHead:
    """The head of a request. Raises StreamError where it is malformed."""
    pseudo: dict[bytes, bytes] = {}
    regular: Headers = []
    for name, value in fields:
        _require_valid_line(name, value)
        if not name.startswith(b":"):
            regular.append((name, value))
            _require_for_http3(name, value)
        elif regular or name in pseudo or name not in _PSEUDO:
            raise _malformed("a pseudo-header field that is unknown, doubled or late")
        else:
            pseudo[name] = value
    method = pseudo.get(b":method", b"")
    if not _METHOD.fullmatch(method):
        raise _malformed("no method")
    head = RequestHead(
        method.decode("ascii"),
        _authority(pseudo, regular).decode("latin-1"),
        pseudo.get(b":path", b"").decode("latin-1"),
        regular,
    )
    if method == b"CONNECT":
        if b":scheme" in pseudo or b":path" in pseudo or not head.authority:
            raise _malformed("CONNECT needs an authority and nothing else")
    elif b":scheme" not in pseudo or not head.path:
        raise _malformed("no scheme or no path")
    elif pseudo[b":scheme"] in _WITH_AUTHORITY and not head.authority:
        raise _malformed("no authority")
    return head


def require_trailers(fields: Headers) -> None:
    """Check trailers, which mean nothing here, a `priority` in them neither. Raises StreamError where they are malformed."""
    for name, value in fields:
        _require_valid_line(name, value)
        if name.startswith(b":"):
            raise _malformed("a pseudo-header field in trailers")
        _require_for_http3(name, value)


def content_length(fields: Headers) -> int | None:
    """The length that a request announces for its body, None for none. Raises StreamError if it makes no sense."""
    values = {value for name, value in fields if name == b"content-length"}
    if not values:
        return None
    value = values.pop()
    if values or not value.isdigit() or len(value) > 18:
        raise _malformed("content-length is no number, or several")
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
