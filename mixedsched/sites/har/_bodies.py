"""Bodies as they were sent. A HAR holds them decoded, if at all: text is put back into its bytes, and those into their coding.

Tools disagree on what the sizes mean that they write. Of the levels of compression that servers use, the one is taken
whose result comes nearest to the recorded size; the manifest tells what is really sent. A body that is missing, or that
is not base64 although it should be, is synthesised at its size: valid contents of its type, uncoded, as many bytes as
there were on the wire.
"""

import base64
import binascii
import codecs
import contextlib
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from mixedsched.errors import SiteError
from mixedsched.model.codings import Coding
from mixedsched.model.request import Kind
from mixedsched.sites.documents.charsets import charset_of, codec_of
from mixedsched.sites.har._entries import HarContent, HarEntry
from mixedsched.sites.recorded.coding import coding_of, encode_body
from mixedsched.sites.recorded.records import BodyOrigin
from mixedsched.sites.recorded.selection import MAX_TOTAL_BYTES

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


def encoding_of(entry: HarEntry) -> Coding | None:
    """The content coding that was used; None for none, and for what is not known here (dictionaries, several at once)."""
    try:
        return coding_of(entry.response_header("content-encoding"))
    except SiteError:
        return None


def sizes_of(entry: HarEntry) -> Sizes:
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


def _decoded_bytes(entry: HarEntry) -> int | None:
    """`content.size`, unless it is as sent: WebPageTest's always is, mitmproxy's where `compression` is beside it."""
    size_bytes = entry.response.content.size_bytes
    if encoding_of(entry) and (entry.object_bytes is not None or size_bytes == entry.response.body_bytes):
        return None
    return size_bytes


def _content_length(entry: HarEntry) -> int | None:
    """The field, unless more cannot have come: then it belongs to another message (HEAD, a cache's)."""
    value = (entry.response_header("content-length") or "").strip()
    if not (value.isascii() and value.isdecimal()) or len(value) > 12:
        return None
    size_bytes, transfer_bytes = int(value), entry.response.transfer_bytes
    is_from_cache = bool(entry.from_cache) or entry.response.status == 304
    return None if transfer_bytes and not is_from_cache and size_bytes > transfer_bytes else size_bytes


def _counts_header(entry: HarEntry) -> bool:
    """Whether bodySize has the header in it: where it equals _transferSize, and in Firefox, which has no such field."""
    transfer_bytes = entry.response.transfer_bytes
    if transfer_bytes is not None:
        return entry.response.body_bytes == transfer_bytes
    return "Firefox/" in (entry.request_header("user-agent") or "")


def _header_bytes(entry: HarEntry) -> int:
    is_compressed = entry.request.http_version.strip().lower() in _COMPRESSED_HEADERS
    known_bytes = entry.response.headers_bytes
    return _HEADER_BYTES if is_compressed or known_bytes is None else known_bytes


Synthesise = Callable[[Kind, str, int, int], bytes]  # kind, content type, size in bytes, seed

_BODILESS_STATUSES = {204, 205, *range(300, 304), 307, 308}
_TEXT_TYPES = ("text/", "application/javascript", "application/json", "application/xml", "image/svg")
_PADDING_BYTES_MAX = 50_000_000
# What trying levels may cost in all, in bytes of gzip; Brotli and Zstandard at their best take far longer for a byte.
_EFFORT_BYTES = 16_000_000
_HEADER_NOISE_BYTES = 100  # sizes that were worked out from one with the header are not surer than that
_EFFORT_OF: dict[Coding, int] = {"gzip": 1, "deflate": 1, "br": 8, "zstd": 8}


@dataclass(frozen=True, slots=True)
class SentBody:
    """data: as sent. encoding: the coding that is on it. text: without it; None if it was not recorded."""

    data: bytes
    encoding: Coding | None
    origin: BodyOrigin
    text: bytes | None = None


class Bodies:
    """Makes the bodies of one HAR. counts: what had to be done, by a sentence that begins with the number.

    Raises SiteError for more than a site can have, before they fill memory.
    """

    def __init__(self, synthesise: Synthesise) -> None:
        self._synthesise = synthesise
        self._effort_bytes = _EFFORT_BYTES
        self._room_bytes = MAX_TOTAL_BYTES
        self.counts: Counter[str] = Counter()

    def of(self, entry: HarEntry, kind: Kind, mime: str) -> SentBody:
        if entry.response.status in _BODILESS_STATUSES or entry.request.method.upper() == "HEAD":
            return SentBody(b"", None, "none")
        sizes = sizes_of(entry)
        data = self._recorded(entry.response.content, mime, sizes)
        if data is None:
            return self._synthesised(entry, kind, mime, sizes)
        coding = encoding_of(entry)
        if coding is None and entry.response_header("content-encoding"):
            self.counts["bodies are sent uncoded, as their coding is not known here"] += 1
        sent = self._completed(data, mime, sizes) if coding is None else self._encoded(data, coding, sizes)
        self._take_room(len(sent))
        return SentBody(sent, coding, "recorded", data)

    def _take_room(self, size_bytes: int) -> None:
        self._room_bytes -= size_bytes
        if self._room_bytes < 0:
            raise SiteError(
                "the page is too large for a site",
                why=f"its bodies have more than {MAX_TOTAL_BYTES // 1_000_000} MB",
                fix="save a HAR without downloads and videos",
            )

    def _recorded(self, content: HarContent, mime: str, sizes: Sizes) -> bytes | None:
        """The decoded body; None if the HAR has none, or none that can be read."""
        if content.text is None or (not content.text and (content.size_bytes or sizes.wire_bytes)):
            return None
        if content.encoding.strip().lower() == "base64":
            try:
                return base64.b64decode("".join(content.text.split()), validate=True)
            except (binascii.Error, ValueError):
                self.counts["bodies are damaged (no base64) and were synthesised at their sizes"] += 1
                return None
        return text_bytes(content.text, mime, sizes.decoded_bytes)

    def _synthesised(self, entry: HarEntry, kind: Kind, mime: str, sizes: Sizes) -> SentBody:
        size_bytes = sizes.wire_bytes if sizes.wire_bytes is not None else sizes.decoded_bytes
        if size_bytes is None:
            self.counts["responses have neither body nor size in the HAR and are empty"] += 1
            return SentBody(b"", None, "none")
        self._take_room(size_bytes)
        seed = zlib.crc32(entry.url.encode("utf-8", "replace"))
        return SentBody(self._synthesise(kind, mime, size_bytes, seed), None, "synthesised")

    def _completed(self, data: bytes, mime: str, sizes: Sizes) -> bytes:
        """An uncoded body that the tool cut short, as Firefox does beyond a limit, at its full size: the rest is blank."""
        wanted_bytes = sizes.wire_bytes if sizes.wire_bytes is not None and sizes.is_exact else len(data)
        missing_bytes = wanted_bytes - len(data)
        if not data or not 0 < missing_bytes <= _PADDING_BYTES_MAX:
            return data
        self.counts["bodies were cut short in the HAR; the missing bytes are blank"] += 1
        blank = b" " if mime.lower().startswith(_TEXT_TYPES) else b"\0"
        return data + blank * missing_bytes

    def _encoded(self, data: bytes, coding: Coding, sizes: Sizes) -> bytes:
        """The body in its coding, near its recorded size as long as there is time to try."""
        cost_bytes = len(data) * _EFFORT_OF[coding]
        may_try = sizes.wire_bytes is not None and cost_bytes <= self._effort_bytes
        self._effort_bytes -= cost_bytes if may_try else 0
        encoded = encode_body(data, coding, near_bytes=sizes.wire_bytes if may_try else None)
        tolerance_bytes = 0 if sizes.is_exact else _HEADER_NOISE_BYTES
        if sizes.wire_bytes is not None and abs(len(encoded) - sizes.wire_bytes) > tolerance_bytes:
            self.counts["bodies were compressed again and differ from the recorded size"] += 1
        return encoded


def text_bytes(text: str, mime: str, size_bytes: int | None) -> bytes:
    """The bytes that a text was decoded from: the first way of encoding it that has the recorded size.

    Tried are UTF-8, the charset that the content type names, and UTF-8 with the mark that decoders take away; if none fits, it
    is UTF-8.
    """
    plain = text.encode("utf-8", "replace")
    ways = [plain]
    codec = codec_of(charset_of(mime))
    if codec is not None and len(plain) != size_bytes:
        with contextlib.suppress(UnicodeError):  # it cannot say this
            ways.append(text.encode(codec))
    ways.append(codecs.BOM_UTF8 + plain)
    return next((way for way in ways if len(way) == size_bytes), plain)
