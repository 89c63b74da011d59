"""`server-nginx`: nginx's order over HTTP/3, which knows nothing of priorities.

Source: nginx 1.31.4 (2026-08-21), `src/event/quic/ngx_event_quic_streams.c`: a response may have so many bytes written and not
yet acknowledged; frames wait in one queue, first in first out, and an acknowledgement makes room for as many bytes at its end.
Here data is taken for acknowledged as it leaves: with all frames in one queue, acknowledgements come in that same order. Left
out: a response that is alone is limited to one such window per round trip. Compared with nginx 1.26.3 in docs/servers.md.
"""

from collections import deque

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._queue import KeyedHeap
from mixedsched.model.scheme import SERVERS, Parameter, Scheme

BUFFER_BYTES = Parameter(
    "stream_buffer_bytes",
    "`http3_stream_buffer_size`: a larger one is nearer to first come first served, a smaller one to packets in turn",
    default=65_536,
    low=1024,
    high=64 * 1024 * 1024,
    whole=True,
)


class _Windows(StreamTable[None]):
    """One queue of frames: each response has its window's bytes in it, as (place, bytes) in order of place."""

    def __init__(self, buffer_bytes: int) -> None:
        super().__init__()
        self._buffer_bytes = buffer_bytes
        self._frames: dict[int, deque[list[int]]] = {}
        self._ready_by_place: KeyedHeap[int] = KeyedHeap()
        self._newest = 0
        self._last: int | None = None  # the stream with the frames at the end of the queue

    def _enter(self, stream_id: int, placement: None) -> None:  # noqa: ARG002 - there are none
        frames = self._frames.setdefault(stream_id, deque())
        if not frames:
            self._append(stream_id, self._buffer_bytes)
        self._ready_by_place.push(stream_id, frames[0][0])

    def _leave(self, stream_id: int, placement: None) -> None:  # noqa: ARG002
        self._ready_by_place.discard(stream_id)

    def _forget(self, stream_id: int) -> None:
        del self._frames[stream_id]
        if self._last == stream_id:
            self._last = None

    def pick(self) -> int | None:
        return self._ready_by_place.first()

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats take turns too
        frames = self._frames[stream_id]
        left_bytes = min(size_bytes, self._buffer_bytes)
        while left_bytes:
            part = min(left_bytes, frames[0][1])
            frames[0][1] -= part
            left_bytes -= part
            if not frames[0][1]:
                frames.popleft()
                if self._last == stream_id and not frames:
                    self._last = None
            self._append(stream_id, part)
        if stream_id in self._ready_by_place:
            self._ready_by_place.push(stream_id, frames[0][0])

    def _append(self, stream_id: int, size_bytes: int) -> None:
        frames = self._frames[stream_id]
        if self._last == stream_id:
            frames[-1][1] += size_bytes
            return
        self._last = stream_id
        self._newest += 1
        frames.append([self._newest, size_bytes])


SCHEMES = (
    Scheme(
        name="server-nginx",
        description="What nginx does: no priorities; all responses in turn, up to 64 KiB of each on their way. "
        "The response's own priority is sent, and not read.",
        source="nginx 1.31.4, ngx_event_quic_streams.c",
        needs="nothing",
        create=lambda values: _Windows(int(values["stream_buffer_bytes"])),
        place=lambda _request, _mapping, _values: None,
        parameters=(BUFFER_BYTES,),
        group=SERVERS,
    ),
)
