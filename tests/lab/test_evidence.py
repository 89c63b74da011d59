"""What a run keeps of its NetLog."""

from __future__ import annotations

import pytest

from mixedsched.lab._lab import with_evidence
from mixedsched.lab.model import Arrival, Connection, Run, RunStatus
from mixedsched.world.browser.netlog import FrameArrival, NetLog, OpenReason, QuicSession, StreamRequest


def log(*, truncated: bool = False) -> NetLog:
    used = QuicSession(
        source_id=7,
        host="a.test",
        established=True,
        why="there was none before it",
        packets_seen=90,
        packets_lost=3,
        hol_bytes=1200,
        connection_hol_bytes=4000,
        losses=((5.0, 3),),
    )
    closed = QuicSession(8, "b.test", established=True, reason=OpenReason.DUPLICATE, hol_bytes=0, packets_lost=0)
    return NetLog(
        sessions=(used, closed),
        requests=(StreamRequest(7, 0, "a.test", "/", 0.0),),
        arrivals=(
            FrameArrival(4.0, 7, 0, 0, 700, False),
            FrameArrival(6.0, 7, 0, 900, 1200, False, blocked_bytes=1200),
        ),
        streams=(),
        chromium_version="156",
        command_line="",
        truncated=truncated,
    )


def run(found: NetLog) -> Run:
    return with_evidence(Run(1, 1, "A", 0, RunStatus.OK), found)


def test_the_connections_that_were_used_with_their_hol_and_losses() -> None:
    assert run(log()).quic == (
        Connection("a.test", "first", "there was none before it", 1200, 4000, 90, 3, ((5.0, 3),)),
    )
    assert (run(log()).connections, run(log()).hol_bytes, run(log()).lost_packets) == (1, 1200, 3)


def test_the_order_of_arrival_with_what_had_to_wait() -> None:
    assert run(log()).arrivals == (
        Arrival("/", 4.0, 4.0, 1, 700, authority="a.test"),
        Arrival("/", 6.0, 6.0, 1, 1200, blocked_bytes=1200, authority="a.test"),
    )


@pytest.mark.parametrize("truncated", [False, True])
def test_a_log_without_its_end_gives_no_hol_since_it_would_be_too_little(truncated: bool) -> None:
    assert (run(log(truncated=truncated)).hol_bytes is None) == truncated
