"""burst-rr: the batch follows the bursts of loss."""

from __future__ import annotations

import pytest

from mixedsched.core.schedulers.burst import APART_PACKETS, MOST_PACKETS, PACKET_BYTES, BurstRoundRobin


def sending(scheduler: BurstRoundRobin, packets: int, again_bytes: int = 0) -> list[int]:
    """The streams that get so many packets."""
    picked = []
    for _ in range(packets):
        stream_id = scheduler.pick()
        assert stream_id is not None
        scheduler.sent(stream_id, PACKET_BYTES, again_bytes)
        picked.append(stream_id)
    return picked


def opened(packets: int = 10) -> BurstRoundRobin:
    scheduler = BurstRoundRobin(packets)
    for stream_id in (0, 4, 8):
        scheduler.open(stream_id, 1)
    return scheduler


def longest_run(picked: list[int]) -> int:
    runs, last = [0], None
    for stream_id in picked:
        runs.append(runs[-1] + 1 if stream_id == last else 1)
        last = stream_id
    return max(runs)


def test_without_losses_it_is_batched_round_robin() -> None:
    assert sending(opened(3), 9) == [0, 0, 0, 4, 4, 4, 8, 8, 8]


@pytest.mark.parametrize("burst", [1, 3, 8])
def test_batches_become_twice_as_long_as_bursts(burst: int) -> None:
    scheduler = opened()
    for _ in range(12):
        sending(scheduler, 100)
        sending(scheduler, burst, PACKET_BYTES)
    sending(scheduler, APART_PACKETS + 1)
    assert scheduler.burst_packets == pytest.approx(burst)
    sending(scheduler, 30)
    assert longest_run(sending(scheduler, 120)) == 2 * burst


def test_repeats_that_come_soon_after_each_other_are_one_burst() -> None:
    scheduler = opened()
    for _ in range(3):
        sending(scheduler, 2, PACKET_BYTES)
        sending(scheduler, 20)
    sending(scheduler, APART_PACKETS)
    assert scheduler.burst_packets == pytest.approx(6)


def test_a_batch_has_a_bound_whatever_is_lost() -> None:
    scheduler = opened()
    sending(scheduler, 5000, PACKET_BYTES)
    sending(scheduler, 3 * MOST_PACKETS + APART_PACKETS)
    assert longest_run(sending(scheduler, 6 * MOST_PACKETS)) == MOST_PACKETS
