"""Why each connection was opened: why its requests could not use those that existed already.

Chromium shares a connection among requests whose session keys are equal (privacy mode, network anonymization key and rarer
parts) if the host is the same, or address and certificate fit. Source: net/quic/quic_session_pool.cc and quic_session_key.h.
"""

from collections.abc import Sequence

from mixedsched.world.browser.netlog._sessions import NotedSession
from mixedsched.world.browser.netlog._values import OpenReason

# In a privacy mode: to another site, without cookies except those partitioned by top-level site.
_PARTITIONED = "partitioned"


def reason_of(
    session: NotedSession, earlier: Sequence[NotedSession], taker: NotedSession | None, *, has_other_address: bool
) -> tuple[OpenReason, str]:
    """The reason, and the same in words.

    earlier: the sessions opened before, in order of time. taker: the one that took over, if that is known. has_other_address:
    Chromium found one to share, except for its address.
    """
    if session.is_duplicate:
        other = f"the connection to {taker.host}" if taker is not None else "another connection"
        return OpenReason.DUPLICATE, f"opened beside {other}, which then served its requests, too; closed unused"
    if not earlier:
        return OpenReason.FIRST, "there was none before it"
    alike = [other for other in earlier if _key(other) == _key(session)]
    return _not_shared(session, alike, has_other_address) if alike else _kept_apart(session, earlier)


def _key(session: NotedSession) -> tuple[object, ...]:
    return (session.privacy_mode, session.network_anonymization_key, session.key)


def _not_shared(
    session: NotedSession, alike: Sequence[NotedSession], has_other_address: bool
) -> tuple[OpenReason, str]:
    """For a session whose key existed already: why no session with that key would do."""
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
    kept = "its address is another one" if has_other_address else "its address, or the certificate, does not fit"
    return OpenReason.HOST, f"{session.host} cannot share the connection to {ready[-1].host}: {kept}"


def _kept_apart(session: NotedSession, earlier: Sequence[NotedSession]) -> tuple[OpenReason, str]:
    """For a session with a new key: which part of it is new."""
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
