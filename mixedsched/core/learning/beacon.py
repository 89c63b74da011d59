"""The beacon: a script that tells its server what a visitor's browser painted, and how the server reads that.

It reports once for each load, when nothing new was painted for a while or the page is hidden: first and largest contentful
paint, the address of the largest element, layout shifts until then, the page's path, and how long ago the load began, so
that the report is counted for the right visit. No cookie, nothing that names the visitor. A page that is prerendered, or loaded
while it is not visible, reports nothing: its paints say nothing of its server.

What comes is never trusted: it is a request like any other, and whoever sends it can make it up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

from mixedsched.core.learning.visit import MAX_PATH, Beacon, Visit

BEACON_PATH = "/.well-known/mixedsched-beacon"
"""Reserved where beacons are on: POST, with all values in the query."""
QUERY_MOST = 1500
"""Characters of the query that are read; a longer one is refused."""
LATEST_MS = 60_000.0
"""A paint that is said to be later is not believed."""
APART_MS = 10_000.0
"""How far the visitor's clock of a load may be from the server's, which begins with the request."""

SCRIPT = (
    '<script>(()=>{let d=document,f,l,e="",c=0,s,q,'
    "o=(t,g)=>{try{new PerformanceObserver(x=>x.getEntries().map(g)).observe({type:t,buffered:!0})}catch{}},"
    "n=()=>{if(!s&&f&&l){s=1;navigator.sendBeacon("
    f'"{BEACON_PATH}?"+new URLSearchParams({{p:location.pathname.slice(0,{MAX_PATH}),t:performance.now()|0,f,l,c,e}}))}}}},'
    'w=()=>{clearTimeout(q);q=setTimeout(()=>d.readyState=="complete"?n():w(),3e3)};'
    "if(d.hidden)return;"
    'o("paint",x=>x.name[6]=="c"&&(f=x.startTime|0));'
    'o("largest-contentful-paint",x=>{l=x.startTime|0;e=(x.url||"").slice(0,300);w()});'
    'o("layout-shift",x=>{x.hadRecentInput||(c+=x.value)});'
    'd.addEventListener("visibilitychange",n);addEventListener("pagehide",n)})()</script>'
)
"""To be appended to a document, where it delays nothing: paints that came before are told to it (`buffered`)."""


@dataclass(frozen=True, slots=True)
class BeaconReport:
    """A report as it came, of plausible form."""

    path: str
    """Of the page."""
    age_ms: float
    """How long ago the visitor's load began."""
    beacon: Beacon


def is_beacon(path: str) -> bool:
    """Whether a request's path is the reserved one."""
    return path.partition("?")[0] == BEACON_PATH


def read_beacon(path: str) -> BeaconReport | None:
    """What a beacon's request says; None where it is none, or of values that no browser reports."""
    bare, _, query = path.partition("?")
    if bare != BEACON_PATH or len(query) > QUERY_MOST:
        return None
    try:
        given = {name: values[0] for name, values in parse_qs(query, max_num_fields=12).items()}
        age_ms, fcp_ms, lcp_ms, shift = (float(given[name]) for name in ("t", "f", "l", "c"))
        page, largest = given["p"], _path_of(given.get("e", ""))
    except (KeyError, ValueError):
        return None
    if not all(map(math.isfinite, (age_ms, fcp_ms, lcp_ms, shift))) or not page.startswith("/"):
        return None
    if not (0 < fcp_ms <= lcp_ms <= min(LATEST_MS, age_ms + 1)) or not 0 <= shift <= 1000:
        return None
    return BeaconReport(page[:MAX_PATH], age_ms, Beacon(fcp_ms, lcp_ms, largest, shift))


def counted(visit: Visit, report: BeaconReport, age_ms: float) -> Visit | None:
    """The visit with what the report says; None where it cannot be of this visit.

    age_ms: how long ago the visit began at the server. No paint comes before the first byte of what it shows has left.
    """
    if report.path != visit.path or visit.beacon is not None or abs(report.age_ms - age_ms) > APART_MS:
        return None
    told = report.beacon
    begun_ms = visit.requests[0].first_byte_ms
    shown = next((item for item in visit.requests[1:] if item.path == told.largest), None)
    if begun_ms is None or told.fcp_ms < begun_ms:
        return None
    if shown is None:
        return replace(visit, beacon=replace(told, largest=None))
    if shown.first_byte_ms is None or told.lcp_ms < shown.first_byte_ms:
        return None
    return replace(visit, beacon=told)


def _path_of(address: str) -> str | None:
    """The path with its query, as requests have it. Raises ValueError for what is no address."""
    parts = urlsplit(address)
    if parts.scheme not in {"", "http", "https"} or not parts.path.startswith("/"):
        return None
    return (parts.path + (f"?{parts.query}" if parts.query else ""))[:MAX_PATH]
