"""Large files from the web; downloads continue where an earlier attempt was cut off."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

_SILENCE_MOST_S = 20.0
_ATTEMPTS_IN_VAIN_MOST = 2
_PIECE_BYTES = 1 << 18
_PARTIAL = 206
_NOTHING_LEFT = 416

Tell = Callable[[int, int], None]  # bytes that are there, bytes that there will be


class DownloadFailedError(Exception):
    """Its text says why. What has come so far is kept for the next attempt."""


def download(url: str, target: Path, tell: Tell) -> None:
    """Fetch a file. Until it is complete, it is target.part.

    Proxies are those of the environment. After a broken connection it tries again as long as that brings anything. Raises
    DownloadFailedError.
    """
    part = target.with_name(f"{target.name}.part")
    in_vain = 0
    while True:
        before_bytes = _size_bytes(part)
        try:
            total_bytes = _attempt(url, part, before_bytes, tell)
        except (OSError, http.client.HTTPException) as error:
            problem = _reason(error)
            is_final = isinstance(error, urllib.error.HTTPError)
        else:
            if _size_bytes(part) == total_bytes:
                part.rename(target)
                return
            problem, is_final = "the connection was closed in the middle", False
        in_vain = in_vain + 1 if _size_bytes(part) <= before_bytes else 0
        if is_final or in_vain == _ATTEMPTS_IN_VAIN_MOST:
            raise DownloadFailedError(problem)


def fetch_text(url: str) -> str | None:
    """A small file; None if it is not available."""
    try:
        with _open(url, 0) as answer:
            return str(answer.read(_PIECE_BYTES).decode(errors="replace"))
    except (OSError, http.client.HTTPException):
        return None


def _attempt(url: str, part: Path, begin_bytes: int, tell: Tell) -> int:
    """Fetch what is missing, or as much of it as comes; returns the size of the whole file."""
    try:
        answer = _open(url, begin_bytes)
    except urllib.error.HTTPError as error:
        if error.code != _NOTHING_LEFT:
            raise
        part.unlink()  # it is not the beginning of the server's file
        answer = _open(url, 0)
    with answer:
        begin_bytes = begin_bytes if answer.status == _PARTIAL else 0
        total_bytes = begin_bytes + int(answer.headers["Content-Length"] or 0)
        with part.open("ab" if begin_bytes else "wb") as file:
            while piece := answer.read(_PIECE_BYTES):
                file.write(piece)
                tell(file.tell(), total_bytes)
            size_bytes = file.tell()
    return total_bytes if answer.headers["Content-Length"] else size_bytes


def _open(url: str, begin_bytes: int) -> http.client.HTTPResponse:
    if not url.startswith(("https://", "http://")):
        raise OSError("it is not an http address")
    headers = {"User-Agent": "mixedsched", **({"Range": f"bytes={begin_bytes}-"} if begin_bytes else {})}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - checked above
    return urllib.request.urlopen(request, timeout=_SILENCE_MOST_S)  # type: ignore[no-any-return]  # noqa: S310


def _size_bytes(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__
