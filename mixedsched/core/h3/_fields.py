"""Field sections of requests, and what makes them malformed (RFC 9114 sections 4.2 and 4.3)."""

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
