"""Received packets in order of their numbers, for those who count by number while the network reorders."""

from collections.abc import Callable
from heapq import heappop, heappush

StreamFrames = list[tuple[int, int, int]]

MAX_HELD_PACKETS = 65_536  # far more than overtake each other on any link that people have


class PacketsByNumber:
    """Holds packets until no lower number is expected any more: `take` them as they come, then `finish`.

    pass_on: told (number, frames) in rising order. One that comes after so many higher ones that it cannot be put in order any
    more is left out, and so looks lost.
    """

    def __init__(self, pass_on: Callable[[int, StreamFrames], object], max_held: int = MAX_HELD_PACKETS) -> None:
        self._pass_on = pass_on
        self._max_held = max_held
        self._held: list[tuple[int, StreamFrames]] = []  # a heap; behind a gap
        self._next_number = 0

    def take(self, number: int, frames: StreamFrames) -> None:
        """Each number comes at most once."""
        if number < self._next_number:
            return
        heappush(self._held, (number, frames))
        while self._held and (self._held[0][0] == self._next_number or len(self._held) > self._max_held):
            self._pass_first_on()

    def finish(self) -> None:
        """Nothing more will come."""
        while self._held:
            self._pass_first_on()

    def _pass_first_on(self) -> None:
        number, frames = heappop(self._held)
        self._next_number = number + 1
        self._pass_on(number, frames)
