"""How well the relay kept its schedule."""

from typing import Any

LATE_US = 1000  # a packet that is delivered later than this counts as late; so does a timer
_LONGEST_COUNTED_US = 10_000
# Each is over 1 ms: so many before the largest paint are over 5 % of whatever a load may take, so that it does not count.
# Of loads that count all are listed, as far as they matter.
_STALLS_LISTED = 7000


class Lateness:
    """Counts packets by how late they were, to the microsecond; all beyond 10 ms together."""

    def __init__(self) -> None:
        self.worst_us = 0
        self._packets = [0] * (_LONGEST_COUNTED_US + 1)

    def note(self, late_us: int) -> None:
        """Count a packet that was delivered so late."""
        if late_us > self.worst_us:
            self.worst_us = late_us
        self._packets[min(late_us, _LONGEST_COUNTED_US)] += 1

    @property
    def delivered(self) -> int:
        return sum(self._packets)

    @property
    def late(self) -> int:
        """Packets over LATE_US late."""
        return sum(self._packets[LATE_US + 1 :])

    def quantile_us(self, share: float) -> int:
        """At least this share of the packets was no later. 0 without packets; the worst if it is beyond 10 ms."""
        needed, seen = share * self.delivered, 0
        for late_us, packets in enumerate(self._packets):
            seen += packets
            if seen >= needed and late_us < _LONGEST_COUNTED_US:
                return late_us
        return self.worst_us

    def facts(self) -> dict[str, int]:
        return {
            "delivered": self.delivered,
            "late": self.late,
            "p50_us": self.quantile_us(0.5),
            "p99_us": self.quantile_us(0.99),
            "worst_us": self.worst_us,
        }


class Stalls:
    """The intervals in which at least one packet was kept for over LATE_US beyond its time."""

    def __init__(self) -> None:
        self._stalls: list[tuple[int, int]] = []  # those that are listed, and the last one
        self._unlisted_us = 0  # in those between
        self._unlisted_until_us = 0

    def note(self, due_us: int, sent_us: int) -> None:
        """Take a packet that was due at due_us and left at sent_us, no earlier than the packets before."""
        if sent_us - due_us <= LATE_US:
            return
        from_us = max(due_us, self._unlisted_until_us)
        while self._stalls and self._stalls[-1][1] >= from_us:
            from_us = min(from_us, self._stalls.pop()[0])
        if len(self._stalls) > _STALLS_LISTED:
            unlisted_from_us, self._unlisted_until_us = self._stalls.pop()
            self._unlisted_us += self._unlisted_until_us - unlisted_from_us
        self._stalls.append((from_us, sent_us))

    def facts(self) -> dict[str, Any]:
        held_us = sum(to_us - from_us for from_us, to_us in self._stalls) + self._unlisted_us
        return {"held_us": held_us, "stalls_us": [list(stall) for stall in self._stalls[:_STALLS_LISTED]]}


def punctuality(down: Lateness, up: Lateness, late_timers: int, stalls: Stalls) -> dict[str, Any]:
    """As JSON. delivered: packets; late: those over LATE_US late; worst_us: the latest; each direction by itself too.

    held_us: the total time in which packets were kept too long; stalls_us: from when to when, since the first datagram.
    late_timers: how often the relay was woken over LATE_US after the time it had asked for, because the machine was busy. A
    packet that is late without a late timer was held up by too many packets before it.
    """
    return {
        "delivered": down.delivered + up.delivered,
        "late": down.late + up.late,
        "worst_us": max(down.worst_us, up.worst_us),
        "late_timers": late_timers,
        **stalls.facts(),
        "down": down.facts(),
        "up": up.facts(),
    }
