"""From a file to the log in it: bounded in size and depth, and plain about what is wrong with a file that holds none."""

import json
import re
import zlib
from pathlib import Path
from typing import Any

from mixedsched.errors import SiteError, UsageError
from mixedsched.model.codings import UndecodableError, decode
from mixedsched.sites.har._entries import HarLog, log_of

MAX_HAR_BYTES = 1_000_000_000
_MIB = 1024 * 1024
_GZIP_MAGIC, _ZLIB_MAGICS = b"\x1f\x8b", (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_EXPORT_AGAIN = "export it again"
_PART_OF_TOKEN = re.compile(r"[\w.+\\-]*\s*")  # of a word, a number or an escape


def read_har(path: Path) -> HarLog:
    """Read an HTTP Archive, 1.1 or 1.2, plain or compressed as a whole (.har.gz of WebPageTest, .zhar of mitmproxy).

    Unusable entries are counted in the log and left out. Raises SiteError if the file is not such an archive, is cut off,
    or has more than MAX_HAR_BYTES; UsageError if it cannot be opened.
    """
    return log_of(_value_of(_text_of(path), str(path)), str(path))


def _text_of(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise UsageError(f"{path} is not a file", fix="name a HAR that a browser or a tool has saved")
        size_bytes = path.stat().st_size
        if size_bytes > MAX_HAR_BYTES:
            raise _too_large(path)
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    except ValueError as error:  # NUL in a name
        raise UsageError("the HAR cannot be read", why=str(error)) from error
    if data.startswith((_GZIP_MAGIC, *_ZLIB_MAGICS)):
        return _inflated(data, path)
    return data


def _inflated(data: bytes, path: Path) -> bytes:
    coding = "gzip" if data.startswith(_GZIP_MAGIC) else "deflate"
    try:
        return decode(data, coding, MAX_HAR_BYTES)
    except UndecodableError as error:
        raise SiteError(f"{path} cannot be unpacked", why=str(error), fix=_EXPORT_AGAIN) from error
    except (MemoryError, zlib.error) as error:
        raise _too_large(path) from error


def _too_large(path: Path) -> SiteError:
    return SiteError(
        f"{path} is too large for a page",
        why=f"it has more than {MAX_HAR_BYTES // _MIB} MiB",
        fix="save one page load, without videos",
    )


def _value_of(data: bytes, origin: str) -> Any:
    """The JSON value; NaN and Infinity, which some tools write, become null. Raises SiteError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        try:
            text = data.decode("utf-16") if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ""
        except UnicodeDecodeError:
            text = ""
        if not text and error.reason == "unexpected end of data":
            raise _cut_off(origin, f"{len(data)} bytes") from error
        if not text:
            raise SiteError(f"{origin} is not a HAR", why="it is not UTF-8 text", fix=_EXPORT_AGAIN) from error
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except RecursionError as error:
        raise SiteError(f"{origin} is not a HAR", why="its values are nested too deeply") from error
    except json.JSONDecodeError as error:
        raise _broken(error, text, origin) from error
    except ValueError as error:  # a number of thousands of digits
        raise SiteError(f"{origin} is not a HAR", why="a number in it has thousands of digits") from error


def _broken(error: json.JSONDecodeError, text: str, origin: str) -> SiteError:
    """A file that begins as a HAR and just ends was cut off; anything else never was JSON."""
    ends_there = "Unterminated" in error.msg or _PART_OF_TOKEN.fullmatch(text, error.pos) is not None
    if text.lstrip().startswith("{") and ends_there and "Extra data" not in error.msg:
        return _cut_off(origin, f"{len(text)} characters")
    return SiteError(f"{origin} is not JSON, so it is not a HAR", why=str(error), fix=_EXPORT_AGAIN)


def _cut_off(origin: str, after: str) -> SiteError:
    why = f"its JSON ends in the middle, after {after}"
    return SiteError(f"{origin} is cut off", why=why, fix=f"wait until it is saved, or {_EXPORT_AGAIN}")
