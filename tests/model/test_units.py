"""Rates, sizes and times as people write and read them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mixedsched.errors import UsageError
from mixedsched.units import (
    counted,
    few,
    format_bytes,
    format_duration,
    format_ms,
    format_rate,
    format_spent,
    listed,
    parse_duration_s,
)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("250 ms", 0.25), ("1.5h", 5400), ("2 min", 120)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "fast", "4", "-4 s", "4 parsec", "4 Mbit/s"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not understood"):
        parse_duration_s(text)


@pytest.mark.parametrize(
    ("format_it", "value", "text"),
    [
        (format_bytes, 999.4, "999 B"),
        (format_bytes, 999.6, "1 kB"),
        (format_bytes, 999_499, "999 kB"),
        (format_bytes, 999_500, "1 MB"),
        (format_bytes, 999_999_999, "1 GB"),
        (format_bytes, 1.2e12, "1.2 TB"),
        (format_bytes, 1.2e15, "1200 TB"),
        (format_bytes, -999_999, "-1 MB"),
        (format_rate, 999_999, "1 Mbit/s"),
        (format_rate, 1e12, "1000 Gbit/s"),
    ],
)
def test_no_quantity_is_written_with_an_exponent(format_it: Callable[[float], str], value: float, text: str) -> None:
    assert format_it(value) == text


def test_quantities_are_printed_for_people() -> None:
    assert [format_bytes(size) for size in (0, 999, 1234, 1_234_567)] == ["0 B", "999 B", "1.23 kB", "1.23 MB"]
    assert [format_rate(rate) for rate in (None, 500, 750_000, 9_000_000)] == [
        "unlimited",
        "500 bit/s",
        "750 kbit/s",
        "9 Mbit/s",
    ]
    assert [format_ms(time) for time in (0, 87.4, 1234.5)] == ["0 ms", "87 ms", "1.23 s"]
    assert [format_duration(time) for time in (42, 125, 3725)] == ["42 s", "2 min 5 s", "1 h 2 min"]
    assert [format_duration(time) for time in (0, 60, 600, 7200)] == ["0 s", "1 min", "10 min", "2 h"]


def test_counts_and_lists_read_as_sentences_do() -> None:
    assert [counted(count, "block") for count in (0, 1, 2)] == ["0 blocks", "1 block", "2 blocks"]
    names = ["a", "b", "c"]
    assert [listed(names[:count]) for count in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert [few(names, most) for most in (1, 2, 3)] == ["a and 2 more", "a, b and 1 more", "a, b, c"]


def test_what_was_spent_is_told_beside_the_budget_or_beyond_it() -> None:
    assert format_spent(588, 600) == "9 min 48 s of 10 min"
    assert format_spent(600.3, 600) == "10 min of 10 min"
    assert format_spent(620, 600) == "10 min 20 s, 20 s more than the budget"
