"""Which packet numbers were received of late, as bits of one number: 44 bytes, where aioquic keeps a set of up to 20 KB."""

from aioquic.quic.recovery import MAX_ACK_RANGES, QuicPacketNumberWindow

_SIZE = 2 * MAX_ACK_RANGES  # as aioquic has it
_MASK = (1 << _SIZE) - 1


class NumberWindow(QuicPacketNumberWindow):
    """Knows the latest numbers, and takes all before them for received, as aioquic's does."""

    def __init__(self) -> None:
        self._highest = -1
        self._bits = 0  # bit n: whether the highest number less n was received

    def add(self, packet_number: int) -> None:
        ahead = packet_number - self._highest
        if ahead > 0:
            self._highest = packet_number
            self._bits = (self._bits << ahead | 1) & _MASK if ahead < _SIZE else 1
        elif ahead > -_SIZE:
            self._bits |= 1 << -ahead

    def __contains__(self, packet_number: int) -> bool:
        behind = self._highest - packet_number
        return behind >= 0 and (behind >= _SIZE or self._bits >> behind & 1 == 1)
