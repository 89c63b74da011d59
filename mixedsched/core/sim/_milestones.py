"""When a load gets as far as the body, and to its first layout."""

from mixedsched.core.sim._holding import Holding


class Milestones:
    """Told what comes; times in microseconds since navigation.

    body_us: when the parser reaches the body, layout_us: when nothing blocks the first layout any more, both with the main
    thread's work on what they wait for. None until the last of that has come; then known, though they may still lie ahead.
    """

    def __init__(self, holding: Holding) -> None:
        self.body_us: int | None = None
        self.layout_us: int | None = None
        self._holding = holding
        self._begun_us: int | None = None  # the main document's first byte
        self._complete_us: dict[int, int] = {}

    def begun(self, index: int, now_us: int) -> None:
        """Something of a response has come, maybe not for the first time."""
        if self._begun_us is None and index == self._holding.main:
            self._begun_us = now_us
            self._note(now_us)

    def completed(self, index: int, now_us: int) -> None:
        """All of a response has come."""
        if index in self._holding.blocking:
            self._complete_us[index] = now_us
            self._note(now_us)

    def _note(self, now_us: int) -> None:
        if self.body_us is None:
            self.body_us = self._worked_on_us(self._holding.head, now_us)
        if self.layout_us is None:
            self.layout_us = self._worked_on_us(self._holding.blocking, now_us)

    def _worked_on_us(self, places: tuple[int, ...], now_us: int) -> int | None:
        """When the main thread is through with the document and these, one after the other. None while one is missing."""
        if self._begun_us is None:
            return None
        time_us = self._begun_us + self._holding.work_us[self._holding.main]
        for place in places:
            if place not in self._complete_us:
                return None
            time_us = max(time_us, self._complete_us[place]) + self._holding.work_us[place]
        return max(time_us, now_us)
