"""What a client may send ahead of what was read.

aioquic doubles a limit whenever half of it is used, so that a client may send as much ahead as it has sent before, and what
comes behind a gap is kept. Here the limit stays a window ahead of what was read: of what came without gaps, and is not held
by a reader that is slow.
"""

from aioquic.quic.stream import QuicStream

from mixedsched.core.h3.seam._receivers import Reordered


class ReadCredit:
    """Counts received bytes that are still kept; sizes in bytes.

    window_bytes: for all streams together; stream_window_bytes: for one. Both also bound what is kept. reordered: what has come
    behind gaps.
    """

    __slots__ = ("_all_held", "_held", "_reordered", "_stream_window_bytes", "_window_bytes")

    def __init__(self, window_bytes: int, stream_window_bytes: int, reordered: Reordered) -> None:
        self._reordered = reordered
        self._window_bytes = window_bytes
        self._stream_window_bytes = stream_window_bytes
        self._held: dict[int, int] = {}
        self._all_held = 0

    def hold(self, stream_id: int, size_bytes: int) -> None:
        self._held[stream_id] = self._held.get(stream_id, 0) + size_bytes
        self._all_held += size_bytes

    def release(self, stream_id: int, size_bytes: int | None) -> None:
        """size_bytes: None for all of the stream's."""
        held = self._held.pop(stream_id, 0)
        released = held if size_bytes is None else min(held, size_bytes)
        self._all_held -= released
        if held > released:
            self._held[stream_id] = held - released

    def raised(self, used_bytes: int, limit_bytes: int) -> int | None:
        """The new limit for all streams; None while the old one leaves more than half a window."""
        return _raised(used_bytes - self._reordered.ahead_bytes - self._all_held, limit_bytes, self._window_bytes)

    def raised_for(self, stream: QuicStream) -> int | None:
        """The same for one of them."""
        if not stream.max_stream_data_local or stream.receiver.is_finished:
            return None
        read = stream.receiver.starting_offset() - self._held.get(stream.stream_id or 0, 0)
        return _raised(read, stream.max_stream_data_local, self._stream_window_bytes)


def _raised(read_bytes: int, limit_bytes: int, window_bytes: int) -> int | None:
    wanted = read_bytes + window_bytes
    return wanted if wanted - limit_bytes > window_bytes // 2 else None
