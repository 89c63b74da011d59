"""Why each connection was opened: what kept its requests from the ones that were there already.

Chromium shares a connection among requests whose session keys are equal (privacy mode, network anonymization key and rarer
parts) if the host is the same, or address and certificate fit. Source: net/quic/quic_session_pool.cc and quic_session_key.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mixedsched.world.browser.netlog._values import Closing, OpenReason

DUPLICATE = "An active session exists for the given IP"  # Chromium's words when it closes one that another can replace
_PARTITIONED = (
    "partitioned"  # in a privacy mode: to another site, without cookies but for those partitioned by top-level site
)


@dataclass(frozen=True, slots=True)
class Opened:
    """A session as far as its reason goes. key: its parts beyond privacy mode and network anonymization key.

    established_ms: None if its handshake never finished. other_address: Chromium found one to share, but for its address.
    pooled_with: host of the connection that took over, "" if that is not told.
    """

    host: str
    privacy_mode: str | None
    network_anonymization_key: str | None
    key: tuple[str, ...]
    opened_ms: float
    established_ms: float | None
    closing: Closing | None
    other_address: bool
    pooled_with: str

    @property
    def is_duplicate(self) -> bool:
        return self.closing is not None and DUPLICATE in self.closing.details

    def is_closed_at(self, time_ms: float) -> bool:
        return self.closing is not None and self.closing.time_ms < time_ms

    def is_ready_at(self, time_ms: float) -> bool:
        return self.established_ms is not None and self.established_ms <= time_ms and not self.is_closed_at(time_ms)


def reason_of(session: Opened, earlier: Sequence[Opened]) -> tuple[OpenReason, str]:
    """The reason as a word and in words. earlier: the sessions opened before, in order of time."""
    if session.is_duplicate:
        other = f"the connection to {session.pooled_with}" if session.pooled_with else "another connection"
        return OpenReason.DUPLICATE, f"opened beside {other}, which then served its requests, too; closed unused"
    if not earlier:
        return OpenReason.FIRST, "there was none before it"
    alike = [other for other in earlier if _key(other) == _key(session)]
    return _not_shared(session, alike) if alike else _kept_apart(session, earlier)


def _key(session: Opened) -> tuple[object, ...]:
    return (session.privacy_mode, session.network_anonymization_key, session.key)


def _not_shared(session: Opened, alike: Sequence[Opened]) -> tuple[OpenReason, str]:
    """Its key was there already: why no session with it would do."""
    living = [other for other in alike if not other.is_closed_at(session.opened_ms)]
    if not living:
        closing = alike[-1].closing
        details = closing.details or closing.error if closing is not None else ""
        return OpenReason.REPLACEMENT, f"the earlier connection to {alike[-1].host} had ended: {details}"
    # A connection that is not ready yet is not waited for; if it is, later, Chromium looks again, and keeps both if it must.
    later_ms = session.established_ms if session.established_ms is not None else session.opened_ms
    ready = [other for other in living if other.is_ready_at(later_ms)]
    if not ready:
        return OpenReason.PARALLEL, f"the connection to {living[-1].host} was not ready yet"
    same_host = [other for other in ready if other.host == session.host]
    if same_host:
        return OpenReason.REPLACEMENT, f"the earlier connection to {session.host} took no new requests"
    kept = "its address is another one" if session.other_address else "its address, or the certificate, does not fit"
    return OpenReason.HOST, f"{session.host} cannot share the connection to {ready[-1].host}: {kept}"


def _kept_apart(session: Opened, earlier: Sequence[Opened]) -> tuple[OpenReason, str]:
    """Its key is new: which part of it."""
    mode, partition = session.privacy_mode, session.network_anonymization_key
    if not any(other.network_anonymization_key == partition for other in earlier):
        return (
            OpenReason.PARTITION,
            f"requests of another page, or of a frame of another site, are kept apart ({partition})",
        )
    there = [other for other in earlier if other.network_anonymization_key == partition]
    if any(other.privacy_mode == mode for other in there):
        return OpenReason.OTHER, "a rarer part of the session key differs (proxy, name resolution, use)"
    if mode == "disabled":
        return OpenReason.CREDENTIALS, "requests with credentials are kept apart from those without"
    if _PARTITIONED in (mode or ""):
        return OpenReason.THIRD_PARTY, "requests to other sites, whose cookies are blocked, are kept apart"
    return (
        OpenReason.CREDENTIALS,
        "requests without credentials (fonts, anonymous fetches) are kept apart from those with them",
    )
