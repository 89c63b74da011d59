"""Which of a few levels have something to send, and which of those comes first: a set of small numbers in one integer."""


class FilledLevels:
    """Levels by number, the lowest first. Asking is cheaper than looking at every level, and is done for every packet."""

    __slots__ = ("_bits",)

    def __init__(self) -> None:
        self._bits = 0

    def add(self, level: int) -> None:
        self._bits |= 1 << level

    def discard(self, level: int) -> None:
        self._bits &= ~(1 << level)

    def first(self) -> int:
        """The lowest level that has something; -1 if none has."""
        bits = self._bits
        return (bits & -bits).bit_length() - 1
