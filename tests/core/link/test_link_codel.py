"""CoDel on a link, against the pseudo-code of RFC 8289 section 5, written down plainly."""

from __future__ import annotations

import math
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.link import Fate, PacketRecord
from mixedsched.model.profile import CoDel
from tests.core.link.links import Step, drain, drive, link, steps

MAX_PACKET_BYTES = 1514
GENTLE = CoDel(target_us=5_000, interval_us=100_000)


class PlainCoDel:
    """The RFC's deque_result, dodeque, deque and control_law; times in ns. Packets are (number, size, arrival)."""

    def __init__(self, target_ns: int, interval_ns: int) -> None:
        self.target, self.interval = target_ns, interval_ns
        self.queue: deque[tuple[int, int, int]] = deque()
        self.first_above_time = self.drop_next = self.count = self.lastcount = 0
        self.dropping = False
        self.dropped: list[int] = []

    def dodeque(self, now: int) -> tuple[tuple[int, int, int] | None, bool]:
        if not self.queue:
            self.first_above_time = 0
            return None, False
        packet = self.queue.popleft()
        sojourn_time = now - packet[2]
        if sojourn_time < self.target or sum(size for _, size, _ in self.queue) <= MAX_PACKET_BYTES:
            self.first_above_time = 0
        elif self.first_above_time == 0:
            self.first_above_time = now + self.interval
        elif now >= self.first_above_time:
            return packet, True
        return packet, False

    def control_law(self, t: int) -> int:
        return t + math.isqrt(self.interval**2 // self.count)

    def deque(self, now: int) -> tuple[int, int, int] | None:
        packet, ok_to_drop = self.dodeque(now)
        if self.dropping:
            if not ok_to_drop:
                self.dropping = False
            while self.dropping and now >= self.drop_next:
                assert packet is not None
                self.dropped.append(packet[0])
                self.count += 1
                packet, ok_to_drop = self.dodeque(now)
                if not ok_to_drop:
                    self.dropping = False
                else:
                    self.drop_next = self.control_law(self.drop_next)
        elif ok_to_drop:
            assert packet is not None
            self.dropped.append(packet[0])
            packet, ok_to_drop = self.dodeque(now)
            self.dropping = True
            delta = self.count - self.lastcount
            self.count = 1
            if delta > 1 and now - self.drop_next < 16 * self.interval:
                self.count = delta
            self.drop_next = self.control_law(now)
            self.lastcount = self.count
        return packet


def plainly(traffic: list[Step], rate_bps: int, codel: CoDel) -> tuple[list[tuple[int, int]], list[int]]:
    """(when it has left in us, packet) and the dropped ones: a wire that asks for a packet whenever it is idle."""
    plain = PlainCoDel(codel.target_us * 1000, codel.interval_us * 1000)
    coming: deque[tuple[int, int, int]] = deque()
    now_ns = 0
    for number, (size_bytes, gap_us) in enumerate(traffic, start=1):
        now_ns += gap_us * 1000
        coming.append((number, size_bytes, now_ns))
    left, idle_from_ns = [], 0
    while coming or plain.queue:
        start_ns = idle_from_ns if plain.queue else max(idle_from_ns, coming[0][2])
        while coming and (coming[0][2] < start_ns or not plain.queue):
            plain.queue.append(coming.popleft())
        packet = plain.deque(start_ns)
        if packet is not None:
            idle_from_ns = start_ns + math.ceil(packet[1] * 8 * 10**9 / rate_bps)
            left.append((math.ceil(idle_from_ns / 1000), packet[0]))
    return left, plain.dropped


def flood(packets: int, gap_us: int, size_bytes: int = 1000) -> list[Step]:
    return [(size_bytes, gap_us)] * packets


def test_a_queue_that_stays_long_is_thinned_more_and_more() -> None:
    subject = link(rate_bps=8_000_000, codel=GENTLE)
    drive(subject, flood(3000, gap_us=900), busy=True)
    late = link(rate_bps=8_000_000, codel=GENTLE)
    drive(late, flood(1500, gap_us=900), busy=True)
    assert subject.counters.dropped_by_aqm > 2 * late.counters.dropped_by_aqm > 0


def test_a_burst_that_drains_within_an_interval_is_left_alone() -> None:
    subject = link(rate_bps=8_000_000, codel=GENTLE)
    assert len(drive(subject, flood(90, gap_us=0))) == 90  # waits of up to 89 ms


def test_the_first_drop_comes_an_interval_after_waits_became_too_long() -> None:
    records: list[PacketRecord] = []
    drive(link(records=records, rate_bps=8_000_000, codel=GENTLE), flood(400, gap_us=0))
    first = next(record.number for record in records if record.fate is Fate.DROPPED)
    assert first == 1 + 5 + 100  # one packet a millisecond: the sixth waits 5 ms, and 100 ms later ...


def test_waits_end_near_the_target_where_drop_tail_fills_its_queue() -> None:
    traffic = flood(20_000, gap_us=950)
    limits: dict[str, object] = {"rate_bps": 8_000_000, "queue_bytes": 200_000}
    tail, codel = link(**limits), link(**limits, codel=GENTLE)
    last_us = sum(gap_us for _, gap_us in traffic)
    assert drive(tail, traffic, busy=True)[-1][0] - last_us == pytest.approx(200_000, abs=1000)
    assert drive(codel, traffic, busy=True)[-1][0] - last_us < 40_000


def test_a_queue_of_one_packet_is_never_dropped_however_long_it_waits() -> None:
    subject = link(rate_bps=8_000, codel=CoDel(1, 2))
    assert len(drive(subject, flood(20, gap_us=1_000_000), busy=True)) == 20
    assert subject.counters.dropped_by_aqm == 0


def test_the_fate_is_known_late_and_then_counted_right() -> None:
    records: list[PacketRecord] = []
    subject = link(records=records, rate_bps=8_000_000, queue_bytes=150_000, codel=CoDel(1_000, 10_000))
    fates = [subject.push(number, 1000, 0) for number in range(200)]
    assert fates == [Fate.QUEUED] * 150 + [Fate.OVERFLOWED] * 50
    assert [record.number for record in records] == [1], "the others wait, and those behind them wait for their turn"
    arrived = drain(subject)
    assert [record.number for record in records] == list(range(1, 201))
    counters = subject.counters
    assert (counters.packets, counters.overflowed) == (150, 50)
    assert counters.dropped_by_aqm == 150 - len(arrived) > 0


def test_a_moment_at_which_only_the_queue_moves_brings_no_packet() -> None:
    subject = link(rate_bps=8_000_000, delay_us=50_000, codel=GENTLE)
    subject.push(1, 1000, now_us=0)
    subject.push(2, 1000, now_us=0)
    assert subject.next_due_us() == 1000, "the second packet is taken"
    assert subject.pop_due(1000) == []
    assert subject.next_due_us() == 51_000


@given(
    st.one_of(
        steps(max_gap_us=2000, max_size=200),
        st.builds(flood, st.integers(100, 400), st.integers(0, 2000), st.integers(200, 1514)),
    ),
    st.integers(100_000, 20_000_000),
    st.builds(CoDel, st.integers(100, 5000), st.integers(5001, 30_000)),
    st.booleans(),
)
def test_codel_does_what_rfc_8289_writes(traffic: list[Step], rate_bps: int, codel: CoDel, busy: bool) -> None:
    records: list[PacketRecord] = []
    arrived = drive(link(records=records, rate_bps=rate_bps, codel=codel), traffic, busy=busy)
    left, dropped = plainly(traffic, rate_bps, codel)
    assert [record.number for record in records if record.fate is Fate.DROPPED] == dropped
    assert arrived == left
