"""What the browser's own log of a page load tells, as far as a run keeps it."""

from __future__ import annotations

from dataclasses import replace

from mixedsched.lab.model import Arrival, Connection, Run
from mixedsched.world.browser import NetLog, arrival_order


def with_evidence(run: Run, log: NetLog) -> Run:
    """The run with what its NetLog shows.

    A log without its end gives no HOL bytes: those that are in it would be too few to be compared.
    """
    return replace(
        run,
        arrivals=tuple(
            Arrival(item.path, item.from_ms, item.to_ms, item.frames, item.size_bytes, item.blocked_bytes)
            for item in arrival_order(log)
        ),
        connections=len(log.connections),
        lost_packets=log.packets_lost,
        quic=tuple(
            Connection(
                host=session.host,
                reason=session.reason.value,
                why=session.why,
                hol_bytes=None if log.truncated else session.hol_bytes,
                connection_hol_bytes=None if log.truncated else session.connection_hol_bytes,
                packets_seen=session.packets_seen,
                packets_lost=session.packets_lost,
                losses=session.losses,
            )
            for session in log.connections
        ),
    )
