"""Fast path for packets with nothing but response data.

Nearly all packets of a busy server are of that kind. aioquic builds each through some sixty calls; here the same bytes are
put together at once: tests/core/h3/test_express.py compares every packet of transfers with and without this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from aioquic import tls
from aioquic.quic.packet import QuicPacketType
from aioquic.quic.packet_builder import QuicDeliveryHandler, QuicPacketBuilder, QuicSentPacket

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._connection import ScheduledConnection

_EPOCH, _PACKET_TYPE = tls.Epoch.ONE_RTT, QuicPacketType.ONE_RTT
_TAG_BYTES = 16  # of each of QUIC's ciphers
_SHORT_HEADER = 0x41  # fixed bit, packet numbers of two bytes
_STREAM_FRAME, _HAS_OFFSET = 0x0A, 0x04  # with its length; with an offset too
_FRAME_BYTES_MIN = 4  # type, ID, length
_OVERHEAD_BYTES = 64  # at least that of a packet with one frame


def write_response_packets(connection: ScheduledConnection, builder: QuicPacketBuilder, now_s: float) -> None:
    """Put packets into the builder until the responses, the congestion window or the pacer have no more for now.

    The caller has made sure that there is nothing to send but response data.
    """
    pacer = connection._loss._pacer
    crypto = connection._cryptos[_EPOCH]
    peer_id = connection._peer_cid.cid
    first_byte = _SHORT_HEADER | connection._spin_bit << 5 | crypto.key_phase << 2
    head_bytes = 3 + len(peer_id)
    assert crypto.send.aead is not None
    assert crypto.send.hp is not None
    encrypt, mask_of = crypto.send.aead.encrypt, crypto.send.hp._mask
    while True:
        at_s = cast("float | None", pacer.next_send_time(now=now_s))  # aioquic's annotation forgets None
        connection._pacing_at = at_s
        if at_s is not None:
            return
        room = builder._buffer_capacity
        if builder.max_flight_bytes is not None:
            window_room = builder.max_flight_bytes - builder._flight_bytes
            if window_room < room:
                others_fly = builder._flight_bytes or connection._loss.bytes_in_flight
                if connection._fills_packets and others_fly and _should_wait(connection, window_room):
                    return
                room = window_room
        handlers: list[tuple[QuicDeliveryHandler, Any]] = []
        payload = _write_frames(connection, handlers, room - head_bytes - _TAG_BYTES)
        if not payload:
            return
        number = builder._packet_number
        protected = encrypt(payload, _header(first_byte, peer_id, number), number)
        mask = mask_of(protected[2:18])  # RFC 9001 section 5.4.2: from the fourth byte after the packet number's start
        datagram = _header(first_byte ^ mask[0] & 0x1F, peer_id, number ^ (mask[1] << 8 | mask[2])) + protected
        size_bytes = len(datagram)
        builder._datagrams.append(datagram)
        builder._packets.append(
            QuicSentPacket(_EPOCH, True, True, False, number, _PACKET_TYPE, None, size_bytes, handlers, [])
        )
        builder._flight_bytes += size_bytes
        builder._total_bytes += size_bytes
        builder._packet_number = number + 1
        pacer.update_after_send(now=now_s)


def _should_wait(connection: ScheduledConnection, window_room: int) -> bool:
    """Whether a packet that only fills what is left of the window would cut a response short. An acknowledgement makes room.

    A fifth of all packets would be such ones where the window is small. Each costs as much of a link's time in headers, and
    of the pacer's, as a whole one. The end of a response does not wait, nor anything in slow start, which needs a full window
    to grow.
    """
    sender, loss = connection._service.next_response(), connection._loss
    in_slow_start = loss._cc.ssthresh is None or loss.congestion_window < loss._cc.ssthresh
    return sender is not None and not in_slow_start and sender.waiting_bytes > window_room - _OVERHEAD_BYTES


def _header(first_byte: int, peer_id: bytes, number: int) -> bytes:
    return b"%c%b%c%c" % (first_byte, peer_id, number >> 8 & 0xFF, number & 0xFF)


def _write_frames(connection: ScheduledConnection, handlers: list[tuple[QuicDeliveryHandler, Any]], room: int) -> bytes:
    """STREAM frames for at most `room` bytes, as aioquic writes them; none if no response can send.

    handlers: gets what is to be called when the packet is acknowledged or lost.
    """
    service = connection._service
    service.packets += 1
    parts: list[bytes] = []
    while room >= _FRAME_BYTES_MIN and (sender := service.next_response()) is not None:
        offset = sender.next_offset
        place = sender.encoded_id + _varint(offset) if offset else sender.encoded_id
        head_bytes = 3 + len(place)
        before = sender.highest_offset
        limit = before + connection._remote_max_data - connection._remote_max_data_used
        frame = sender.get_frame(room - head_bytes, min(limit, sender.stream.max_stream_data_remote))
        if frame is None:
            break
        data = frame.data
        size_bytes = len(data)
        connection._remote_max_data_used += sender.highest_offset - before
        handlers.append((sender.on_data_delivery, (offset, offset + size_bytes, frame.fin)))
        kind = _STREAM_FRAME | (_HAS_OFFSET if offset else 0) | frame.fin
        parts.append(b"%c%b%c%c%b" % (kind, place, 0x40 | size_bytes >> 8, size_bytes & 0xFF, data))
        room -= head_bytes + size_bytes
    return b"".join(parts)


def _varint(value: int) -> bytes:
    """RFC 9000 section 16."""
    if value < 0x40:
        return value.to_bytes(1, "big")
    if value < 0x4000:
        return (value | 0x4000).to_bytes(2, "big")
    if value < 0x4000_0000:
        return (value | 0x8000_0000).to_bytes(4, "big")
    return (value | 0xC000_0000_0000_0000).to_bytes(8, "big")
