"""Exchanges made up for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mixedsched.model.request import Kind
from mixedsched.sites.recorded.coding import encode_body
from mixedsched.sites.recorded.records import RecordedExchange, RecordingFacts, RecordingSummary
from mixedsched.sites.recorded.writing import write_recording

SHOP = "https://shop.test/"
_TYPES = {
    Kind.DOCUMENT: "text/html; charset=utf-8",
    Kind.STYLESHEET: "text/css",
    Kind.SCRIPT: "text/javascript",
    Kind.FONT: "font/woff2",
    Kind.IMAGE: "image/png",
    Kind.XHR: "application/json",
}


def exchange(
    url: str,
    kind: Kind = Kind.IMAGE,
    body: str | bytes = b"body",
    *,
    asked_ms: float = 0.0,
    lasts_ms: float = 20.0,
    headers: Sequence[tuple[str, str]] = (),
    encoding: str | None = None,
    status: int = 200,
    method: str = "GET",
    **more: Any,
) -> RecordedExchange:
    """An exchange whose first byte comes at once, and whose last after lasts_ms. body: before its encoding."""
    mime = _TYPES.get(kind, "application/octet-stream")
    text = body.encode() if isinstance(body, str) else body
    fields = (("content-type", mime), *headers)
    return RecordedExchange(
        method=method,
        url=url,
        status=status,
        headers=fields,
        mime=mime,
        kind=kind,
        body=encode_body(text, encoding),
        encoding=encoding,
        asked_ms=asked_ms,
        first_byte_ms=more.pop("first_byte_ms", asked_ms),
        complete_ms=asked_ms + lasts_ms,
        **more,
    )


def document(body: str = "<!doctype html><title>Shop</title>", url: str = SHOP, **more: Any) -> RecordedExchange:
    return exchange(url, Kind.DOCUMENT, body, **more)


def redirect(url: str, location: str, status: int = 302, **more: Any) -> RecordedExchange:
    return exchange(url, more.pop("kind", Kind.IMAGE), b"", status=status, headers=(("location", location),), **more)


class Recorded:
    """A site that was written: its manifest, its files, its summary."""

    def __init__(self, folder: Path, *exchanges: RecordedExchange, url: str | None = None, **facts: Any) -> None:
        self.folder = folder
        self.summary: RecordingSummary = write_recording(
            folder, exchanges, RecordingFacts(name="shop", url=url or exchanges[0].url, **facts)
        )
        self.manifest = json.loads((folder / "page.json").read_text())

    def resource(self, id_: str) -> dict[str, Any]:
        return next(item for item in self.manifest["resources"] if item["id"] == id_)

    def body(self, id_: str) -> bytes:
        return (self.folder / "www" / self.resource(id_)["file"]).read_bytes()

    @property
    def ids(self) -> list[str]:
        return [item["id"] for item in self.manifest["resources"]]

    def reasons(self) -> dict[str, str]:
        """Why what was left out was, by address."""
        return {item.url: item.why for item in self.summary.left_out}
