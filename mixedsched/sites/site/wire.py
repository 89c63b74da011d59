"""The content type of a file, and whether its text travels compressed."""

import gzip
import tomllib
from importlib.resources import files
from pathlib import PurePosixPath

GZIP_LEVEL = 9

TYPES: dict[str, dict[str, str]] = tomllib.loads(files(__package__).joinpath("types.toml").read_text("utf-8"))
_MIME_BY_SUFFIX = TYPES["mime_by_suffix"]
_SUFFIX_BY_MIME = {mime.partition(";")[0]: suffix for suffix, mime in reversed(_MIME_BY_SUFFIX.items())}
_SUFFIX_BY_MIME |= TYPES["suffix_by_other_name"]
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
