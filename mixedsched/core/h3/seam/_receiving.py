"""Fast path for the datagrams of an established connection.

A busy server gets an acknowledgement for every few packets that it sends, from the same address to the same connection ID
under the same keys. aioquic is ready for migration, coalesced packets and new keys each time, which costs more than handling
the acknowledgement. All other datagrams are left to it, untouched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aioquic import tls
from aioquic._crypto import CryptoError
from aioquic.quic.connection import QuicConnectionError, QuicConnectionState, QuicReceiveContext
from aioquic.quic.packet import decode_packet_number
from aioquic.quic.recovery import MAX_ACK_RANGES

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._connection import ScheduledConnection

_EPOCH, _EARLY_EPOCH = tls.Epoch.ONE_RTT, tls.Epoch.ZERO_RTT
_FORM_BITS, _SHORT_HEADER = 0xC0, 0x40
_SPIN_BIT, _RESERVED_BITS, _KEY_PHASE_BIT = 0x20, 0x18, 0x04
_SAMPLE_OFFSET, _SAMPLE_BYTES = 4, 16  # behind the start of the packet number (RFC 9001 section 5.4.2)


def receive_plain_datagram(connection: ScheduledConnection, data: bytes, address: Any, now_s: float) -> bool:
    """Receive a datagram of the usual kind; False for any other, with nothing changed.

    The caller has made sure that the handshake is confirmed and that there is no qlog.
    """
    opened = _opened(connection, data, address)
    if opened is None:
        return False
    number, spin_bit, payload = opened
    space = connection._spaces[_EPOCH]
    if number > space.expected_packet_number:
        space.expected_packet_number = number + 1
    if number > connection._spin_highest_pn:
        connection._spin_bit = spin_bit
        connection._spin_highest_pn = number
    path = connection._network_paths[0]
    context = QuicReceiveContext(_EPOCH, connection.host_cid, path, None, now_s, connection._version)
    try:
        is_ack_eliciting, _ = connection._payload_received(context, payload)
    except QuicConnectionError as error:
        connection._logger.warning(error)
        connection.close(error_code=error.error_code, frame_type=error.frame_type, reason_phrase=error.reason_phrase)
    if connection._state is not QuicConnectionState.CONNECTED or connection._close_pending:
        return True
    connection._close_at = now_s + connection._idle_timeout()
    connection._ack_eliciting_sent_since_receipt = False
    if number > space.largest_received_packet:
        space.largest_received_packet = number
        space.largest_received_time = now_s
    space.ack_queue.add(number)
    space.received_packets.add(number)
    if len(space.ack_queue) > MAX_ACK_RANGES:
        space.ack_queue.shift()
    if is_ack_eliciting and space.ack_at is None:
        space.ack_at = now_s + connection._ack_delay
    return True


def _opened(connection: ScheduledConnection, data: bytes, address: Any) -> tuple[int, bool, bytes] | None:
    """(packet number, spin bit, payload) of a datagram of the usual kind that is new and authentic; else None."""
    path = connection._network_paths[0]
    host_id = connection.host_cid
    number_at = 1 + len(host_id)
    sample_at = number_at + _SAMPLE_OFFSET
    if (
        len(data) < sample_at + _SAMPLE_BYTES
        or data[0] & _FORM_BITS != _SHORT_HEADER
        or path.addr != address
        or not path.is_validated
        or not data.startswith(host_id, 1)
        or connection._state is not QuicConnectionState.CONNECTED
        or connection._cryptos[_EARLY_EPOCH].recv.is_valid()
    ):
        return None
    space = connection._spaces[_EPOCH]
    keys = connection._cryptos[_EPOCH].recv
    assert keys.aead is not None
    assert keys.hp is not None
    mask = keys.hp._mask(data[sample_at : sample_at + _SAMPLE_BYTES])
    first_byte = data[0] ^ mask[0] & 0x1F
    if first_byte & _RESERVED_BITS or first_byte & _KEY_PHASE_BIT != keys.key_phase << 2:
        return None
    payload_at = number_at + (first_byte & 3) + 1
    bits = 8 * (payload_at - number_at)
    truncated = int.from_bytes(data[number_at:payload_at], "big") ^ int.from_bytes(mask[1:5], "big") >> 32 - bits
    number = decode_packet_number(truncated, bits, space.expected_packet_number)
    if number in space.received_packets:
        return None
    header = b"%c%b%b" % (first_byte, host_id, truncated.to_bytes(payload_at - number_at, "big"))
    try:
        payload = keys.aead.decrypt(data[payload_at:], header, number)
    except CryptoError:
        return None
    return number, bool(first_byte & _SPIN_BIT), payload
