"""What a direction will do, without a packet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.link import rate_over_time
from mixedsched.core.link._pace import opportunities_before
from mixedsched.model.profile import Direction, Trace
from tests.core.link.links import drive, link, traces


def test_a_constant_rate_is_the_same_in_each_step() -> None:
    assert rate_over_time(Direction(rate_bps=5_000_000), 1000, 250) == [5_000_000] * 4


def test_a_link_without_limit_has_no_rate_to_show() -> None:
    assert rate_over_time(Direction(), 1000, 100) == []


def test_a_trace_shows_its_opportunities_as_a_rate_and_begins_again() -> None:
    direction = Direction(trace=Trace("t", (10, 20, 20, 110, 200)))
    assert rate_over_time(direction, 500, 100) == [3 * 120_000, 120_000, 4 * 120_000, 120_000, 4 * 120_000]


def test_only_full_steps_are_shown() -> None:
    assert len(rate_over_time(Direction(rate_bps=1), 1099, 100)) == 10
    with pytest.raises(ValueError, match="step_ms must be positive"):
        rate_over_time(Direction(rate_bps=1), 1000, 0)


@given(traces(), st.integers(0, 300))
def test_as_many_full_packets_pass_before_a_time_as_there_are_opportunities(trace: Trace, time_ms: int) -> None:
    expected = opportunities_before(trace, time_ms)
    arrived = drive(link(trace=trace), [(1500, 0)] * (expected + 1))
    assert sum(at_us < time_ms * 1000 for at_us, _ in arrived) == expected
