"""The manifest of a recorded site: what the server and the page model read, and what a person reads and edits."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from typing import Any

from mixedsched.model.page import PAGE_FORMAT
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.recorded.copies import Copy
from mixedsched.sites.recorded.exchange import Exchange
from mixedsched.sites.recorded.facts import UNKNOWN_LICENCE, RecordingFacts
from mixedsched.sites.recorded.graph import Found
from mixedsched.sites.site.wire import mime_of_file

_LINE_CHARACTERS = 110  # what fits stays on one line
_ID_PATH_CHARACTERS = 100
_ID_QUERY_CHARACTERS = 24
_OK = 200
_SHEET = Kind.STYLESHEET


def manifest_of(
    facts: RecordingFacts,
    hosts: Sequence[str],
    page: Sequence[tuple[Copy, Found, str]],
    besides: Sequence[tuple[Copy, str]],
    notes: Sequence[str],
) -> dict[str, Any]:
    """page: copies of the page with how they are found and their files; besides: what is served as well."""
    ids = _ids([copy for copy, _, _ in page], hosts)
    imported = _critical_imports([(copy.source, found) for copy, found, _ in page])
    return {
        "format": PAGE_FORMAT,
        "name": facts.name,
        "title": facts.title or facts.name,
        "description": facts.description or f"Recorded copy of {facts.url}",
        "licence": facts.licence or UNKNOWN_LICENCE,
        "source": facts.source or f"recorded from {facts.url}",
        "hosts": list(hosts),
        "entry": page[0][0].path,
        "replay": True,
        "record": {"url": facts.url, **facts.record, **({"notes": list(notes)} if notes else {})},
        "resources": [
            {**_resource(copy, found, file, ids, number), "flags": _flags(copy.source, number, imported)}
            for number, (copy, found, file) in enumerate(page)
        ],
        "also_served": [_served(copy, file) for copy, file in besides],
    }


def _critical_imports(page: Sequence[tuple[Exchange, Found]]) -> frozenset[int]:
    """Which style sheets hold up the first paint because one that does imports them."""
    critical = {number for number, (item, _) in enumerate(page) if item.kind is _SHEET and Flag.CRITICAL in item.flags}
    imported: set[int] = set()
    for number, (item, found) in enumerate(page):  # parents stand before their children
        is_for_later = item.priority is ChromiumPriority.VERY_LOW  # of another medium
        if item.kind is _SHEET and not is_for_later and found.parent in critical:
            critical.add(number)
            imported.add(number)
    return frozenset(imported)


def _flags(source: Exchange, number: int, imported: Container[int]) -> list[str]:
    flags = source.flags | {Flag.MAIN, Flag.CRITICAL} if number == 0 else source.flags - {Flag.MAIN}
    return [flag.value for flag in Flag if flag in flags or (flag is Flag.CRITICAL and number in imported)]


def _resource(copy: Copy, found: Found, file: str, ids: Sequence[str], number: int) -> dict[str, Any]:
    source = copy.source
    entry = {
        "id": ids[number],
        **_served(copy, file),
        "kind": source.kind.value,
        "chromium_priority": source.priority.value if source.priority is not None else None,
        "incremental": source.incremental,
        "found_by": ids[found.parent] if found.parent is not None else None,
        "found_when": found.when,
    }
    if found.when == "bytes":
        entry["found_at_bytes"] = found.at_bytes
    if found.delay_ms:
        entry["delay_ms"] = found.delay_ms
    return entry


def _served(copy: Copy, file: str) -> dict[str, Any]:
    """What the server reads of a copy."""
    entry: dict[str, Any] = {"host": copy.host, "path": copy.path}
    if copy.source.method != "GET":
        entry["method"] = copy.source.method
    entry |= {"file": file, "mime": copy.mime, "body_bytes": len(copy.body)}
    if copy.source.encoding is not None and copy.body:
        entry["encoding"] = copy.source.encoding
    if copy.source.status != _OK:
        entry["status"] = copy.source.status
    entry["headers"] = {name: values[0] if len(values) == 1 else values for name, values in copy.headers.items()}
    if copy.priority:
        entry["priority"] = copy.priority
    return entry


def _ids(copies: Sequence[Copy], hosts: Sequence[str]) -> list[str]:
    """Names for people, each once: "html" for the document, paths for the page's own host, HOST/PATH for others."""
    ids: dict[str, None] = {"html": None}
    for copy in copies[1:]:
        path, mark, query = copy.path.partition("?")
        if len(query) > _ID_QUERY_CHARACTERS:
            query = f"{query[:_ID_QUERY_CHARACTERS]}…"
        if len(path) > _ID_PATH_CHARACTERS:
            path = f"{path[:_ID_PATH_CHARACTERS]}…"
        base = (path.lstrip("/") or "/") + mark + query
        base = base if not copy.host else f"{hosts[copy.host]}/{base.lstrip('/')}"
        name, number = base, 2
        while name in ids:
            name, number = f"{base}#{number}", number + 1
        ids[name] = None
    return list(ids)


def suffix_for(mime: str) -> str:
    """The ending of file names of this type, ".html" for "text/html; charset=utf-8"; "" where none is usual."""
    essence = mime.partition(";")[0].strip().lower()
    return _SUFFIXES.get(essence, "")


_SUFFIXES: Mapping[str, str] = {
    mime_of_file(f"x{suffix}").partition(";")[0]: suffix
    for suffix in reversed(
        (
            *(".html", ".css", ".js", ".json", ".webmanifest", ".xml", ".txt", ".svg", ".png", ".jpg", ".gif", ".webp"),
            *(".avif", ".ico", ".woff2", ".woff", ".ttf", ".otf", ".mp4", ".webm", ".mp3", ".wasm", ".pdf"),
        )
    )
} | {"application/javascript": ".js", "application/x-javascript": ".js", "image/jpg": ".jpg"}


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """The manifest as JSON: a key a line, short lists and tables on one line."""
    return _pretty(manifest, "") + "\n"


def _pretty(value: Any, indent: str) -> str:
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    is_top = not indent
    if not isinstance(value, dict | list) or not value or (not is_top and len(line) + len(indent) <= _LINE_CHARACTERS):
        return line
    deeper = indent + " "
    if isinstance(value, dict):
        items = [
            f"{deeper}{json.dumps(key, ensure_ascii=False)}: {_pretty(item, deeper)}" for key, item in value.items()
        ]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    return "[\n" + ",\n".join(f"{deeper}{_pretty(item, deeper)}" for item in value) + f"\n{indent}]"
