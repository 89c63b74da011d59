"""What a client sends out of order is kept within bounds, whatever it leaves out: bytes, pieces, work for each frame."""

from __future__ import annotations

from typing import Any

import pytest
from aioquic import tls
from aioquic.buffer import Buffer  # type: ignore[attr-defined]
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection, QuicReceiveContext
from aioquic.quic.packet import QuicErrorCode, QuicStreamFrame
from aioquic.quic.rangeset import RangeSet
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.seam._receivers import MAX_HANDSHAKE_BYTES, MAX_PIECES, HandshakeReceiver, Pieces, Reordered
from tests.core.h3.pair import Pair, pause
from tests.core.h3.raw import DATA, POST, frame, head
from tests.examples import examples

WINDOW_BYTES = 1024 * 1024  # of the pair's server, for a stream and for all together


def connected() -> Pair:
    pair = Pair("eps").connect()
    pair.h3.handle_event = lambda _event: []  # type: ignore[method-assign]
    return pair


def send_all_but(pair: Pair, data: bytes, *gaps: tuple[int, int]) -> int:
    """Send data on a new request stream, without these ranges of it."""
    stream_id = pair.client.get_next_available_stream_id()
    pair.client.send_stream_data(stream_id, data)
    for start, stop in gaps:
        pair.client._streams[stream_id].sender._pending.subtract(start, stop)
    return stream_id


def kept_bytes(pair: Pair) -> int:
    """What the server has received and not read."""
    return sum(len(stream.receiver._buffer) for stream in dict(pair.session.quic.streams).values())


@examples(300)
@given(st.lists(st.one_of(st.tuples(st.integers(0, 60), st.integers(1, 12)), st.just((-1, 0))), max_size=40))
def test_pieces_are_joined_as_ranges_are(steps: list[tuple[int, int]]) -> None:
    reordered, known = Reordered(None), RangeSet()
    pieces = Pieces(reordered)
    for start, size in steps:
        if start >= 0:
            pieces.add(start, start + size)
            known.add(start, start + size)
        elif len(known):
            assert pieces.shift() == known.shift()
        assert [pieces[index] for index in range(len(pieces))] == list(known)
        assert reordered.pieces == len(known)


def test_an_upload_behind_a_missing_byte_is_kept_up_to_a_window_and_read_when_the_byte_comes() -> None:
    pair = connected()
    size_bytes = 4 * WINDOW_BYTES
    stream_id = send_all_but(pair, head(fields=POST) + frame(DATA, bytes(size_bytes)), (0, 1))
    pause(pair, 5)
    assert WINDOW_BYTES - 2000 < kept_bytes(pair) <= WINDOW_BYTES
    assert pair.terminated is None
    pair.client._streams[stream_id].sender._pending.add(0, 1)
    pause(pair, 5)
    assert pair.session.http is not None
    assert pair.session.http._requests[stream_id].body_bytes == size_bytes
    assert kept_bytes(pair) == pair.session.quic.reordered.ahead_bytes == 0


def test_streams_with_gaps_share_the_window_of_the_connection() -> None:
    pair = connected()
    for _ in range(8):
        send_all_but(pair, bytes(WINDOW_BYTES // 2), (0, 1))
    pause(pair, 5)
    assert kept_bytes(pair) <= WINDOW_BYTES


def test_what_a_client_takes_back_is_not_kept() -> None:
    """Also if it leaves our half of the stream open."""
    pair = connected()
    for _ in range(5):
        stream_id = send_all_but(pair, bytes(WINDOW_BYTES // 2), (0, 1))
        pause(pair)
        pair.client.reset_stream(stream_id, 0x10C)
        pause(pair)
    assert kept_bytes(pair) == pair.session.quic.reordered.ahead_bytes == pair.session.quic.reordered.pieces == 0
    assert pair.terminated is None


def test_a_client_that_sends_every_second_byte_is_not_listened_to_for_long() -> None:
    pair = connected()
    size_bytes = MAX_PIECES  # on each of two streams: half of them are left out
    for _ in range(2):
        send_all_but(pair, bytes(size_bytes), *((at, at + 1) for at in range(0, size_bytes, 2)))
    pause(pair, 2)
    assert pair.terminated is None
    assert pair.session.quic.reordered.pieces == MAX_PIECES
    send_all_but(pair, bytes(4), (0, 1), (2, 3))
    pause(pair, 2)
    assert pair.terminated is not None
    assert pair.terminated.error_code == QuicErrorCode.INTERNAL_ERROR


def test_a_frame_costs_no_more_the_more_pieces_there_are() -> None:
    """A count in place of a time: no step walks all pieces."""
    pieces = Pieces(Reordered(None))
    for at in range(0, 200_000, 2):
        pieces.add(at, at + 1)  # a walk over all would take minutes
    assert len(pieces) == 100_000


# The handshake


def test_messages_of_a_handshake_are_bounded_though_they_come_in_order() -> None:
    """TLS would keep a message of 16 MB until it is complete."""
    pair = connected()
    announced = b"\x01\xff\xff\xff"
    pair.client._crypto_streams[tls.Epoch.ONE_RTT].sender.write(announced + bytes(2 * MAX_HANDSHAKE_BYTES))
    pause(pair, 5)
    assert pair.terminated is not None
    assert pair.terminated.error_code == QuicErrorCode.CRYPTO_BUFFER_EXCEEDED


def test_a_first_message_is_bounded_before_anything_is_known_of_the_client() -> None:
    pair = Pair("eps")
    sender = pair.client._crypto_streams[tls.Epoch.INITIAL].sender
    sender.write(bytes(2 * MAX_HANDSHAKE_BYTES))
    sender._pending.subtract(0, 1)  # so that the handshake does not begin
    pair.run(until_s=30)
    assert not pair.session.quic.is_established
    received = pair.session.quic._crypto_streams[tls.Epoch.INITIAL].receiver
    assert len(received._buffer) <= MAX_HANDSHAKE_BYTES
    assert pair.terminated is not None
    assert pair.terminated.error_code == QuicErrorCode.CRYPTO_BUFFER_EXCEEDED


def test_a_first_message_may_come_in_any_order() -> None:
    receiver = HandshakeReceiver()
    assert receiver.handle_frame(QuicStreamFrame(b"cd", offset=2)) is None
    event = receiver.handle_frame(QuicStreamFrame(b"ab", offset=0))
    assert event is not None
    assert event.data == b"abcd"


# Acknowledgements


@pytest.mark.parametrize(("after_s", "ahead"), [(5.0, 0), (5.0, 1), (0.05, 1000), (0.05, 1 << 40)])
def test_who_acknowledges_what_was_never_sent_is_sent_nothing_more(after_s: float, ahead: int) -> None:
    """All that is sent later would be taken for lost, and be sent again and again (RFC 9000 section 13.1)."""
    pair = connected()
    pair.request("/1000000")
    pair.run(until_s=pair.now_s + after_s)
    space = pair.client._spaces[tls.Epoch.ONE_RTT]
    space.ack_queue.add(pair.session.quic._packet_number + ahead)
    space.ack_at = pair.now_s
    pause(pair, 1)
    assert pair.terminated is not None
    assert pair.terminated.error_code == QuicErrorCode.PROTOCOL_VIOLATION


class Concealing(QuicConnection):
    """A client that acknowledges everything but what brings the beginning of its first response."""

    _conceals = False

    def _handle_stream_frame(self, context: QuicReceiveContext, frame_type: int, buf: Buffer) -> None:
        start = buf.tell()
        self._conceals |= (buf.pull_uint_var(), buf.pull_uint_var() if frame_type & 4 else 0) == (0, 0)
        buf.seek(start)
        super()._handle_stream_frame(context, frame_type, buf)

    def receive_datagram(self, data: bytes, addr: Any, now: float) -> None:
        self._conceals = False
        super().receive_datagram(data, addr, now)
        if self._conceals:
            space = self._spaces[tls.Epoch.ONE_RTT]
            space.ack_queue.subtract(space.largest_received_packet, space.largest_received_packet + 1)


def test_a_client_cannot_have_a_whole_body_kept_by_concealing_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent is kept until all before it is acknowledged: 64 MB at most, here less."""
    monkeypatch.setattr("mixedsched.core.h3.seam._connection.MAX_KEPT_BYTES", 200_000)
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="pair.test", verify_mode=0)
    configuration.max_data = configuration.max_stream_data = 16 * 1024 * 1024
    pair = Pair("eps", client=Concealing(configuration=configuration)).connect()
    pair.request("/1000000")
    pair.run(until_s=pair.now_s + 60)
    assert pair.terminated is not None
    assert pair.terminated.error_code == QuicErrorCode.INTERNAL_ERROR
