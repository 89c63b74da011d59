"""One small page as each tool would write it down: the fields, words and habits of their HARs."""

from __future__ import annotations

import base64
import copy
import json
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mixedsched.sites.har import page_called, pages_of, read_har
from mixedsched.sites.har._importing import ImportedPage, imported
from mixedsched.sites.har._write import Synthesiser
from mixedsched.sites.recorded.records import RecordedExchange

START = datetime(2026, 11, 22, 2, 58, 41, tzinfo=UTC)
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

HTML = (
    '<!DOCTYPE html><html lang="en"><head><title>Café</title>\n'
    '<link rel="stylesheet" href="/style.css">\n'
    '<script src="https://cdn.shop.test/app.js" async></script>\n'
    '</head><body><img src="hero.png" width="640" height="480" alt="">\n'
    '<img src="/low.png" loading="lazy" alt=""></body></html>\n'
)
CSS = '@font-face { font-family: f; src: url("/text.woff2") format("woff2") }\nbody { font-family: f }\n'
SCRIPT = 'fetch("/data.json");\n' + "// padding\n" * 200
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
WOFF2 = b"wOF2" + bytes(range(256)) * 4


@dataclass(frozen=True)
class Part:
    """A request of the page. initial, final: Blink's priority. signal: the `priority` field."""

    url: str
    type: str
    destination: str
    mime: str
    body: bytes
    initial: str
    final: str
    signal: str | None
    by: str | None
    how: str
    line: int | None = None
    coding: str | None = None
    at_ms: int = 0


PAGE = "https://shop.test/"
PARTS = (
    Part(PAGE, "document", "document", "text/html; charset=utf-8", HTML.encode(), "VeryHigh", "VeryHigh", "u=0, i", None,
         "other", coding="gzip"),
    Part("https://shop.test/style.css", "stylesheet", "style", "text/css", CSS.encode(), "VeryHigh", "VeryHigh", "u=0", PAGE,
         "parser", line=1, coding="gzip", at_ms=60),
    Part("https://cdn.shop.test/app.js", "script", "script", "text/javascript", SCRIPT.encode(), "Low", "Low", None, PAGE,
         "parser", line=2, coding="gzip", at_ms=61),
    Part("https://shop.test/hero.png", "image", "image", "image/png", PNG, "Medium", "High", "u=2, i", PAGE, "parser", line=3,
         at_ms=62),
    Part("https://shop.test/text.woff2", "font", "font", "font/woff2", WOFF2, "VeryHigh", "VeryHigh", "u=0",
         "https://shop.test/style.css", "parser", at_ms=90),
    Part("https://shop.test/data.json", "fetch", "empty", "application/json", b'{"a": 1}', "High", "High", "u=1, i",
         "https://cdn.shop.test/app.js", "script", line=0, at_ms=120),
    Part("https://shop.test/low.png", "image", "image", "image/png", PNG[:900], "Low", "Low", "i", PAGE, "parser", line=4,
         at_ms=140),
)  # fmt: skip


def gzip_bytes(body: bytes) -> int:
    """How large a body is as servers send it."""
    return len(zlib.compress(body, 9, wbits=31))


def wire_bytes(part: Part) -> int:
    return gzip_bytes(part.body) if part.coding else len(part.body)


def chrome(parts: tuple[Part, ...] = PARTS, *, bodies: bool = True) -> dict[str, Any]:
    """As Chromium's DevTools save it."""
    entries = [_chrome_entry(part, bodies=bodies) for part in parts]
    page = {
        "startedDateTime": moment(14),
        "id": "page_1",
        "title": PAGE,
        "pageTimings": {"onContentLoad": 200, "onLoad": 300},
    }
    return _har("WebInspector", "537.36", [page], entries)


def firefox(parts: tuple[Part, ...] = PARTS) -> dict[str, Any]:
    """As Firefox saves it: its own urgencies, no initiators, sizes with the header in them."""
    har = _har("Firefox", "140.0", [{"startedDateTime": _zoned(0), "id": "page_1", "title": "Café"}], [])
    har["log"]["browser"] = {"name": "Firefox", "version": "140.0"}
    for part in parts:
        entry = _entry(part, bodies=True, agent=FIREFOX)
        entry["startedDateTime"] = _zoned(part.at_ms)
        entry |= {"pageref": "page_1", "_securityState": "secure", "connection": "443"}
        entry["request"]["headers"] += [{"name": "Priority", "value": "u=5, i" if part.type == "image" else "u=2"}]
        entry["response"] |= {"bodySize": wire_bytes(part) + 240, "headersSize": 240}
        har["log"]["entries"].append(entry)
    return har


def sitespeed(parts: tuple[Part, ...] = PARTS, *, bodies: bool = True) -> dict[str, Any]:
    """As browsertime does with chrome-har: initiators as URLs, lines from 1, sizes with the header in them."""
    har = _har(
        "Browsertime", "25.0", [{"id": "2f1b", "startedDateTime": moment(0), "title": "Café", "pageTimings": {}}], []
    )
    for number, part in enumerate(parts):
        entry = _entry(part, bodies=bodies, queued_ms=5)
        detail = {
            "type": part.how,
            **({"url": part.by, "lineNumber": part.line} if part.by and part.how == "parser" else {}),
        }
        if part.how == "script":
            detail["stack"] = {"callFrames": [{"url": part.by, "lineNumber": part.line, "columnNumber": 0}]}
        entry |= {
            "pageref": "2f1b",
            "_requestId": f"1000.{number}",
            "_initialPriority": part.initial,
            "_priority": part.final,
            "_initiator_detail": json.dumps(detail),
            "_initiator_type": part.how,
            "_initiator": part.by,
            "_initiator_line": None if part.line is None else part.line + 1,
            "_resourceType": part.type,
        }
        size_bytes = wire_bytes(part) + 130
        entry["response"] |= {"bodySize": size_bytes, "_transferSize": size_bytes, "headersSize": -1}
        har["log"]["entries"].append(entry)
    return har


def webpagetest(parts: tuple[Part, ...] = PARTS, *, runs: int = 2) -> dict[str, Any]:
    """As WebPageTest does: several runs, levels in the words of the DevTools panel, no bodies, sizes as sent, HAR 1.1."""
    words = {"VeryHigh": "Highest", "VeryLow": "Lowest"}
    har = _har("WebPagetest", "21.07", [], [])
    har["log"]["version"] = "1.1"
    for run in range(1, runs + 1):
        page = f"page_{run}_0_1"
        title = f"Run {run}, First View for {PAGE}"
        har["log"]["pages"].append({"id": page, "title": title, "startedDateTime": moment(run * 60_000)})
        for number, part in enumerate(parts):
            entry = _entry(part, bodies=False)
            load_start = part.at_ms + 4
            entry |= {
                "pageref": page,
                "startedDateTime": moment(run * 60_000 + load_start),
                "time": 60,
                "_run": run,
                "_cached": 0,
                "_number": number + 1,
                "_full_url": part.url,
                "_request_type": part.type.capitalize(),
                "_priority": words.get(part.final, part.final),
                "_initial_priority": words.get(part.initial, part.initial),
                "_initiator": part.by or "",
                "_initiator_line": "" if part.line is None else part.line,
                "_initiator_type": part.how,
                "_bytesIn": wire_bytes(part) + 90,
                "_objectSize": wire_bytes(part),
                "_objectSizeUncompressed": len(part.body),
                "_created": part.at_ms,
                "_all_start": part.at_ms,
                "_load_start": load_start,
                "_ttfb_ms": 20,
                "_load_ms": 40,
            }
            entry["request"]["headers"] = []  # as with --noheaders
            entry["response"] |= {"bodySize": wire_bytes(part), "headersSize": 90}
            entry["response"]["content"] = {"size": wire_bytes(part), "mimeType": part.mime.partition(";")[0]}
            har["log"]["entries"].append(entry)
    return har


def mitmproxy(parts: tuple[Part, ...] = PARTS) -> dict[str, Any]:
    """As mitmproxy does: no pages, types or priorities; binary bodies in base64, sizes as sent."""
    har = _har("mitmproxy", "1.2.3", [], [])
    har["log"]["creator"]["comment"] = ""
    for part in parts:
        entry = _entry(part, bodies=True)
        entry["startedDateTime"] = (START + timedelta(milliseconds=part.at_ms)).isoformat()
        entry["timings"] = {"connect": 30.0, "ssl": None, "send": 1.0, "wait": 20.0, "receive": 5.0}
        size_bytes = wire_bytes(part)
        entry["response"] |= {"bodySize": size_bytes, "headersSize": 200}
        entry["response"]["content"] |= {
            "size": size_bytes,
            "compression": len(part.body) - size_bytes,
            "mimeType": part.mime,
        }
        har["log"]["entries"].append(entry)
    return har


DIALECTS = {
    "chrome": chrome,
    "firefox": firefox,
    "sitespeed": sitespeed,
    "webpagetest": webpagetest,
    "mitmproxy": mitmproxy,
}


def moment(at_ms: float) -> str:
    return (START + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def save(folder: Path, har: Any, name: str = "page.har") -> Path:
    """Write a HAR down and say where."""
    path = folder / name
    path.write_text(json.dumps(har) if not isinstance(har, str) else har, encoding="utf-8")
    return path


def entry_of(har: dict[str, Any], ending: str) -> dict[str, Any]:
    """The entry whose address ends so, to be changed."""
    found: dict[str, Any] = next(item for item in har["log"]["entries"] if item["request"]["url"].endswith(ending))
    return found


def changed(har: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(har)


def _har(creator: str, version: str, pages: list[Any], entries: list[Any]) -> dict[str, Any]:
    return {
        "log": {"version": "1.2", "creator": {"name": creator, "version": version}, "pages": pages, "entries": entries}
    }


def _zoned(at_ms: float) -> str:
    """As Firefox writes it, with the offset of its zone."""
    return (
        (START + timedelta(milliseconds=at_ms, hours=2)).isoformat(timespec="milliseconds").replace("+00:00", "+02:00")
    )


def _chrome_entry(part: Part, *, bodies: bool) -> dict[str, Any]:
    entry = _entry(part, bodies=bodies)
    initiator: dict[str, Any] = {"type": part.how}
    if part.how == "parser":
        initiator |= {"url": part.by} | ({} if part.line is None else {"lineNumber": part.line})
    elif part.how == "script":
        initiator["stack"] = {
            "callFrames": [{"functionName": "", "scriptId": "7", "url": "", "lineNumber": 0, "columnNumber": 3}],
            "parent": {
                "callFrames": [{"functionName": "go", "scriptId": "8", "url": part.by, "lineNumber": part.line}]
            },
        }
    entry |= {
        "_initiator": initiator,
        "_priority": part.final,
        "_resourceType": part.type,
        "_connectionId": "17",
        "pageref": "page_1",
        "connection": "443",
    }
    entry["request"]["headers"] += [
        {"name": ":authority", "value": part.url.split("/")[2]},
        {"name": "accept-encoding", "value": "gzip, deflate, br, zstd"},
        {"name": "sec-fetch-dest", "value": part.destination},
        {"name": "sec-fetch-mode", "value": "navigate" if part.destination == "document" else "no-cors"},
        *([{"name": "priority", "value": part.signal}] if part.signal else []),
    ]
    entry["response"] |= {"_transferSize": wire_bytes(part) + 60, "bodySize": -1, "headersSize": -1, "_error": None}
    return entry


def _entry(part: Part, *, bodies: bool, agent: str = CHROME, queued_ms: int = 0) -> dict[str, Any]:
    """What all tools write."""
    content: dict[str, Any] = {"size": len(part.body), "mimeType": part.mime.partition(";")[0]}
    is_text = part.type not in {"image", "font"}
    if bodies and is_text:
        content["text"] = part.body.decode()
    elif bodies:
        content |= {"text": base64.b64encode(part.body).decode(), "encoding": "base64"}
    headers = [{"name": "Content-Type", "value": part.mime}]
    if part.coding:
        headers.append({"name": "Content-Encoding", "value": part.coding})
    timings: dict[str, Any] = {"blocked": 1, "dns": -1, "ssl": -1, "connect": -1, "send": 0, "wait": 20, "receive": 9}
    if queued_ms:
        timings["_queued"] = queued_ms
    return {
        "startedDateTime": moment(part.at_ms + queued_ms),
        "time": 30,
        "request": {
            "method": "GET",
            "url": part.url,
            "httpVersion": "h2",
            "headers": [{"name": "User-Agent", "value": agent}],
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": 0,
        },
        "response": {
            "status": 200,
            "statusText": "",
            "httpVersion": "h2",
            "headers": headers,
            "cookies": [],
            "content": content,
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
        },
        "cache": {},
        "timings": timings,
    }


def load(folder: Path, har: Any, page: str | None = None) -> ImportedPage:
    log = read_har(save(folder, har))
    return imported(log, page_called(pages_of(log), page), Synthesiser())


def by_url(page: ImportedPage) -> dict[str, RecordedExchange]:
    return {item.url: item for item in page.exchanges}
