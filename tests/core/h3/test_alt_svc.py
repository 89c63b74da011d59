"""Rules of the field by which a server on TCP announces HTTP/3 (RFC 7838 section 3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.alt_svc import AlternativeService, alternatives

DAY_S = 86400


@pytest.mark.parametrize(
    ("field", "announced"),
    [
        ('h3=":443"', [AlternativeService("h3", "", 443, DAY_S)]),
        ('h3=":443"; ma=60', [AlternativeService("h3", "", 443, 60)]),
        ('h3=":8443" ;ma="60" ; persist=1', [AlternativeService("h3", "", 8443, 60)]),
        (
            'h3="other.example:443",h2=":443"',
            [AlternativeService("h3", "other.example", 443, DAY_S), AlternativeService("h2", "", 443, DAY_S)],
        ),
        ('h3="[2001:db8::1]:443"', [AlternativeService("h3", "[2001:db8::1]", 443, DAY_S)]),
        ('w%3Dx=":1"', [AlternativeService("w=x", "", 1, DAY_S)]),
        (
            ',h3=":443" , ,,h2=":444",',
            [AlternativeService("h3", "", 443, DAY_S), AlternativeService("h2", "", 444, DAY_S)],
        ),
        ("clear", []),
        ("", []),
        ("h3=:443", []),
        ('h3=":0"', []),
        ('h3=":70000"', []),
        ('h3="a\0b:443"', []),
        ('h3="[\0]:443"', []),
        ('h3=":443"; ma=soon', [AlternativeService("h3", "", 443, DAY_S)]),
    ],
)
def test_what_a_field_announces(field: str, announced: list[AlternativeService]) -> None:
    assert list(alternatives(field)) == announced


def test_what_stands_before_something_malformed_still_counts() -> None:
    assert [item.port for item in alternatives('h3=":443", ;;; h3=":444"')] == [443]


@given(st.text(alphabet='h3=":4; ma,\\"%x', max_size=60))
def test_whatever_a_server_says_is_read(field: str) -> None:
    for item in alternatives(field):
        assert item.protocol
        assert 0 < item.port < 1 << 16


@given(
    st.lists(
        st.tuples(st.sampled_from(["h3", "h2", "h3-29"]), st.integers(1, 65535), st.integers(0, 10**9)), max_size=5
    )
)
def test_a_well_formed_field_is_read_whole(told: list[tuple[str, int, int]]) -> None:
    field = ", ".join(f'{protocol}=":{port}"; ma={age}' for protocol, port, age in told)
    assert list(alternatives(field)) == [AlternativeService(protocol, "", port, age) for protocol, port, age in told]
