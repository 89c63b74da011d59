from tests.core.schedulers.wire import Wire, wire


def test_one_response_after_another_in_order_of_request() -> None:
    assert wire("sequential", "A3:u=7 B2:u=0,i C1") == "AAABBC"


def test_an_earlier_response_that_has_data_again_goes_first() -> None:
    assert Wire("sequential", "A2 B3").pause("A").send(1).resume("A").send().out == "BAABB"
