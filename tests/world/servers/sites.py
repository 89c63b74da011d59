"""Sites as servers of other people's get them, made of a few files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from mixedsched.model.request import Kind
from mixedsched.world.server.site import ServedSite, SiteEntry
from mixedsched.world.servers import KINDS, FoundServer, find_server

HOST, OTHER = "x.test", "y.test"
STYLE = b"h1 { color: green }" * 50


def installed(name: str) -> FoundServer:
    """Skips the test where the server cannot be an arm here."""
    found = find_server(KINDS[name])
    if not found.is_usable:
        pytest.skip(f"@{name} is not here: {found.kind.how_to_get}")
    return found


def entry(file: Path, mime: str = "text/plain", kind: Kind | None = Kind.OTHER, **facts: Any) -> SiteEntry:
    return SiteEntry(file, mime, kind=kind, **facts)


def written(folder: Path, name: str, content: bytes) -> Path:
    file = folder.resolve() / name
    file.write_bytes(content)
    return file


def site_of(*hosts: dict[str, SiteEntry]) -> ServedSite:
    """A host for each table of answers by path."""
    names = (HOST, OTHER)[: len(hosts)]
    return ServedSite("small", f"https://{HOST}/", names, dict(zip(names, hosts, strict=True)), None, 1)


def plain_site(folder: Path) -> ServedSite:
    """What every server can replay: a document, a style sheet and a script."""
    return site_of(
        {
            "/": entry(written(folder, "index", b"<!doctype html>hello"), "text/html; charset=utf-8", Kind.DOCUMENT),
            "/css/main.css": entry(written(folder, "style", STYLE), "text/css; charset=utf-8", Kind.STYLESHEET),
            "/a%20b.js": entry(written(folder, "script", b"let a"), "text/javascript", Kind.SCRIPT),
        }
    )


def full_site(folder: Path) -> ServedSite:
    """Two hosts with the same path, queries, a coding, own fields, and signs that mean something to configurations."""
    own = ((b"link", (b'</css/main.css>; rel="preload"',)), (b"set-cookie", (b"a={x}$1", b'b="2"')))
    first = plain_site(folder).entries[HOST]
    coded = entry(
        written(folder, "coded", gzip.compress(STYLE)), "text/css; charset=utf-8", Kind.STYLESHEET, encoding="gzip"
    )
    return site_of(
        {
            **first,
            "/coded.css": coded,
            "/q?a=1": entry(written(folder, "q1", b"one")),
            "/q?a=2&b={x}$(y)": entry(written(folder, "q2", b"two")),
            "/Q?a=1": entry(written(folder, "q3", b"three")),
            "/own": entry(written(folder, "own", b"own"), headers=own),
        },
        {"/": entry(written(folder, "other", b"other"), "text/html", Kind.DOCUMENT)},
    )


ODD_TARGETS = (
    "/a|b.txt", "/x[1].txt", "/it's.txt", "/100%25.txt", "/a%2Fb.txt", "/dq%22.txt", "/b%5Cs.txt", "/$1.txt", "/semi;v=1,2.txt",
    "/em%F0%9F%98%80.txt", "/%7Ev.txt", "/plus+x&y=1.txt", "/trail/", "/dot/.hidden", "/star*.txt", "/par(a).txt",
)  # fmt: skip
"""Paths as browsers ask for them, with signs that mean something to configurations."""
ODD_QUERIES = ("/q?x={y}|z^`[1]", "/q?x={y}|z^`[2]", "/q?", "/q?a=b?c", "/q|r?x", "/l?" + "k=%20&" * 900)
LONG_FIELD = "default-src 'self' " + " ".join(f'"$https://{number}.host.test\\"' for number in range(200))


def odd_site(folder: Path, *targets: str) -> ServedSite:
    """An answer of its own for each target: its place."""
    return site_of(
        {
            target: entry(written(folder, f"odd{place}", str(place).encode()), headers=_LONG)
            for place, target in enumerate(targets)
        }
    )


_LONG = ((b"content-security-policy", (LONG_FIELD.encode(),)),)
