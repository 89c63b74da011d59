"""What a link tells of each packet: one end each, in order of number, the same whoever looks when."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.link import Fate, Link, PacketRecord, direction_rng
from mixedsched.model.profile import Direction, RandomLoss
from tests.core.link.links import Step, directions, drive, link, steps


def test_a_record_says_when_a_packet_came_when_it_is_due_and_what_became_of_it() -> None:
    records: list[PacketRecord] = []
    subject = link(records=records, rate_bps=8_000_000, delay_us=5000, queue_bytes=2000)
    for number in range(3):
        subject.push(number, 1000, now_us=10)
    assert records == [
        PacketRecord(1, 1000, 10, 6010, Fate.DELIVERED),
        PacketRecord(2, 1000, 10, 7010, Fate.DELIVERED),
        PacketRecord(3, 1000, 10, None, Fate.OVERFLOWED),
    ]


def test_lost_and_duplicated_packets_are_told_as_such() -> None:
    records: list[PacketRecord] = []
    link(records=records, loss=RandomLoss(1.0)).push(1, 100, 3)
    link(records=records, duplicate_ratio=1.0).push(1, 100, 3)
    assert records == [PacketRecord(1, 100, 3, None, Fate.LOST), PacketRecord(1, 100, 3, 3, Fate.DUPLICATED)]


@given(directions(), steps(max_gap_us=3000), st.integers(0, 99))
def test_every_packet_has_exactly_one_end_and_counters_arrivals_and_records_agree(
    direction: Direction, traffic: list[Step], seed: int
) -> None:
    records: list[PacketRecord] = []
    subject: Link[int] = Link(direction, direction_rng(seed, "down"), records.append)
    arrived = drive(subject, traffic)
    assert [record.number for record in records] == list(range(1, len(traffic) + 1))
    ends = Counter(record.fate for record in records)
    counters = subject.counters
    assert counters.packets == len(traffic) - counters.overflowed
    assert ends[Fate.OVERFLOWED] == counters.overflowed
    assert ends[Fate.LOST] == counters.lost
    assert ends[Fate.DROPPED] == counters.dropped_by_aqm
    assert ends[Fate.DUPLICATED] == counters.duplicated
    assert ends[Fate.QUEUED] == 0
    due = [(record.out_us, record.number) for record in records if record.out_us is not None]
    twice = [(record.out_us, record.number) for record in records if record.fate is Fate.DUPLICATED]
    assert sorted(arrived) == sorted(due + twice)
    assert direction.queue_bytes is None or counters.highest_queue_bytes <= direction.queue_bytes


@given(directions(), steps(max_gap_us=3000), st.integers(0, 99))
def test_it_does_not_matter_who_looks_when(direction: Direction, traffic: list[Step], seed: int) -> None:
    """A relay that asks at each moment, and one that asks only in the end, meet the same link."""
    told: list[list[PacketRecord]] = [[], []]
    arrived = [
        drive(Link(direction, direction_rng(seed, "down"), told[busy].append), traffic, busy=bool(busy))
        for busy in (0, 1)
    ]
    assert arrived[0] == arrived[1]
    assert told[0] == told[1]
    assert repr(told[0]) == repr(told[1])


@given(directions(), steps(max_gap_us=3000), steps(max_gap_us=3000), st.integers(0, 99))
def test_decisions_belong_to_numbers_whatever_the_timing(
    direction: Direction, first: list[Step], second: list[Step], seed: int
) -> None:
    """Two packets of the same number that both passed the queue came to the same end, whatever their sizes and times."""
    ends = []
    for traffic in (first, second):
        records: list[PacketRecord] = []
        drive(Link(direction, direction_rng(seed, "up"), records.append), traffic)
        passed = (Fate.LOST, Fate.DELIVERED, Fate.DUPLICATED)
        ends.append({record.number: record.fate for record in records if record.fate in passed})
    for number in ends[0].keys() & ends[1].keys():
        assert ends[0][number] is ends[1][number]
