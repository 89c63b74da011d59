from tests.core.schedulers.wire import Wire, wire


def test_whole_responses_by_urgency_then_by_stream() -> None:
    assert wire("nip", "A2:u=3 B2:u=1 C2:u=3 D1:u=0,i") == "DBBAACC"


def test_a_response_in_progress_is_not_interrupted_by_a_more_urgent_one() -> None:
    assert Wire("nip", "A3:u=5").send(1).add("B2:u=0").send().out == "AAABB"


def test_a_response_that_cannot_send_lets_the_next_one_begin_and_goes_on_when_it_can() -> None:
    assert Wire("nip", "A3:u=1 B2:u=2 C1:u=3").send(1).pause("A").send(1).resume("A").send().out == "ABAABC"


def test_one_in_progress_that_was_blocked_stays_ahead_of_more_urgent_ones_that_have_not_begun() -> None:
    assert Wire("nip", "A3:u=5").send(1).add("B2:u=0").pause("A").resume("A").send().out == "AAABB"


def test_what_was_lost_of_an_earlier_response_does_not_wait_behind_a_later_one() -> None:
    line = Wire("nip", "A9:u=0 B9:u=1").send(3).pause("A").send(2)  # A has sent all, B is in progress
    assert line.resume("A").send(1).out == "AAABBA"
