"""Serves a site's files, and nothing else."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote_to_bytes

from mixedsched.h3.response import BytesBody, Headers, RequestHead, Response
from mixedsched.request import Flag, Kind

CACHE_LIMIT_BYTES = 256 * 1024  # smaller files are kept in memory, larger ones are mapped


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of the site: the file that is sent for it, and what the page's manifest says of it."""

    file: Path
    mime: str
    encoding: str | None = None
    kind: Kind | None = None
    flags: frozenset[Flag] | None = None


class SiteFiles:
    """Answers GET and HEAD from a fixed list of files.

    A request is looked up in the list and never becomes a file name, so no path, encoded or not, leads out of the site.
    entries: by host name, then by path, with query where one matters. A host that is not listed is answered as `main_host`.
    A path with a query that is not listed is served as the path without it.
    """

    def __init__(self, entries: Mapping[str, Mapping[str, Entry]], main_host: str) -> None:
        self._entries = entries
        self._main = entries[main_host]
        self._contents: dict[Path, memoryview] = {}

    def respond(self, head: RequestHead) -> Response:
        response = self._response_to_get(head)
        return replace(response, body=None) if head.method == "HEAD" else response

    def _response_to_get(self, head: RequestHead) -> Response:
        if head.method not in {"GET", "HEAD"}:
            return _plain(405, "only GET and HEAD are possible here", [(b"allow", b"GET, HEAD")])
        entry = self._find(head.authority, head.path)
        if entry is None:
            return _plain(404, "there is nothing here")
        try:
            content = self._content(entry.file)
        except OSError:
            return _plain(404, "there is nothing here any more")
        fields: Headers = [
            (b"content-type", entry.mime.encode()),
            (b"content-length", str(len(content)).encode()),
            (b"cache-control", b"max-age=3600"),
            (b"access-control-allow-origin", b"*"),
            (b"timing-allow-origin", b"*"),
        ]
        if entry.encoding:
            fields.append((b"content-encoding", entry.encoding.encode()))
        return Response(200, fields, BytesBody(content), entry.mime, entry.kind, entry.flags)

    def _find(self, authority: str, target: str) -> Entry | None:
        entries = self._entries.get(authority.rpartition(":")[0] or authority, self._main)
        path = target.partition("?")[0]
        return entries.get(target) or entries.get(path) or entries.get(_decoded(path))

    def _content(self, file: Path) -> memoryview:
        """A file's bytes: from memory if small, mapped if large. Kept while the server lives, as sites do not change."""
        if file not in self._contents:
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                size_bytes = os.fstat(descriptor).st_size
                if size_bytes <= CACHE_LIMIT_BYTES:
                    self._contents[file] = memoryview(os.read(descriptor, size_bytes))
                else:
                    self._contents[file] = memoryview(mmap.mmap(descriptor, size_bytes, prot=mmap.PROT_READ))
            finally:
                os.close(descriptor)
        return self._contents[file]


def _decoded(path: str) -> str:
    """A percent-encoded path as text; an undecodable one stays as it is and is found nowhere."""
    try:
        return unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return path


def _plain(status: int, text: str, fields: Headers | None = None) -> Response:
    content = text.encode() + b"\n"
    all_fields = [(b"content-type", b"text/plain"), (b"content-length", str(len(content)).encode()), *(fields or [])]
    return Response(status, all_fields, BytesBody(content), "text/plain")
