"""`batched-rr`: turns of n packets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.core.schedulers.wire import Wire, wire


def test_turns_have_so_many_packets() -> None:
    assert wire("batched-rr:packets=3", "A5:image B4:document C2") == "AAABBBCCAAB"


def test_one_packet_a_turn_is_round_robin() -> None:
    assert wire("batched-rr:packets=1", "A3 B2 C1") == "ABCABA"


def test_turns_have_ten_packets_unless_told() -> None:
    assert Wire("batched-rr", "A99 B99").send(30).out == "A" * 10 + "B" * 10 + "A" * 10


def test_turns_longer_than_bodies_are_sequential() -> None:
    assert wire("batched-rr:packets=100", "A5 B4 C2") == wire("sequential", "A5 B4 C2")


def test_a_newcomer_does_not_cut_a_turn_short() -> None:
    assert Wire("batched-rr:packets=3", "A9 B9").send(1).add("C9").next(9) == "AABBBCCCA"


def test_the_turn_passes_on_when_a_response_ends_or_blocks_in_it() -> None:
    assert wire("batched-rr:packets=3", "A1 B4 C4") == "ABBBCCCBC"
    line = Wire("batched-rr:packets=3", "A9 B9").send(1).pause("A").send(1).resume("A")
    assert line.next(5) == "BBAAA"


def test_a_block_that_nobody_used_does_not_end_the_turn() -> None:
    assert Wire("batched-rr:packets=3", "A9 B9").send(1).pause("A").resume("A").next(5) == "AABBB"


def test_turns_are_packets_whatever_their_size() -> None:
    assert Wire("batched-rr:packets=2", "A9 B9").send(3, size_bytes=10).send(3).out == "AABBAA"


@given(packets=st.integers(1, 20), bodies=st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_all_that_is_left_shares_equally_to_within_a_turn(packets: int, bodies: list[int]) -> None:
    line = Wire(f"batched-rr:packets={packets}", " ".join(f"{chr(65 + index)}{n}" for index, n in enumerate(bodies)))
    for _ in range(sum(bodies)):
        sent = {line.names[stream_id]: line.out.count(line.names[stream_id]) for stream_id, n in line.left.items() if n}
        assert max(sent.values()) - min(sent.values()) <= packets
        line.send(1)
    assert all(line.out.count(chr(65 + index)) == n for index, n in enumerate(bodies))
