"""Orders of RFC 9218 that one sees from outside: requests for one large file, and whose bytes came.

A probe asks for the file on several streams at once, in one packet where they fit, so that the server knows of all before
it can have sent much. Verdicts are about shares of new data over a window behind the beginning, in which every server may do as
it likes: some start handlers of requests side by side.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mixedsched.core.h3.conform import wire
from mixedsched.core.h3.conform.seen import SeenConnection, shares_within
from mixedsched.core.h3.conform.verdict import RuleVerdict
from mixedsched.core.h3.conform.wire import WirePiece

SKIP_BYTES = 96_000
"""Data that is not judged, from the beginning of the first response."""
LOOK_BYTES = 256_000
"""Data that is judged."""
LEAST_FILE_BYTES = 1_000_000
"""What a file must hold, so that no response ends within the window."""
_SPARE_BYTES = 48_000  # repeats, and heads of responses
LATE_BYTES = 48_000
"""After so much data the late steps of a probe are made."""
LATE_SKIP_BYTES = 600_000
"""Data that is not judged where an update came late: it may have been on its way before the update arrived."""
MOST_BYTES_LATE = 1_600_000
"""Of a probe with a late request: it is over sooner where that is answered sooner."""

FIRST_SHARE = 0.7
"""The least share of a response that must go first: handlers may leave gaps, which others fill."""
STARVED_SHARE = 0.1
"""A response with less than this share beside one other starves."""
EQUAL_WITHIN = 0.25
"""How far a share may be from the mean, as a part of it."""

Judge = Callable[[SeenConnection], RuleVerdict]


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for the file, with these priority fields. early_update: the value of an update that is sent before it."""

    stream_id: int
    priorities: tuple[str, ...] = ()
    early_update: str | None = None


@dataclass(frozen=True, slots=True)
class OrderProbe:
    """One connection with requests, and who must get what."""

    rule: str
    what: str
    wanted: str
    asks: tuple[Ask, ...]
    judge: Judge
    late_asks: tuple[Ask, ...] = ()
    late_update: tuple[int, str] | None = None
    """(stream ID, value)."""

    def pieces_for(self, authority: str, path: str) -> tuple[WirePiece, ...]:
        """What is sent at the beginning. Updates that come early are given time to arrive."""
        early = [wire.update(ask.stream_id, ask.early_update) for ask in self.asks if ask.early_update is not None]
        begin = WirePiece(wire.CONTROL, wire.BEGINNING + b"".join(early), waits=True)
        return (begin, *_requests(self.asks, authority, path))

    def late_pieces_for(self, authority: str, path: str) -> tuple[WirePiece, ...]:
        """What is sent while responses run."""
        requests = _requests(self.late_asks, authority, path)
        if self.late_update is None:
            return requests
        return (*requests, WirePiece(wire.CONTROL, wire.update(*self.late_update)))

    @property
    def is_late(self) -> bool:
        """Whether something is sent while responses run."""
        return bool(self.late_asks) or self.late_update is not None

    @property
    def most_bytes(self) -> int:
        """When to stop."""
        if self.late_asks:
            return MOST_BYTES_LATE
        return (SKIP_BYTES if self.late_update is None else LATE_SKIP_BYTES) + LOOK_BYTES + _SPARE_BYTES


def _requests(asks: tuple[Ask, ...], authority: str, path: str) -> tuple[WirePiece, ...]:
    return tuple(WirePiece(ask.stream_id, wire.request(authority, path, ask.priorities), ends=True) for ask in asks)


def is_seen_enough(probe: OrderProbe, seen: SeenConnection) -> bool:
    """Whether a probe can be judged: a late request when a window of data has come since its response began."""
    if seen.received_bytes >= probe.most_bytes:
        return True
    if not probe.late_asks:
        return False
    order = seen.order()
    place = _begin_of(order, probe.late_asks[0].stream_id)
    return place is not None and sum(size for _, size in order[place:]) >= LOOK_BYTES


def _begin_of(order: list[tuple[int, int]], stream_id: int) -> int | None:
    return next((place for place, (stream, _) in enumerate(order) if stream == stream_id), None)


def _first(winner: int, *others: int) -> Judge:
    def judge(seen: SeenConnection) -> RuleVerdict:
        return _judge_shares(shares_within(seen.order(), (winner, *others), SKIP_BYTES, LOOK_BYTES), winner)

    return judge


def _ends_first(winner: int, other: int) -> Judge:
    def judge(seen: SeenConnection) -> RuleVerdict:
        return _judge_shares(shares_within(seen.order(), (winner, other), LATE_SKIP_BYTES, LOOK_BYTES), winner)

    return judge


def _overtakes(winner: int, other: int) -> Judge:
    def judge(seen: SeenConnection) -> RuleVerdict:
        order = seen.order()
        place = _begin_of(order, winner)
        total = sum(size for _, size in order)
        if place is None and total >= MOST_BYTES_LATE:
            return RuleVerdict("wrong", f"waits behind {total // 1000} kB of the other")
        if place is None or (other in seen.ended and _begin_of(order[place:], other) is None):
            return RuleVerdict("unclear", "the other response ended before")
        return _judge_shares(shares_within(order[place:], (winner, other), 0, LOOK_BYTES), winner)

    return judge


def _judge_shares(shares: dict[int, float], winner: int) -> RuleVerdict:
    if not shares:
        return RuleVerdict("unclear", "too little data came")
    words = f"gets {shares[winner]:.0%}"
    return RuleVerdict("right" if shares[winner] >= FIRST_SHARE else "wrong", words)


def _equal(*streams: int) -> Judge:
    def judge(seen: SeenConnection) -> RuleVerdict:
        shares = shares_within(seen.order(), streams, SKIP_BYTES, LOOK_BYTES)
        if not shares:
            return RuleVerdict("unclear", "too little data came")
        fair = 1 / len(streams)
        is_right = all(abs(share - fair) <= EQUAL_WITHIN * fair for share in shares.values())
        return RuleVerdict(
            "right" if is_right else "wrong", "shares " + ", ".join(f"{share:.0%}" for share in shares.values())
        )

    return judge


def _none_starves(block: int, sharer: int) -> Judge:
    def judge(seen: SeenConnection) -> RuleVerdict:
        shares = shares_within(seen.order(), (block, sharer), SKIP_BYTES, LOOK_BYTES)
        if not shares:
            return RuleVerdict("unclear", "too little data came")
        is_right = min(shares.values()) >= STARVED_SHARE
        return RuleVerdict("right" if is_right else "wrong", f"N gets {shares[block]:.0%}, I {shares[sharer]:.0%}")

    return judge


ORDER_PROBES: tuple[OrderProbe, ...] = (
    OrderProbe(
        "2", "u=3, and lines `i` and `u=1`", "lines are joined", (Ask(0, ("u=3",)), Ask(4, ("i", "u=1"))), _first(4, 0)
    ),
    OrderProbe("5", "u=9, and u=4", "u=9 counts as 3", (Ask(0, ("u=4",)), Ask(4, ("u=9",))), _first(4, 0)),
    OrderProbe(
        "10", "u=2, and `u=1, u=9`", "the last counts: 3", (Ask(0, ("u=1, u=9",)), Ask(4, ("u=2",))), _first(4, 0)
    ),
    OrderProbe(
        "18",
        "u=1 gets an update without u, beside u=2",
        "what is left out is 3",
        (Ask(0, ("u=1",)), Ask(4, ("u=2",))),
        _ends_first(4, 0),
        late_update=(0, "i=?0"),
    ),
    OrderProbe(
        "30",
        "update u=0 before its request, beside u=3",
        "it is kept",
        (Ask(0, ("u=3",)), Ask(4, early_update="u=0")),
        _first(4, 0),
    ),
    OrderProbe(
        "37",
        "u=5 becomes u=0 while u=3 runs",
        "it goes first",
        (Ask(0, ("u=3",)), Ask(4, ("u=5",))),
        _ends_first(4, 0),
        late_update=(4, "u=0"),
    ),
    OrderProbe(
        "43",
        "u=6, u=4, u=1 at once",
        "u=1 goes first",
        tuple(Ask(4 * i, (f"u={u}",)) for i, u in enumerate((6, 4, 1))),
        _first(8, 0, 4),
    ),
    OrderProbe(
        "43",
        "u=0 is asked for while u=5 runs",
        "it overtakes",
        (Ask(0, ("u=5",)),),
        _overtakes(4, 0),
        late_asks=(Ask(4, ("u=0",)),),
    ),
    OrderProbe(
        "44", "three of u=3, N", "the first goes first", tuple(Ask(4 * i, ("u=3",)) for i in range(3)), _first(0, 4, 8)
    ),
    OrderProbe(
        "45", "three of u=3, I", "equal shares", tuple(Ask(4 * i, ("u=3, i",)) for i in range(3)), _equal(0, 4, 8)
    ),
    OrderProbe(
        "46", "u=3 N beside u=3 I", "neither starves", (Ask(0, ("u=3",)), Ask(4, ("u=3, i",))), _none_starves(0, 4)
    ),
)
"""All probes on orders."""
