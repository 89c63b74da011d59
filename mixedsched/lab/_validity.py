"""When a page load counts: browser, server and emulated network must give the same account of it.

After Sander et al. 2022: every request over HTTP/3, as many connections as the page needs, none of them closed for a reason
that points to trouble. Firefox has no log of its connections: those are known from the server alone, and how many a page
takes is not, as Firefox divides pages in its own way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from mixedsched.lab.diagnostics import held_ms
from mixedsched.sites.site import Connections
from mixedsched.world.browser.netlog import Closing, NetLog, QuicSession
from mixedsched.world.browser.pageload import BrowserLoad

TOO_SLOW = "loaded too slowly"  # in Lighthouse's warning about a page that did not get quiet
_NEVER_MET_THE_LINK = ("missed", "dropped_at_port")  # counters of the relay and of the router VM
# How long packets may have been kept before the largest paint; docs/measuring.md says where this comes from.
MAX_HELD_RATIO = 0.05
FRAME_MS = 16.0  # paints come with frames, at 60 a second: less than that is beyond their resolution
_ENDLESS = "EventSource"  # DevTools' word for a stream of events, which is never complete
_LATE, _OVERRUN = "late_link", "overrun_link"  # words for a machine that was too busy

# How a connection may end: opened beside another one and never used; with the browser; in good order, or idle.
_POOLED, _WITH_THE_BROWSER = "QUIC_CONNECTION_IP_POOLED", "QUIC_CONNECTION_CANCELLED"
_POOLED_WORDS = "An active session exists for the given IP"
_HARMLESS = frozenset({"QUIC_NO_ERROR", "QUIC_PEER_GOING_AWAY", "QUIC_NETWORK_IDLE_TIMEOUT"})


@dataclass(frozen=True, slots=True)
class ServerView:
    """The lines of the server's log that belong to a load."""

    requests: Sequence[Mapping[str, Any]] = ()  # those that are over, see h3.exchange.ServedRequest
    # Those whose handshake finished, see server.facts.ConnectionRecord; None if the server does not log them.
    connections: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class LoadEvidence:
    """All that is known of a load."""

    load: BrowserLoad
    hosts: Sequence[str]  # of the site
    expected: Connections | None  # that a load takes; None where nobody knows, as of a live page
    log: NetLog | None  # the browser's own; None for one that has none
    link: Mapping[str, Any]  # its counters, see emulator.backend.LinkInUse
    server: ServerView = ServerView()
    # Bytes of files by URL, for a server that keeps no log for us.
    sizes: Mapping[str, int] = field(default_factory=dict)


def is_of_the_machine(reason: str) -> bool:
    """Whether a load must not be trusted because this machine was too busy, which says nothing about the page."""
    return reason.partition(":")[0] in {_LATE, _OVERRUN}


def why_invalid(evidence: LoadEvidence) -> str:
    """Why a load must not be trusted, as "word: sentence"; empty if it may."""
    rules: tuple[Callable[[LoadEvidence], str], ...] = (
        _application,
        _protocol,
        _stray_hosts,
        _unfinished,
        _cut_short,
        _speed,
        _closings,
        _connections,
        _server,
        _strangers_on_the_link,
        _link,
    )
    return next((reason for rule in rules if (reason := rule(evidence))), "")


def application_fault(requests: Sequence[Mapping[str, Any]]) -> str:
    """What went wrong between an edge and the application behind it, as "word: sentence"; empty if nothing did."""
    faults = [item for item in requests if item.get("error")]
    if not faults:
        return ""
    first = faults[0]
    of = "a request" if len(faults) == 1 else f"{len(faults)} requests, for instance"
    return f"application: it failed {of} {first['method']} {first['path']}: {first['error']}"


def _application(evidence: LoadEvidence) -> str:
    return application_fault(evidence.server.requests)


def _protocol(evidence: LoadEvidence) -> str:
    if not any(request.protocol for request in evidence.load.requests if request.url.startswith("http")):
        return "protocol: no request was answered"
    other = evidence.load.answered_without_h3()
    if other:
        return f"protocol: {len(other)} requests over another protocol, for instance {other[0].url} over {other[0].protocol}"
    if evidence.log is not None and evidence.log.http2_hosts:
        return f"protocol: HTTP/2 connections to {', '.join(evidence.log.http2_hosts)}"
    return ""


def _stray_hosts(evidence: LoadEvidence) -> str:
    """Answers from hosts that do not belong to the site, and requests for them on QUIC connections."""
    answered = {_host(item.url) for item in evidence.load.requests if item.url.startswith("http") and item.protocol}
    logged = evidence.log.requests if evidence.log is not None else ()
    asked = {_name(item.authority) for item in logged if item.authority}
    if stray := sorted(answered - set(evidence.hosts)):
        return f"stray_host: answers from {', '.join(stray)}"
    if stray := sorted(asked - set(evidence.hosts)):
        return f"stray_host: requests for {', '.join(stray)}"
    return ""


def _unfinished(evidence: LoadEvidence) -> str:
    """Requests that were still open at the end, or whose connection failed: the page went on without what they asked for.

    Nothing answers without TLS, so that connections for http: addresses fail in all loads alike.
    """
    requests = [item for item in evidence.load.requests if item.url.startswith("http")]
    own = [item for item in requests if _host(item.url) in evidence.hosts and item.resource_type != _ENDLESS]
    open_ones = [item for item in own if not item.finished or (item.was_cut_off and item.url.startswith("https:"))]
    if open_ones:
        first = open_ones[0]
        why = f" ({first.failure})" if first.failure else ""
        return f"unfinished: {len(open_ones)} requests without a complete answer, for instance {first.url}{why}"
    return ""


def _cut_short(evidence: LoadEvidence) -> str:
    """Fewer bytes than the file has: there are servers that end a connection in good order before all is sent."""
    for item in evidence.load.requests:
        size = evidence.sizes.get(item.url.partition("#")[0], 0)
        if item.status == 200 and 0 < item.transfer_bytes < size:  # 0: from the browser's memory
            return f"cut_short: {item.transfer_bytes} bytes came of {item.url}, which has {size}"
    return ""


def _speed(evidence: LoadEvidence) -> str:
    warnings = evidence.load.warnings
    return f"too_slow: {warnings[0]}" if TOO_SLOW in " ".join(warnings) else ""


def _closings(evidence: LoadEvidence) -> str:
    """A connection that ended in trouble: the load continued over another one, or without what was lost."""
    if evidence.log is None:
        return ""
    last_ms = max((arrival.time_ms for arrival in evidence.log.arrivals), default=0.0)
    for session in evidence.log.sessions:
        closing = session.closing
        if closing is not None and not _is_harmless(session, closing, last_ms):
            by = "the server" if closing.from_peer else "the browser"
            words = f"{closing.details} ({closing.error})" if closing.details else closing.error
            return f"closed: {by} closed the connection to {session.host}: {words}"
    return ""


def _is_harmless(session: QuicSession, closing: Closing, last_ms: float) -> bool:
    """last_ms: when the last byte of the page arrived."""
    if closing.error in _HARMLESS:
        return True
    if closing.error == _POOLED or _POOLED_WORDS in closing.details:
        return not closing.from_peer
    # Attempts that were given up before they were of use, and the end of the browser.
    return (
        closing.error == _WITH_THE_BROWSER
        and not closing.from_peer
        and (closing.time_ms >= last_ms or not session.is_used)
    )


def _connections(evidence: LoadEvidence) -> str:
    if evidence.log is None:
        return ""
    used, expected = evidence.log.connections, evidence.expected
    if expected is None:
        return "" if used else "connections: none"
    if len(used) == expected.count:
        return ""
    listed = "; ".join(f"{session.host}, {session.why}" for session in used)
    return (
        f"connections: {len(used)} instead of {expected.count} ({expected.explanation}). They are: {listed or 'none'}. "
        "If that is right for this page, give the number as 'connections' in the site's description"
    )


def _server(evidence: LoadEvidence) -> str:
    """Requests and connections at the server that are not the page's."""
    hosts, seen = set(evidence.hosts), evidence.server
    if stray := sorted({name for item in seen.requests if (name := _name(str(item["authority"]))) not in hosts}):
        return f"stray_host: requests at the server for {', '.join(name or 'no host' for name in stray)}"
    if seen.connections is None:
        return ""
    names = {str(item["server_name"] or "") for item in seen.connections}
    if stray := sorted(names - hosts):
        return f"stray_host: connections to the server that asked for {', '.join(name or 'no host' for name in stray)}"
    if evidence.log is None:
        return ""
    sessions = evidence.log.sessions
    if len(seen.connections) > len(sessions):
        return f"stray_connection: {len(seen.connections)} at the server, of which the browser knows {len(sessions)}"
    asking = {item["connection"] for item in seen.requests}
    idle = [item for item in seen.connections if item["connection"] not in asking]
    without = len(sessions) - len({item.session for item in evidence.log.requests})
    if len(idle) > without:
        return f"stray_connection: {len(idle)} at the server without any request, of which the browser knows {without}"
    return ""


def _strangers_on_the_link(evidence: LoadEvidence) -> str:
    """More datagrams on the way to the server than packets that the browser has sent, of which some share a datagram.

    Does not apply where a kernel also counts what it sends by itself, such as that a port is closed.
    """
    if "clients" not in evidence.link or evidence.log is None or evidence.log.truncated:
        return ""
    up, sent = evidence.link["up"], sum(session.packets_sent for session in evidence.log.sessions)
    came = up["packets"] + up["overflowed"]
    return f"stray_packets: {came} came to the link for the server, the browser sent {sent}" if came > sent else ""


def _link(evidence: LoadEvidence) -> str:
    """The emulated network must have run to the end, and kept its schedule where it delivers packets itself."""
    link = evidence.link
    if not link:
        return "link: the emulated link has stopped before its time"
    unmet = {side: sum(link.get(side, {}).get(count, 0) for count in _NEVER_MET_THE_LINK) for side in ("down", "up")}
    if any(unmet.values()):
        return f"{_OVERRUN}: the emulator was too slow to take {unmet['down']} packets down and {unmet['up']} up"
    return _lateness(link.get("punctuality", {}), evidence.load.largest_paint_ms)


def _lateness(punctuality: Mapping[str, Any], lcp_ms: float) -> str:
    """Late packets delay a paint at most by the time for which they were kept before it: that time is judged."""
    held = held_ms(punctuality, lcp_ms)
    if held <= max(FRAME_MS, MAX_HELD_RATIO * lcp_ms):
        return ""
    return (
        f"{_LATE}: packets were held up for {held:.0f} ms of the {lcp_ms:.0f} ms before the largest paint "
        f"({punctuality['late']} of {punctuality['delivered']} left the link over 1 ms late)"
    )


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _name(authority: str) -> str:
    """The host of an authority, without its port, as names are compared."""
    host, colon, port = authority.rpartition(":")
    return (host if colon and port.isdigit() else authority).lower().removesuffix(".")
