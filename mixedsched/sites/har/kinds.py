"""What an entry is: as its request says, else as the tool names it, else as its answer looks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from urllib.parse import unquote

from mixedsched.model.request import Kind, kind_of_destination, kind_of_mime
from mixedsched.sites.har.entries import Entry
from mixedsched.sites.site.wire import mime_of_file

# Network.ResourceType of the Chrome DevTools Protocol, in lower case: DevTools, chrome-har and WebPageTest all use its words.
# "other" and "prefetch" say nothing of what it is.
_KIND_BY_TYPE: Mapping[str, Kind] = MappingProxyType(
    {
        "document": Kind.DOCUMENT,
        "stylesheet": Kind.STYLESHEET,
        "image": Kind.IMAGE,
        "media": Kind.MEDIA,
        "texttrack": Kind.MEDIA,
        "font": Kind.FONT,
        "script": Kind.SCRIPT,
        "xhr": Kind.XHR,
        "fetch": Kind.XHR,
        "ping": Kind.XHR,
        "eventsource": Kind.XHR,
        "manifest": Kind.OTHER,
        "csp-violation-report": Kind.OTHER,
        "cspviolationreport": Kind.OTHER,
    }
)
# How browsers begin the `accept` field for what they will take: it tells the kind where it is not */*.
_KIND_BY_ACCEPT = (("text/html", Kind.DOCUMENT), ("text/css", Kind.STYLESHEET), ("image/", Kind.IMAGE))
_CLIENT_ERROR = 400


def kind_of(entry: Entry) -> Kind:
    """Tried in this order: `sec-fetch-dest` (not "empty", which prefetches say too), the tool's own word, `accept`, whether a
    script asked (x-requested-with, "empty"), the content type, the file's ending. An error's page tells nothing of what was
    asked for, so there the ending comes first.
    """
    destination = entry.request_header("sec-fetch-dest")
    told = kind_of_destination(destination) if destination != "empty" else None
    told = told or _KIND_BY_TYPE.get(resource_type(entry)) or _accepted(entry)
    if told is not None:
        return told
    looks = _look(entry)
    is_prefetch = entry.request_header("sec-purpose") is not None
    asked_by_script = entry.request_header("x-requested-with") is not None or destination == "empty"
    return looks if is_prefetch or not asked_by_script else Kind.XHR


def resource_type(entry: Entry) -> str:
    """The tool's word for what was asked for, in lower case; "" if it has none."""
    return (entry.resource_type or entry.request_type).strip().lower()


def mime_of(entry: Entry) -> str:
    """The content type as sent, else as the tool gives it; "" if neither is one."""
    sent = entry.response_header("content-type") or entry.response.content.mime
    return sent if "/" in sent else ""


def _accepted(entry: Entry) -> Kind | None:
    accept = (entry.request_header("accept") or "").strip().lower()
    return next((kind for start, kind in _KIND_BY_ACCEPT if accept.startswith(start)), None)


def _look(entry: Entry) -> Kind:
    by_mime, by_name = kind_of_mime(mime_of(entry)), _kind_of_ending(entry.url)
    first, second = (by_name, by_mime) if entry.response.status >= _CLIENT_ERROR else (by_mime, by_name)
    return first if first is not Kind.OTHER else second


def _kind_of_ending(url: str) -> Kind:
    path = unquote(url.partition("?")[0].partition("://")[2].partition("/")[2])
    return kind_of_mime(mime_of_file(PurePosixPath(path).name or "page.html"))
