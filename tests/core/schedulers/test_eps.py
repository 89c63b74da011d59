"""RFC 9218 section 10, the order on the wire."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.model.priority import Priority
from tests.core.schedulers.wire import Wire, create, wire


def test_lower_urgency_numbers_go_first_strictly() -> None:
    assert wire("eps", "A2:u=7 B2:u=3,i C2:u=0 D1:u=1,i") == "CCDBBAA"


def test_non_incremental_responses_of_one_urgency_go_by_stream_id() -> None:
    assert wire("eps", "A3 B2 C1") == "AAABBC"


def test_also_when_the_lower_id_gets_ready_later() -> None:
    assert Wire("eps", "A2 B3").pause("A").send(1).resume("A").send().out == "BAABB"


def test_incremental_responses_of_one_urgency_share() -> None:
    assert wire("eps", "A3:i B3:i C1:i") == "ABCABAB"


def test_a_large_block_does_not_starve_a_small_incremental_response() -> None:
    assert wire("eps", "A6 B2:i") == "ABABAAAA"


def test_endless_incremental_responses_do_not_starve_a_block() -> None:
    out = Wire("eps", "A999:i B999:i C20").send(60).out
    assert out.count("C") == 20


def test_blocks_count_as_one_member_of_the_round() -> None:
    assert Wire("eps", "A99 B99 C99:i D99:i").send(9).out == "ACDACDACD"


def test_a_late_urgent_response_overtakes_at_the_next_packet() -> None:
    assert Wire("eps", "A4:u=3 B4:u=3,i").send(3).add("C2:u=0").send(2).out[3:] == "CC"


def test_reprioritizing_moves_between_levels_and_modes() -> None:
    assert Wire("eps", "A4 B4").send(1).move("B", "u=1").send(2).move("B", "u=3, i").send(2).out == "ABBBA"


def test_background_only_goes_when_nothing_else_can() -> None:
    assert Wire("eps", "A2:u=7,i B2:u=6").send(1).pause("B").send(1).resume("B").send().out == "BABA"


@given(st.lists(st.tuples(st.integers(0, 7), st.booleans()), min_size=2, max_size=10), st.integers(1, 60))
def test_levels_are_never_inverted(wanted: list[tuple[int, bool]], packets: int) -> None:
    scheduler = create("eps")
    for index, (urgency, incremental) in enumerate(wanted):
        scheduler.open(4 * index, Priority(urgency, incremental))
    most_urgent = min(urgency for urgency, _ in wanted)
    for _ in range(packets):
        stream_id = scheduler.pick()
        assert stream_id is not None
        assert wanted[stream_id // 4][0] == most_urgent
        scheduler.sent(stream_id, 1200)


@given(st.lists(st.integers(1, 1500), min_size=2, max_size=6))
def test_members_of_a_level_share_bytes_to_within_a_packet(sizes: list[int]) -> None:
    scheduler, sent = create("eps"), Counter[int]()
    scheduler.open(0, Priority())
    for index in range(1, len(sizes)):
        scheduler.open(4 * index, Priority(incremental=True))
    for _ in range(400):
        stream_id = scheduler.pick()
        assert stream_id is not None
        scheduler.sent(stream_id, sizes[stream_id // 4])
        sent[stream_id] += sizes[stream_id // 4]
        assert max(sent.values()) - min(sent[4 * index] for index in range(len(sizes))) <= 2 * max(sizes)
