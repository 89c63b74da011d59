"""How large a body was on the wire, and decoded, by what a HAR tells of it. Tools disagree on what their fields mean."""

from __future__ import annotations

from dataclasses import dataclass

from mixedsched.errors import SiteError
from mixedsched.model.codings import Coding
from mixedsched.sites.har.entries import Entry
from mixedsched.sites.recorded.coding import coding_of

# A header is compressed by HPACK or QPACK, and no tool tells to how much: that of the bundled sites takes 20 to 120 bytes.
_HEADER_BYTES = 100
_COMPRESSED_HEADERS = ("h2", "h3", "http/2", "http/3", "http/2.0", "http/3.0", "quic")


@dataclass(frozen=True, slots=True)
class Sizes:
    """wire_bytes: as sent, without header. decoded_bytes: without content coding. None where the HAR does not tell.

    is_exact: whether wire_bytes is the body's own figure, not worked out from one that has the header in it.
    """

    wire_bytes: int | None
    decoded_bytes: int | None
    is_exact: bool = False


def encoding_of(entry: Entry) -> Coding | None:
    """The content coding that was used; None for none, and for what is not known here (dictionaries, several at once)."""
    try:
        return coding_of(entry.response_header("content-encoding"))
    except SiteError:
        return None


def sizes_of(entry: Entry) -> Sizes:
    """The sizes of a response's body.

    On the wire, the first of these that the HAR has: `content-length`; for a body without coding its decoded size;
    `_objectSize` (WebPageTest); `bodySize`, of chrome-har over HTTP/2 and of Firefox less a header, as they count it in;
    `_transferSize` less the header.
    """
    coding, decoded_bytes = encoding_of(entry), _decoded_bytes(entry)
    promised_bytes = _content_length(entry)
    if promised_bytes is not None:
        return Sizes(promised_bytes, decoded_bytes if coding else promised_bytes, is_exact=True)
    if coding is None and decoded_bytes:
        return Sizes(decoded_bytes, decoded_bytes, is_exact=True)
    response = entry.response
    if entry.object_bytes:
        return Sizes(entry.object_bytes, decoded_bytes, is_exact=True)
    if response.body_bytes:
        wire_bytes = response.body_bytes
        header_bytes = _header_bytes(entry) if _counts_header(entry) else 0
        return Sizes(max(0, wire_bytes - header_bytes), decoded_bytes, is_exact=not header_bytes)
    if response.transfer_bytes:
        return Sizes(max(0, response.transfer_bytes - _header_bytes(entry)), decoded_bytes)
    return Sizes(decoded_bytes if coding is None else None, decoded_bytes)


def _decoded_bytes(entry: Entry) -> int | None:
    """`content.size`, unless it is as sent: WebPageTest's always is, mitmproxy's where `compression` is beside it."""
    size_bytes = entry.response.content.size_bytes
    if encoding_of(entry) and (entry.object_bytes is not None or size_bytes == entry.response.body_bytes):
        return None
    return size_bytes


def _content_length(entry: Entry) -> int | None:
    """The field, unless more cannot have come: then it belongs to another message (HEAD, a cache's)."""
    value = (entry.response_header("content-length") or "").strip()
    if not (value.isascii() and value.isdecimal()) or len(value) > 12:
        return None
    size_bytes, transfer_bytes = int(value), entry.response.transfer_bytes
    is_from_cache = bool(entry.from_cache) or entry.response.status == 304
    return None if transfer_bytes and not is_from_cache and size_bytes > transfer_bytes else size_bytes


def _counts_header(entry: Entry) -> bool:
    """Whether bodySize has the header in it: where it equals _transferSize, and in Firefox, which has no such field."""
    transfer_bytes = entry.response.transfer_bytes
    if transfer_bytes is not None:
        return entry.response.body_bytes == transfer_bytes
    return "Firefox/" in (entry.request_header("user-agent") or "")


def _header_bytes(entry: Entry) -> int:
    is_compressed = entry.request.http_version.strip().lower() in _COMPRESSED_HEADERS
    known_bytes = entry.response.headers_bytes
    return _HEADER_BYTES if is_compressed or known_bytes is None else known_bytes
