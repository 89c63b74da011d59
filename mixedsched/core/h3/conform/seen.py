"""What a client has seen of one connection, from which all verdicts are made."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Closed:
    """How the server ended the connection."""

    code: int
    is_application: bool
    """Whether it is a code of HTTP/3; else it is one of QUIC."""
    reason: str


@dataclass(slots=True)
class SeenConnection:
    """One connection, as it looked from the client's side."""

    statuses: dict[int, int] = field(default_factory=dict)
    """The status of each response, by stream ID."""
    servers: dict[int, str] = field(default_factory=dict)
    """What responses say of the server, by stream ID; none where they say nothing."""
    lengths: dict[int, int] = field(default_factory=dict)
    """Body sizes that responses announce, by stream ID, in bytes."""
    ended: set[int] = field(default_factory=set)
    """Streams whose responses are complete."""
    resets: dict[int, int] = field(default_factory=dict)
    """Codes of streams that the server cut off or stopped, by stream ID."""
    closed: Closed | None = None
    """None while the connection lives."""
    packets: list[tuple[int, tuple[tuple[int, int, int], ...]]] = field(default_factory=list)
    """(packet number, its STREAM frames of request streams as (stream ID, offset, bytes)), as they came."""
    received_bytes: int = 0
    """Data of request streams, repeats included."""

    def order(self) -> list[tuple[int, int]]:
        """New data in the order in which the server sent it: (stream ID, bytes). What is sent again counts once."""
        furthest: dict[int, int] = {}
        order: list[tuple[int, int]] = []
        for _, frames in sorted(self.packets):
            for stream_id, offset, size_bytes in frames:
                end = offset + size_bytes
                new_bytes = end - max(offset, furthest.get(stream_id, 0))
                if new_bytes > 0:
                    furthest[stream_id] = end
                    order.append((stream_id, new_bytes))
        return order


def shares_within(
    order: Sequence[tuple[int, int]], streams: Collection[int], skip_bytes: int, look_bytes: int
) -> dict[int, float]:
    """The share that each of these streams got of the first `look_bytes` of their data, behind `skip_bytes` of all data.

    Empty if less than half of `look_bytes` came.
    """
    got = dict.fromkeys(sorted(streams), 0)
    passed = 0
    for stream_id, size_bytes in order:
        if passed >= skip_bytes and stream_id in got:
            got[stream_id] += size_bytes
        passed += size_bytes
        if sum(got.values()) >= look_bytes:
            break
    total = sum(got.values())
    if total * 2 < look_bytes:
        return {}
    return {stream_id: part / total for stream_id, part in got.items()}
