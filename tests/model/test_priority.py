"""RFC 9218: what a priority field value means, however it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.model.priority import Priority, PriorityParameters, parse_field, parse_parameters

DEFAULT = Priority(3, False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", DEFAULT),
        ("u=0", Priority(0)),
        ("u=7, i", Priority(7, True)),
        ("i", Priority(3, True)),
        ("i=?0", DEFAULT),
        ("u=1 ,\ti", Priority(1, True)),
        ("u=003", DEFAULT),
        ("u=-0", Priority(0)),
        ("u=2;x=1, i;y", Priority(2, True)),
    ],
)
def test_a_well_formed_value_is_taken(value: str, expected: Priority) -> None:
    assert parse_field([value.encode()]) == expected


@pytest.mark.parametrize("bad", ["u=8", "u=-1", "u=100", "u", "u=?1", "u=5.0", 'u="5"', "u=(5)", "u=:aGk=:", "u=a"])
def test_an_unusable_urgency_is_ignored_and_the_rest_stays(bad: str) -> None:
    assert parse_field([f"{bad}, i".encode()]) == Priority(3, True)


@pytest.mark.parametrize("bad", ["i=1", "i=true", 'i="?1"', "i=(?1)"])
def test_an_unusable_incremental_flag_is_ignored_and_the_rest_stays(bad: str) -> None:
    assert parse_field([f"u=1, {bad}".encode()]) == Priority(1, False)


@pytest.mark.parametrize("extra", ["x=1", 'x="u=7"', "x=(1 2);a", "x=@1700000000", 'x=%"f%c3%bc"'])
def test_unknown_members_of_any_type_are_ignored(extra: str) -> None:
    assert parse_field([f"u=1, {extra}, i".encode()]) == Priority(1, True)


def test_the_last_of_doubled_members_wins_before_its_range_is_checked() -> None:
    assert parse_field([b"u=1, u=9"]) == DEFAULT
    assert parse_field([b"u=9, u=1"]) == Priority(1)


@pytest.mark.parametrize("value", [b"u=1,", b"u=", b"U=1", b"u=1 i", b"u=1, @@", b"\xff", b"=", b",", b"u=1, \xc3\xa9"])
def test_what_is_no_dictionary_is_ignored_whole(value: bytes) -> None:
    assert parse_parameters(value) is None
    assert parse_field([value]) == DEFAULT


def test_several_field_lines_are_one_dictionary() -> None:
    assert parse_field([b"u=1", b"i"]) == Priority(1, True)
    assert parse_field([b"u=1", b"u=5"]) == Priority(5)


def test_merging_replaces_only_what_is_present() -> None:
    assert PriorityParameters(urgency=2).over(Priority(5, True)) == Priority(2, True)
    assert PriorityParameters(incremental=False).over(Priority(5, True)) == Priority(5, False)
    assert PriorityParameters().over(Priority(5, True)) == Priority(5, True)


@given(st.integers(0, 7), st.booleans())
def test_what_is_written_is_read_back(urgency: int, incremental: bool) -> None:
    priority = Priority(urgency, incremental)
    assert parse_field([priority.field_value().encode()]) == priority
    assert parse_field([str(priority).encode()]) == priority


@given(st.binary(max_size=40))
def test_no_bytes_from_the_network_raise(value: bytes) -> None:
    priority = parse_field([value])
    assert 0 <= priority.urgency <= 7


@given(st.integers().filter(lambda number: not 0 <= number <= 7))
def test_no_priority_is_out_of_range(urgency: int) -> None:
    with pytest.raises(ValueError, match="urgency must be"):
        Priority(urgency)
