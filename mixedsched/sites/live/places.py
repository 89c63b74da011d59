"""Where in a document an inline script, or an element, made a request whose address nothing spells out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mixedsched.errors import SiteError
from mixedsched.model.request import Kind
from mixedsched.sites.recorded import Exchange, decode_body
from mixedsched.sites.recorded.references import base_of, position_of
from mixedsched.world.browser.observation import Initiator


def with_places(exchanges: Iterable[Exchange], initiators: Mapping[str, Initiator]) -> list[Exchange]:
    """The exchanges, with `found_at` where a document's line and column are all that tells it.

    initiators: of each address, as the browser told.
    """
    listed = list(exchanges)
    texts = {item.url: _text_of(item) for item in listed if item.kind is Kind.DOCUMENT}
    return [_placed(item, texts, initiators.get(item.url)) for item in listed]


def _placed(item: Exchange, texts: Mapping[str, str], initiator: Initiator | None) -> Exchange:
    text = texts.get(initiator.url or "", "") if initiator is not None else ""
    if initiator is None or initiator.line is None or not text or initiator.url is None:
        return item
    if position_of(item.url, text, base_of(text, initiator.url)) is not None:
        return item
    return replace(item, found_at=offset_of(text, initiator.line, initiator.column or 0))


def offset_of(text: str, line: int, column: int) -> int:
    """The character at a line and column, both counted from 0; the text's end for what is beyond it."""
    at = 0
    for _ in range(line):
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        at = end + 1
    return min(at + column, len(text))


def _text_of(item: Exchange) -> str:
    try:
        return decode_body(item.body, item.encoding).decode("utf-8", "replace")
    except SiteError:
        return ""
