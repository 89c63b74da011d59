"""Shares of incremental responses: the worked table of the formula, within a packet or so of a long run."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.schedulers.wire import Wire, create, wire

PACKETS = 6000


@pytest.mark.parametrize(
    ("urgencies", "alpha", "shares"),
    [
        ((3, 5), 0.0, (0.500, 0.500)),
        ((3, 5), 0.5, (0.535, 0.465)),
        ((3, 5), 1.0, (0.611, 0.389)),
        ((3, 4, 4), 0.0, (0.333, 0.333, 0.333)),
        ((3, 4, 4), 0.5, (0.366, 0.317, 0.317)),
        ((3, 4, 4), 1.0, (0.412, 0.294, 0.294)),
        ((3, 4, 5, 6), 0.5, (0.295, 0.256, 0.233, 0.217)),
        ((3, 4, 5, 6), 1.0, (0.344, 0.263, 0.213, 0.179)),
        ((5, 5, 5, 3), 0.5, (0.232, 0.232, 0.232, 0.305)),
        ((5, 5, 5, 3), 1.0, (0.210, 0.210, 0.210, 0.371)),
        ((0, 6), 0.5, (0.793, 0.207)),
        ((0, 6), 1.0, (0.929, 0.071)),
    ],
)
def test_long_run_shares_are_those_of_the_formula(
    urgencies: tuple[int, ...], alpha: float, shares: tuple[float, ...]
) -> None:
    script = " ".join(f"{chr(65 + index)}{PACKETS}:u={urgency}" for index, urgency in enumerate(urgencies))
    counts = Counter(Wire(f"ip:alpha={alpha}", script).send(PACKETS).out)
    for index, share in enumerate(shares):
        assert counts[chr(65 + index)] / PACKETS == pytest.approx(share, abs=0.001)


def test_alpha_zero_is_plain_turns() -> None:
    assert wire("ip:alpha=0", "A2:u=0 B2:u=0 C2:u=0") == "ABCABC"


def test_higher_urgency_goes_first_and_more_often() -> None:
    assert Wire("ip", "A9:u=6 B9:u=3").send(3).out == "BAB"


def test_shares_are_recomputed_when_a_response_joins() -> None:
    line = Wire("ip:alpha=0", "A99:u=3").send(10).add("B99:u=3")
    assert line.send(10).out[10:] in {"AB" * 5, "BA" * 5}


def test_waiting_earns_no_credit() -> None:
    line = Wire("ip", "A999:u=3 B999:u=3").pause("B").send(100).resume("B").send(20)
    assert 9 <= line.out[100:].count("B") <= 11


def test_pausing_cancels_no_debt() -> None:
    """B pauses whenever it has sent: its share stays 0.389 of the capacity, as without pauses, and does not become a half."""
    line = Wire("ip", "A999:u=3 B999:u=5")
    for _ in range(400):
        line.send(1)
        if line.out[-1] == "B":
            line.pause("B").resume("B")
    assert line.out.count("B") / 400 == pytest.approx(0.389, abs=0.01)


@given(st.integers(0, 7), st.integers(1, 1500), st.integers(1, 1500))
def test_equal_urgency_means_equal_bytes_not_equal_turns(urgency: int, first_bytes: int, second_bytes: int) -> None:
    from mixedsched.model.priority import Priority

    scheduler, sizes, sent = create("ip"), {0: first_bytes, 4: second_bytes}, Counter[int]()
    for stream_id in sizes:
        scheduler.open(stream_id, Priority(urgency))
    for _ in range(300):
        stream_id = scheduler.pick()
        assert stream_id is not None
        scheduler.sent(stream_id, sizes[stream_id])
        sent[stream_id] += sizes[stream_id]
        assert abs(sent[0] - sent[4]) <= max(sizes.values())
