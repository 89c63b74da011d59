from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from mixedsched.core.schedulers.inferred import LevelTurn, LevelTurns, safe_turn
from mixedsched.model.priority import Priority
from mixedsched.model.request import Kind, Request, chromium_priority_of
from tests.core.schedulers.wire import wire


def asked(kind: Kind, signal: Priority | None, size_bytes: int = 20_000, stream_id: int = 4) -> LevelTurn:
    sent = signal or Priority()
    return safe_turn(
        Request(stream_id, "/", kind, sent, signal is not None, chromium_priority_of(sent), body_bytes=size_bytes)
    )


def order(*turns: LevelTurn) -> list[int]:
    """Places in the order in which responses of one packet leave."""
    scheduler, left = LevelTurns(), []
    for place, turn in enumerate(turns):
        scheduler.open(4 * place, turn)
    while (stream_id := scheduler.pick()) is not None:
        left.append(stream_id // 4)
        scheduler.sent(stream_id, 1000)
        scheduler.close(stream_id)
    return left


def test_what_blocks_goes_before_images_and_those_that_are_seen_before_the_others() -> None:
    assert wire("inferred", "A2:image@Low B2:image@High C2:stylesheet D2:script") == "CCDDBBAA"


def test_small_images_go_before_large_ones_of_the_same_signal() -> None:
    large, small = (asked(Kind.IMAGE, Priority(1, True), size) for size in (200_000, 3_000))
    assert order(large, small) == [1, 0]


def test_a_client_that_signals_nothing_is_served_in_the_order_of_its_requests() -> None:
    document, image, script = (
        asked(kind, None, 10, place) for place, kind in ((0, Kind.DOCUMENT), (4, Kind.IMAGE), (8, Kind.SCRIPT))
    )
    assert order(document, image, script) == [0, 1, 2]


def test_scripts_and_images_of_firefox_are_placed_by_its_own_urgencies() -> None:
    style, image, seen, script = (
        asked(Kind.STYLESHEET, Priority(2)),
        asked(Kind.IMAGE, Priority(6, True), 90_000),
        asked(Kind.IMAGE, Priority(4, True), 90_000),
        asked(Kind.SCRIPT, Priority(2)),
    )
    assert order(style, image, seen, script) == [0, 3, 2, 1]


turns = st.builds(
    LevelTurn,
    st.integers(0, 5),
    st.booleans(),
    st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 5)), max_size=2).map(lambda parts: tuple(sorted(parts))),
    st.integers(1, 4),
)


@example(wanted=[LevelTurn(0), LevelTurn(0, shared=True, early=((1, 0), (1001, 1)))], sizes=[1001] * 8)
@given(wanted=st.lists(turns, min_size=1, max_size=8), sizes=st.lists(st.integers(1, 9000), min_size=8, max_size=8))
def test_whatever_the_turns_the_lowest_level_has_its_turn_and_all_is_sent(
    wanted: list[LevelTurn], sizes: list[int]
) -> None:
    scheduler, sent = LevelTurns(), dict.fromkeys(range(len(wanted)), 0)
    for place, turn in enumerate(wanted):
        scheduler.open(4 * place, turn)
    while sent:
        stream_id = scheduler.pick()
        assert stream_id is not None
        place = stream_id // 4
        assert wanted[place].level_at(sent[place]) == min(wanted[other].level_at(done) for other, done in sent.items())
        scheduler.sent(stream_id, 1000)
        sent[place] += 1000
        if sent[place] >= sizes[place]:
            scheduler.close(stream_id)
            del sent[place]
    assert scheduler.pick() is None


def test_a_beginning_is_over_also_where_its_levels_come_after_it() -> None:
    """A PRIORITY_UPDATE, or what was learned meanwhile, gives the beginning of a response that is half sent a level."""
    scheduler = LevelTurns()
    scheduler.open(0, LevelTurn(5))
    scheduler.sent(0, 5000)
    scheduler.open(4, LevelTurn(3))
    scheduler.reprioritize(0, LevelTurn(5, early=((9000, 0),)))
    assert scheduler.pick() == 0
    scheduler.sent(0, 5000, again_bytes=2000)
    assert scheduler.pick() == 0, "what is sent again is not more of the response"
    scheduler.sent(0, 1000)
    assert scheduler.pick() == 4
    scheduler.reprioritize(0, LevelTurn(6, early=((9000, 0),)))
    assert scheduler.pick() == 4


def test_those_that_share_take_turns_of_several_packets() -> None:
    scheduler, picked = LevelTurns(), ""
    for place in range(2):
        scheduler.open(4 * place, LevelTurn(1, shared=True, batch_packets=2))
    for _ in range(8):
        stream_id = scheduler.pick()
        assert stream_id is not None
        picked += "AB"[stream_id // 4]
        scheduler.sent(stream_id, 1000)
    assert picked == "AABBAABB"
