from tests.core.schedulers.wire import Wire, wire


def test_all_responses_take_turns_whatever_was_signalled() -> None:
    assert wire("stock", "A3:u=7 B2:u=0,i C1:u=0") == "ABCABA"


def test_a_paused_stream_keeps_its_place() -> None:
    assert Wire("stock", "A2 B2 C2").pause("A").send(1).resume("A").send(1).out == "BA"


def test_a_newcomer_goes_to_the_end() -> None:
    assert Wire("stock", "A3 B3").send(1).add("C1").send(3).out == "ABAC"


def test_a_stream_that_only_repeats_lost_data_keeps_its_turn() -> None:
    line = Wire("stock", "A9 B9")
    for again_bytes in (1200, 1200, 0):
        assert line.scheduler.pick() == 0
        line.scheduler.sent(0, 1200, again_bytes)
    assert line.scheduler.pick() == 4
