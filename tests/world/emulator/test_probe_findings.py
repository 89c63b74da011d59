"""Probes played over the link model in virtual time: what it does is found to be right, what it does not is found out."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.model.profile import CoDel, Direction, GilbertElliott, Profile, RandomLoss, Trace
from mixedsched.world import catalog
from mixedsched.world.emulator.kernel.shaping import shape
from mixedsched.world.emulator.probe import _losses as probe_losses
from mixedsched.world.emulator.probe import _plan as probe_plan
from mixedsched.world.emulator.probe import _timing as probe_timing
from mixedsched.world.emulator.probe._session import ProbedNetwork, ProbeExchange
from mixedsched.world.emulator.probe.checking import _Check, _lacking
from mixedsched.world.emulator.probe.end import Sending
from mixedsched.world.emulator.probe.findings import LinkVerdict, ProbeArrivals
from tests.world.emulator.probing import MBIT, STUDY, played

PLAIN = Direction(rate_bps=9 * MBIT, delay_us=85_000, queue_bytes=191_250)


@pytest.mark.parametrize("direction", [STUDY, PLAIN, replace(PLAIN, rate_bps=None, queue_bytes=None)])
def test_the_delay_of_the_model_is_its_nominal_one(direction: Direction) -> None:
    found = probe_timing.delay_finding(played(direction, probe_plan.sparse(direction)), direction, "down")
    assert found.verdict is LinkVerdict.OK
    assert found.measured == pytest.approx(found.nominal, abs=0.002)


def test_a_wire_takes_time_to_send_a_packet_and_a_bucket_lets_it_pass_at_once() -> None:
    wire, bucket = replace(STUDY, burst_bytes=0), STUDY
    assert probe_plan.nominal_delay_us(bucket, 1242) == 50_000
    assert probe_plan.nominal_delay_us(wire, 1242) == 50_000 + 1242 * 8 / 2


@pytest.mark.parametrize("extra_us", [-600, 600])
def test_a_delay_that_is_more_than_half_a_millisecond_off_is_found_out(extra_us: int) -> None:
    other = replace(STUDY, delay_us=STUDY.delay_us + extra_us)
    assert probe_timing.delay_finding(played(other, probe_plan.sparse(STUDY)), STUDY, "down").verdict is LinkVerdict.OFF


def test_a_saturated_link_shows_its_rate_and_its_queue() -> None:
    arrivals = played(PLAIN, probe_plan.saturated(PLAIN))
    rate = probe_timing.saturated_rate_finding(arrivals, PLAIN, "down")
    assert (rate.verdict, rate.measured) == (LinkVerdict.OK, pytest.approx(9 * MBIT, rel=1e-4))
    queue = probe_timing.queue_finding(arrivals, PLAIN, "down")
    assert (queue.verdict, queue.nominal) == (LinkVerdict.OK, 191_250 // 1228)
    assert queue.measured == pytest.approx(queue.nominal, abs=1)


def test_a_machine_too_busy_to_keep_the_queue_full_is_told() -> None:
    arrivals = played(PLAIN, probe_plan.saturated(PLAIN))
    assert "late" not in probe_timing.saturated_rate_finding(arrivals, PLAIN, "down").note
    stalled = replace(arrivals, sent_ns=arrivals.sent_ns + np.where(arrivals.numbers > 3000, 90_000_000, 0))
    assert "sent up to 90 ms late" in probe_timing.saturated_rate_finding(stalled, PLAIN, "down").note


def test_where_packets_are_lost_trains_show_the_rate() -> None:
    rate = probe_timing.trains_rate_finding(played(STUDY, probe_plan.trains(STUDY)), STUDY, "down")
    assert (rate.verdict, rate.measured) == (LinkVerdict.OK, pytest.approx(2 * MBIT, rel=1e-3))


def test_trains_are_gone_before_codel_drops_any() -> None:
    slow = Direction(rate_bps=MBIT, delay_us=14_000, queue_bytes=60_000, codel=CoDel())
    arrivals = played(slow, probe_plan.trains(slow))
    assert not len(arrivals.missing)
    rate = probe_timing.trains_rate_finding(arrivals, slow, "down")
    assert (rate.verdict, rate.measured) == (LinkVerdict.OK, pytest.approx(MBIT, rel=1e-3))


@pytest.mark.parametrize("share", [0.98, 1.02])
def test_a_rate_that_is_two_in_a_hundred_off_is_found_out(share: float) -> None:
    for honest in (PLAIN, STUDY):
        assert honest.rate_bps is not None
        other = replace(honest, rate_bps=int(honest.rate_bps * share))
        trains = played(other, probe_plan.trains(honest))
        assert probe_timing.trains_rate_finding(trains, honest, "down").verdict is LinkVerdict.OFF
    full = played(replace(PLAIN, rate_bps=int(9 * MBIT * share)), probe_plan.saturated(PLAIN))
    assert probe_timing.saturated_rate_finding(full, PLAIN, "down").verdict is LinkVerdict.OFF


def test_a_queue_of_another_length_is_found_out() -> None:
    other = replace(STUDY, queue_bytes=20_000)
    arrivals = played(other, probe_plan.saturated(STUDY))
    assert probe_timing.queue_finding(arrivals, STUDY, "down").verdict is LinkVerdict.OFF


def test_jitter_is_told_from_the_spread_of_delays() -> None:
    shaken = replace(PLAIN, jitter_us=8_000)
    found = probe_timing.jitter_finding(played(shaken, probe_plan.sparse(shaken)), shaken, "down")
    assert (found.verdict, found.measured) == (LinkVerdict.OK, pytest.approx(8, abs=0.6))
    still = played(replace(PLAIN, jitter_us=2_000), probe_plan.sparse(shaken))
    assert probe_timing.jitter_finding(still, shaken, "down").verdict is LinkVerdict.OFF
    assert probe_timing.jitter_finding(still, PLAIN, "down").verdict is LinkVerdict.NOT_APPLICABLE


@pytest.mark.parametrize("reorder_ratio", [0.1, 0.6])
def test_packets_that_overtake_say_nothing_of_delay_and_jitter(reorder_ratio: float) -> None:
    odd = replace(PLAIN, jitter_us=8_000, reorder_ratio=reorder_ratio)
    arrivals = played(odd, probe_plan.sparse(odd))
    for judge in (probe_timing.delay_finding, probe_timing.jitter_finding):
        assert judge(arrivals, odd, "down").verdict is LinkVerdict.OK


def test_a_trace_without_a_limited_queue_cannot_be_saturated_and_has_no_rate_to_tell() -> None:
    traced = Direction(trace=Trace("t", (1, 2, 10)))
    assert probe_plan.saturated(traced) is probe_plan.trains(traced) is None
    nothing = ProbeExchange({}, {})
    check = _Check(cast(ProbedNetwork, None), {"down": traced}, 0.0, 1, lambda *_: None, {})
    for finding in (check._rate("down", traced, nothing, nothing), check._queue("down", traced, nothing)):
        assert finding.verdict is LinkVerdict.NOT_APPLICABLE


def test_a_whole_period_of_a_trace_carries_its_mean_rate_whenever_it_begins() -> None:
    for direction in (catalog.load_profile("commuter-4g").down, catalog.load_profile("commuter-4g").up):
        arrivals = played(direction, probe_plan.saturated(direction))
        found = probe_timing.saturated_rate_finding(arrivals, direction, "down")
        assert found.nominal == direction.mean_rate_bps
        assert (found.verdict, found.measured) == (LinkVerdict.OK, pytest.approx(found.nominal, rel=0.003))


@pytest.mark.parametrize("burst", [5, 10, 15])
def test_losses_in_bursts_have_their_share_and_their_lengths(burst: int) -> None:
    r = 1 / burst
    direction = replace(STUDY, loss=GilbertElliott(r * 0.02 / 0.98, r))
    arrivals = played(direction, probe_plan.numbers(direction, 60.0), seed=7)
    share = probe_losses.loss_finding(arrivals, direction, "down", overflowed=0)
    lengths = probe_losses.burst_finding(arrivals, direction, "down", overflowed=0)
    assert (share.verdict, share.nominal) == (LinkVerdict.OK, pytest.approx(0.02))
    assert (lengths.verdict, lengths.nominal) == (LinkVerdict.OK, burst)
    assert lengths.measured == pytest.approx(burst, rel=0.25)


def test_single_losses_of_the_same_share_are_no_bursts() -> None:
    arrivals = played(replace(STUDY, loss=RandomLoss(0.02)), probe_plan.numbers(STUDY))
    assert probe_losses.burst_finding(arrivals, STUDY, "down", overflowed=0).verdict is LinkVerdict.OFF


def test_lengths_that_are_not_geometric_are_found_out_though_their_mean_is_right() -> None:
    missing = [number for start in range(0, 100_000, 500) for number in range(start, start + 5)]
    sending = Sending(probe_plan.NUMBERS, 20, 100_000, 1)
    came = np.setdiff1d(np.arange(100_000), missing)
    found = probe_losses.burst_finding(ProbeArrivals(sending, came, came, came), STUDY, "down", overflowed=0)
    assert (found.measured, found.verdict) == (5.0, LinkVerdict.OFF)


def test_a_loss_of_three_in_a_hundred_is_no_loss_of_two() -> None:
    two, three = replace(PLAIN, loss=RandomLoss(0.02)), replace(PLAIN, loss=RandomLoss(0.03))
    arrivals = played(three, probe_plan.numbers(two))
    assert probe_losses.loss_finding(arrivals, two, "down", overflowed=0).verdict is LinkVerdict.OFF
    assert probe_losses.loss_finding(arrivals, three, "down", overflowed=0).verdict is LinkVerdict.OK


def test_a_single_packet_must_not_be_lost_where_none_is() -> None:
    sending = probe_plan.numbers(PLAIN)
    came = np.delete(np.arange(sending.total_packets), 7)
    found = probe_losses.loss_finding(ProbeArrivals(sending, came, came, came), PLAIN, "down", overflowed=0)
    assert found.verdict is LinkVerdict.OFF


def test_what_met_a_full_queue_is_not_called_lost() -> None:
    arrivals = played(PLAIN, probe_plan.numbers(PLAIN, 1.0))
    for judge in (probe_losses.loss_finding, probe_losses.burst_finding):
        assert judge(arrivals, STUDY, "down", 3).verdict is LinkVerdict.NOT_APPLICABLE


def test_overtaking_and_doubled_packets_are_counted() -> None:
    odd = replace(PLAIN, reorder_ratio=0.05, duplicate_ratio=0.03)
    arrivals = played(odd, probe_plan.numbers(odd))
    for judge in (probe_losses.overtaking_finding, probe_losses.duplicates_finding):
        assert judge(arrivals, odd, "down").verdict is LinkVerdict.OK
        assert judge(arrivals, PLAIN, "down").verdict is LinkVerdict.OFF


def test_another_seed_is_told_from_the_same_one() -> None:
    first = played(STUDY, probe_plan.numbers(STUDY), seed=1)
    same, other = (played(STUDY, probe_plan.first_numbers(STUDY), seed=seed) for seed in (1, 2))
    assert probe_losses.repeat_finding(first, same, "down", 0).verdict is LinkVerdict.OK
    assert probe_losses.repeat_finding(first, other, "down", 0).verdict is LinkVerdict.OFF
    assert probe_losses.repeat_finding(first, other, "down", 1).verdict is LinkVerdict.NOT_APPLICABLE


def test_a_link_that_lets_nothing_pass_is_off_and_no_error() -> None:
    nothing = np.array([], dtype=np.int64)
    sending = probe_plan.sparse(STUDY)
    silent = ProbeArrivals(sending, nothing, nothing, nothing)
    for judge in (probe_timing.delay_finding, probe_timing.queue_finding, probe_timing.trains_rate_finding):
        assert judge(silent, STUDY, "down").verdict is LinkVerdict.OFF
    for direction in (PLAIN, Direction(trace=Trace("t", (1, 2, 10)), queue_bytes=30_000)):
        assert probe_timing.saturated_rate_finding(silent, direction, "down").verdict is LinkVerdict.OFF
    assert probe_losses.loss_finding(silent, STUDY, "down", overflowed=0).measured == 1.0


def test_however_slow_a_link_is_something_is_sent_over_it() -> None:
    crawling = Direction(rate_bps=10)
    for sending in (probe_plan.numbers(crawling, 1.0), probe_plan.first_numbers(crawling)):
        assert list(sending.offsets_ns()) == [0]


@given(fates=st.lists(st.booleans(), max_size=60))
def test_bursts_are_the_runs_of_what_is_missing(fates: list[bool]) -> None:
    missing = np.flatnonzero(np.array(fates, dtype=bool))
    text = "".join("x" if lost else " " for lost in fates)
    assert probe_losses.burst_lengths(missing) == [len(run) for run in text.split()]


@given(
    rate_bps=st.integers(10_000, 200 * MBIT),
    queue_bytes=st.integers(1514, 1_000_000),
    overhead_bytes=st.integers(0, 60),
    delay_us=st.integers(0, 300_000),
    burst_bytes=st.sampled_from([0, 1514, 20_000]),
)
def test_what_is_sent_suits_the_link(
    rate_bps: int, queue_bytes: int, overhead_bytes: int, delay_us: int, burst_bytes: int
) -> None:
    direction = Direction(rate_bps, delay_us, queue_bytes, burst_bytes=burst_bytes, overhead_bytes=overhead_bytes)
    numbers = probe_plan.numbers(direction)
    on_link = probe_plan.size_on_link(direction, numbers)
    assert on_link * 8e9 / numbers.gap_ns < rate_bps  # nothing queues
    sparse = probe_plan.sparse(direction)
    assert sparse.gap_ns >= 2 * probe_plan.transmit_us(direction, probe_plan.size_on_link(direction, sparse)) * 1000
    full = probe_plan.saturated(direction)
    assert full is not None
    assert probe_plan.size_on_link(direction, full) * 8e9 / full.gap_ns > 1.4 * rate_bps
    assert probe_plan.packets_in_queue(direction, probe_plan.size_on_link(direction, full)) >= 8  # type: ignore[operator]


@pytest.mark.parametrize("unloaded", [(), ("netem",)])
def test_what_a_kernel_lacks_or_has_not_loaded_is_read_from_the_notes(unloaded: tuple[str, ...]) -> None:
    notes = shape(Profile("x", "", "", STUDY, replace(STUDY, codel=CoDel())), kinds=("tbf",), unloaded=unloaded).notes
    lacking = _lacking(notes)
    assert lacking.keys() == {"netem", "codel"}
    assert lacking["netem"] == ("sch_netem is not loaded" if unloaded else "this kernel has no sch_netem")
    assert lacking["codel"] == "this kernel has no sch_codel"


def test_what_never_met_the_link_is_not_called_lost_whoever_emulates_it() -> None:
    relay = {"up": {"overflowed": 1, "missed": 2, "lost": 40}, "down": {"overflowed": 3}}
    router = {"up": {"overflowed": 1, "dropped_at_port": 4, "lost": 40}}
    assert ProbeExchange({}, relay).overflowed("up") == 3
    assert ProbeExchange({}, relay).overflowed("down") == 3
    assert ProbeExchange({}, router).overflowed("up") == 5


def test_a_kernel_needs_a_bucket_and_does_without_what_it_lacks() -> None:
    assert probe_plan.as_emulated(PLAIN, "vm").burst_bytes == 1514
    assert probe_plan.as_emulated(PLAIN, "relay").burst_bytes == 0
    bare = probe_plan.as_emulated(replace(STUDY, codel=CoDel()), "netns", ("netem", "codel"))
    assert (bare.delay_us, bare.loss.mean_ratio, bare.codel, bare.rate_bps) == (0, 0.0, None, 2 * MBIT)
    assert probe_plan.as_emulated(STUDY, "netns", ("tbf",)).rate_bps is None
