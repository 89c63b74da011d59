"""Packets one at a time, so that the scheduler is asked again before each."""

from collections.abc import Iterator
from contextlib import contextmanager

from aioquic.quic.crypto import CryptoPair
from aioquic.quic.packet import QuicPacketType
from aioquic.quic.packet_builder import QuicPacketBuilder, QuicPacketBuilderStop


class PacketIsDone(QuicPacketBuilderStop):
    """Stops aioquic after it has written one packet."""


@contextmanager
def one_packet(builder: QuicPacketBuilder) -> Iterator[None]:
    """Have the builder refuse to start another packet after the next, by raising PacketIsDone."""
    start_packet = builder.start_packet

    def refuse(packet_type: QuicPacketType, crypto: CryptoPair) -> None:  # noqa: ARG001 - as the one it stands for
        raise PacketIsDone

    def start_last(packet_type: QuicPacketType, crypto: CryptoPair) -> None:
        builder.start_packet = refuse  # type: ignore[method-assign]
        start_packet(packet_type, crypto)

    builder.start_packet = start_last  # type: ignore[method-assign]
    try:
        yield
    finally:
        del builder.start_packet
