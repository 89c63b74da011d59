"""A client that writes what it is told: whatever the server does, it goes on until it is to be judged."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.conform import wire
from mixedsched.world.client.talk import Talk
from tests.world.client.https import Page, http3, write_certificate


def test_what_is_written_to_a_stream_that_was_stopped_is_dropped(tmp_path: Path) -> None:
    with (
        http3(Page(stops_control=True), write_certificate(tmp_path, "localhost")) as port,
        Talk("127.0.0.1", port, "localhost") as talk,
    ):
        talk.write(wire.CONTROL, wire.BEGINNING)
        talk.write(0, wire.request("localhost", "/"), ends=True)
        talk.run(lambda seen: 0 in seen.ended, 10)
        talk.write(wire.CONTROL, wire.update(0, "u=1"))
        talk.run(lambda seen: seen.closed is not None, 10)
        assert (talk.seen.statuses, talk.seen.resets) == ({0: 200}, {wire.CONTROL: ErrorCode.H3_GENERAL_PROTOCOL_ERROR})


@pytest.mark.parametrize(("most", "most_bytes"), [(1000, 4000), (4, 1_000_000)])
def test_what_waits_to_be_read_is_bounded_in_datagrams_and_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, most_bytes: int
) -> None:
    """Whoever talks to us chooses how large its datagrams are."""
    monkeypatch.setattr("mixedsched.world.client.talk.PENDING_MOST", most)
    monkeypatch.setattr("mixedsched.world.client.talk.PENDING_MOST_BYTES", most_bytes)
    with http3(Page(), write_certificate(tmp_path, "localhost")) as port, Talk("127.0.0.1", port, "localhost") as talk:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with ours, theirs:
            ours.setblocking(False)
            for _ in range(10):
                theirs.send(bytes(1000))
            kept, talk._socket = talk._socket, ours
            talk._pending.clear()
            talk._pending_bytes = 0
            talk._take()
            talk._socket = kept
        assert len(talk._pending) == 4
