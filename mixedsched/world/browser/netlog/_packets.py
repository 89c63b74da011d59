"""The packets of one session: their number spaces, what each carried, and what losses held back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mixedsched.core.metrics.hol import HolCounter

_APPLICATION = ""  # the space of 1-RTT packets, and of 0-RTT ones (RFC 9000 section 12.3)


@dataclass(frozen=True, slots=True)
class Blocked:
    """New bytes of a frame that had to wait. frame: as it was numbered by whoever added it."""

    stream_id: int
    frame: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PacketCounts:
    """What a session's packets show. See QuicSession; blocked: frames of which bytes had to wait, in the order of packets."""

    seen: int
    lost: int
    hol_bytes: int | None
    connection_hol_bytes: int | None
    losses: tuple[tuple[float, int], ...]
    blocked: tuple[Blocked, ...]


class Packets:
    """Collects packets in the order in which they came; counts when all are there, since it goes by number.

    A header that is told again, as for packets that had to wait for their keys, begins no new packet.
    """

    def __init__(self) -> None:
        self._came_ms: dict[int, float] = {}
        self._frames: dict[int, list[tuple[int, int, int, int]]] = {}
        self._other_spaces: dict[str, set[int]] = {}
        self._current: list[tuple[int, int, int, int]] | None = None
        self._has_strays = False

    def header(self, params: Mapping[str, Any], number: int, time_ms: float) -> None:
        """A packet begins: what comes next was in it."""
        space = _space(params)
        if space != _APPLICATION:
            self._other_spaces.setdefault(space, set()).add(number)
            self._current = None
            return
        self._came_ms.setdefault(number, time_ms)
        self._current = self._frames.setdefault(number, [])

    def frame(self, stream_id: int, offset: int, length: int, frame: int) -> None:
        """A STREAM frame of the packet that began last. frame: a number of its own, for Blocked."""
        if self._current is None:
            self._has_strays = True
        else:
            self._current.append((stream_id, offset, length, frame))

    def count(self) -> PacketCounts:
        """Go through the packets by number. Without the packet of some frame nothing can be said of HOL."""
        counter = HolCounter()
        blocked, losses = [], []
        taken = self._numbers_of_other_spaces()
        next_number = 0
        for number in sorted(self._frames):
            lost = number - next_number - sum(next_number <= other < number for other in taken)
            losses += [(self._came_ms[number], lost)] if lost else []
            next_number = number + 1
            frames = self._frames[number]
            held_bytes = counter.packet(number, [entry[:3] for entry in frames])
            blocked += [
                Blocked(entry[0], entry[3], held) for entry, held in zip(frames, held_bytes, strict=True) if held
            ]
        return PacketCounts(
            seen=len(self._frames),
            lost=sum(lost for _, lost in losses),
            hol_bytes=None if self._has_strays else counter.stream_hol_bytes,
            connection_hol_bytes=None if self._has_strays else counter.connection_hol_bytes,
            losses=tuple(losses),
            blocked=() if self._has_strays else tuple(blocked),
        )

    def _numbers_of_other_spaces(self) -> set[int]:
        """Numbers that are no losses because the handshake used them.

        Every space begins with 0, but some servers (aioquic) go on counting from one space to the next. That shows in no
        number being used twice.
        """
        spaces = [*self._other_spaces.values(), set(self._frames)]
        used = set().union(*spaces)
        return used - spaces[-1] if len(used) == sum(map(len, spaces)) else set()


def _space(params: Mapping[str, Any]) -> str:
    kind = str(params.get("long_header_type") or "")
    if kind:
        return _APPLICATION if "ZERO" in kind else kind
    return "LONG" if "LONG" in str(params.get("header_format") or "") else _APPLICATION
