"""The content type of a file, and whether its text travels compressed."""

import gzip
from pathlib import PurePosixPath

GZIP_LEVEL = 9

_MIME_BY_SUFFIX = {
    ".html": "text/html; charset=utf-8",
    ".htm": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".webmanifest": "application/manifest+json",
    ".xml": "application/xml",
    ".txt": "text/plain; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".vtt": "text/vtt; charset=utf-8",
    ".xhtml": "application/xhtml+xml",
    ".pdf": "application/pdf",
    ".zip": "application/zip",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".apng": "image/apng",
    ".bmp": "image/bmp",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".woff": "font/woff",
    ".ttf": "font/ttf",
    ".otf": "font/otf",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
    ".mov": "video/quicktime",
    ".m4v": "video/mp4",
    ".m4a": "audio/mp4",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".wasm": "application/wasm",
}
_SUFFIX_BY_MIME = {mime.partition(";")[0]: suffix for suffix, mime in reversed(_MIME_BY_SUFFIX.items())} | {
    "application/javascript": ".js",
    "application/x-javascript": ".js",
    "image/jpg": ".jpg",
}
_COMPRESSED_SUFFIXES = {".html", ".htm", ".css", ".js", ".mjs", ".json", ".webmanifest", ".svg", ".xml", ".txt"}


def mime_of_file(file: str) -> str:
    """The content type of a file by its name; application/octet-stream where the ending is unknown."""
    return _MIME_BY_SUFFIX.get(PurePosixPath(file).suffix.lower(), "application/octet-stream")


def suffix_of_mime(mime: str) -> str:
    """The usual ending of files of a content type, such as ".html"; "" where none is known."""
    return _SUFFIX_BY_MIME.get(mime.partition(";")[0].strip().lower(), "")


def is_text(file: str) -> bool:
    """Whether real servers would send a file of this name compressed."""
    return PurePosixPath(file).suffix.lower() in _COMPRESSED_SUFFIXES


def compress(body: bytes) -> bytes:
    """`body` as gzip, the same bytes for the same input on every run: no file name, no time of day."""
    return gzip.compress(body, GZIP_LEVEL, mtime=0)
