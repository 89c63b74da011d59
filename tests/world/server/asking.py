"""A small site on disk and the questions that tests put to it, without a network."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

from mixedsched.core.h3.response import RequestHead, Response
from mixedsched.world.server._files import SiteFiles
from mixedsched.world.server.site import SiteEntry

NOW_S = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT
TEXT = b"hello range " * 100


@dataclass(frozen=True, slots=True)
class Answer:
    """A response whose body was read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes
    response: Response


def written(folder: Path, name: str, content: bytes) -> Path:
    """A file of the site, as the server wants it: absolute and free of links."""
    path = folder.resolve() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (NOW_S - 1000, NOW_S - 1000))
    return path


def site_files(entries: dict[str, SiteEntry], now_s: float = NOW_S) -> SiteFiles:
    return SiteFiles({"x.test": entries}, "x.test", clock=lambda: now_s)


def ask(files: SiteFiles, path: str, method: str = "GET", **fields: str | tuple[str, ...]) -> Answer:
    """fields: if_none_match="..." and the like; a tuple for several lines of one name."""
    lines = [
        (name.replace("_", "-").encode(), value.encode("latin-1"))
        for name, values in fields.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    response = files.respond(RequestHead(method, "x.test", path, lines))
    return Answer(
        response.status,
        {name.decode(): value.decode("latin-1") for name, value in response.fields},
        body_of(response),
        response,
    )


def body_of(response: Response, piece_bytes: int = 1000) -> bytes:
    """All of a body, read in pieces as packets would; then closed."""
    if response.body is None:
        return b""
    pieces = []
    while response.body.remaining_bytes:
        pieces.append(response.body.read(piece_bytes))
        assert pieces[-1], "a body with bytes left gives some"
    close = getattr(response.body, "close", None)
    if close is not None:
        close()
    return b"".join(pieces)


def zipped(content: bytes = TEXT) -> bytes:
    return gzip.compress(content, mtime=0)
