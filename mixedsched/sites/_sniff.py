"""What a body is by its first bytes, as browsers look at it (WHATWG MIME Sniffing, as far as pages use it)."""

from __future__ import annotations

import re

_SIGNATURES: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"....ftypavi[fs]", re.DOTALL), "image/avif"),
    (re.compile(rb"\x00\x00\x01\x00"), "image/x-icon"),
    (re.compile(rb"BM....\x00\x00\x00\x00", re.DOTALL), "image/bmp"),
    (re.compile(rb"wOF2"), "font/woff2"),
    (re.compile(rb"wOFF"), "font/woff"),
    (re.compile(rb"\x00\x01\x00\x00\x00|true"), "font/ttf"),
    (re.compile(rb"OTTO"), "font/otf"),
    (re.compile(rb"....ftyp", re.DOTALL), "video/mp4"),
    (re.compile(rb"\x1a\x45\xdf\xa3"), "video/webm"),
    (re.compile(rb"\x1f\x8b\x08"), "application/gzip"),
    (re.compile(rb"%PDF-"), "application/pdf"),
    (re.compile(rb"\s*<(!doctype\s+html|html[\s>])", re.IGNORECASE), "text/html"),
    (
        re.compile(rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(<!doctype\s+svg[^>]*>\s*)?<svg[\s>]", re.DOTALL),
        "image/svg+xml",
    ),
)
_SNIFFED_BYTES = 1024
_SAME = {
    "image/vnd.microsoft.icon": "image/x-icon",
    "image/jpg": "image/jpeg",
    "image/apng": "image/png",
    "image/x-ms-bmp": "image/bmp",
    "application/x-gzip": "application/gzip",
    "application/font-woff": "font/woff",
    "application/font-woff2": "font/woff2",
    "application/x-font-woff": "font/woff",
    "application/x-font-ttf": "font/ttf",
    "font/sfnt": "font/ttf",
    "application/font-sfnt": "font/ttf",
    "application/xhtml+xml": "text/html",
}
_VIDEO_OR_AUDIO = ("video/", "audio/")


def sniffed(body: bytes) -> str | None:
    """The type that the body's beginning shows; None if it shows none."""
    head = body[:_SNIFFED_BYTES]
    return next((mime for signature, mime in _SIGNATURES if signature.match(head)), None)


def contradiction(mime: str, body: bytes) -> str | None:
    """The type that a body (without its content coding) is in truth; None if it is what it says, or nobody can tell.

    Types that say nothing, such as application/octet-stream, contradict nothing.
    """
    told = mime.partition(";")[0].strip().lower()
    told = _SAME.get(told, told)
    found = sniffed(body)
    if found is None:
        needs_signature = told in {mime for _, mime in _SIGNATURES if mime.startswith(("image/", "font/"))}
        return "something else" if needs_signature and body and told not in {"image/svg+xml", "image/bmp"} else None
    if told == found or told in {"application/octet-stream", "binary/octet-stream", "text/plain", "image/*", ""}:
        return None
    if told.startswith(_VIDEO_OR_AUDIO) and found.startswith(_VIDEO_OR_AUDIO):
        return None
    return None if {told, found} <= {"font/ttf", "font/otf"} else found
