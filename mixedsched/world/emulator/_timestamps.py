"""What the kernel says beside each datagram: when it came in, and how many found no room in the socket before it."""

import contextlib
import socket
import struct
import sys
import time
from collections.abc import Sequence

Ancillary = Sequence[tuple[int, int, bytes]]  # level, kind, data: as recvmsg() gives them

ANCILLARY_BYTES = 128  # room for all of it

# The socket module has no names for them; values of Linux.
_SO_TIMESTAMPNS = 35
_SO_RXQ_OVFL = 40
_OPTIONS = (_SO_TIMESTAMPNS, _SO_RXQ_OVFL) if sys.platform == "linux" else ()
_TIMESPEC = struct.Struct("@ll")
_COUNT = struct.Struct("@I")
_MAX_AGE_NS = 1_000_000_000  # more than that is not waiting in a socket: the clock was set
_PAUSE_NS = 20_000
_READINGS = 4


def ask_for_timestamps(sock: socket.socket) -> None:
    """Have the kernel say both with each datagram, where it can."""
    for option in _OPTIONS:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, option, 1)


def arrived_ns(ancillary: Ancillary) -> int:
    """When the kernel received a datagram that was read just now, by time.monotonic_ns(); now if the kernel does not say."""
    for level, kind, data in ancillary:
        if kind == _SO_TIMESTAMPNS and level == socket.SOL_SOCKET:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            now_ns, wall_ns = _both_clocks()
            waited_ns: int = wall_ns - seconds * 1_000_000_000 - nanoseconds
            return now_ns - min(max(0, waited_ns), _MAX_AGE_NS)
    return time.monotonic_ns()


def _both_clocks() -> tuple[int, int]:
    """The monotonic clock and the kernel's, at one moment.

    They are read one after the other. A program that is held up in between would take a datagram for older than it is, and send
    it on too early. So they are read again if there was a pause; if there always was one, the error is towards later.
    """
    for _ in range(_READINGS):
        before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if after_ns - before_ns <= _PAUSE_NS:
            break
    return after_ns, wall_ns


def missed_before(ancillary: Ancillary) -> int:
    """How many datagrams found no room in this socket before this one, since it was opened; the kernel does not say 0."""
    for level, kind, data in ancillary:
        if kind == _SO_RXQ_OVFL and level == socket.SOL_SOCKET:
            missed: int = _COUNT.unpack(data)[0]
            return missed
    return 0
