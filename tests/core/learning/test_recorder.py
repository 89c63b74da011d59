import itertools
from dataclasses import replace

from mixedsched.core.learning.networks import MAX_CLASSES, NetworkClass, note, usual
from mixedsched.core.learning.recorder import VisitRecorder
from mixedsched.core.learning.visit import MAX_PATH, MAX_REQUESTS, SeenNetwork, Visit
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind, Request


def document(stream_id: int, path: str = "/", *, is_found: bool = True) -> Request:
    return Request(stream_id, path, Kind.DOCUMENT, body_bytes=1000, navigates=True, is_found=is_found)


def image(stream_id: int, priority: ChromiumPriority, path: str = "/a.png") -> Request:
    signal = Priority(priority.rank, True)
    return Request(stream_id, path, Kind.IMAGE, signal, True, priority, body_bytes=2000)


def test_a_visit_ends_with_the_next_navigation_or_the_connection() -> None:
    visits: list[Visit] = []
    recorder = VisitRecorder(visits.append)
    recorder.placed(1.0, 0, document(0), "")
    recorder.placed(1.1, 4, image(4, ChromiumPriority.MEDIUM), "")
    recorder.placed(5.0, 8, document(8, "/next"), "")
    recorder.finish()
    assert [(item.path, len(item.requests)) for item in visits] == [("/", 2), ("/next", 1)]


def test_a_later_signal_that_is_more_urgent_is_noted() -> None:
    visits: list[Visit] = []
    recorder = VisitRecorder(visits.append)
    recorder.placed(0.0, 0, document(0), "")
    for priority in (ChromiumPriority.MEDIUM, ChromiumPriority.HIGH):
        recorder.placed(0.1, 4, image(4, priority), "")
    recorder.finish()
    assert visits[0].requests[1].raised
    assert visits[0].requests[1].priority is ChromiumPriority.MEDIUM


def test_what_the_site_does_not_have_is_not_part_of_a_visit() -> None:
    visits: list[Visit] = []
    recorder = VisitRecorder(visits.append)
    recorder.placed(0.0, 0, document(0, "/made-up", is_found=False), "")
    recorder.placed(0.1, 4, image(4, ChromiumPriority.LOW), "")
    recorder.finish()
    assert visits == []


def test_a_flood_of_requests_is_cut_off() -> None:
    visits: list[Visit] = []
    recorder = VisitRecorder(visits.append)
    recorder.placed(0.0, 0, document(0), "")
    for number in range(1, 2000):
        recorder.placed(0.1, 4 * number, image(4 * number, ChromiumPriority.LOW, f"/{number}" + "x" * 5000), "")
    recorder.finish()
    assert len(visits[0].requests) == MAX_REQUESTS
    assert max(len(item.path) for item in visits[0].requests) == MAX_PATH


def visited_slowly(pause_s: float, *, is_answered: bool = True) -> Visit:
    """100 kB in a second, and a request some time later."""
    visits: list[Visit] = []
    recorder = VisitRecorder(visits.append, connection=lambda: SeenNetwork(rtt_ms=50.0))
    recorder.placed(0.0, 0, document(0), "")
    recorder.scheduled(0.1, 0, 1000, 0, 1)
    recorder.placed(0.2, 4, replace(image(4, ChromiumPriority.HIGH), body_bytes=99_000), "")
    for number in range(9):
        recorder.scheduled(0.3 + number / 10, 4, 11_000, 0, 2 + number)
    if not is_answered:
        recorder.placed(1.2, 8, image(8, ChromiumPriority.HIGH, "/slow"), "")
    recorder.placed(1.1 + pause_s, 12, image(12, ChromiumPriority.LOW, "/late"), "")
    recorder.scheduled(1.2 + pause_s, 12, 2000, 0, 20)
    recorder.finish()
    return visits[0]


def test_what_a_page_asks_for_long_after_it_was_loaded_is_no_part_of_it() -> None:
    """As what is polled for, or comes into view by scrolling: the longer people stay, the more of it."""
    assert [item.path for item in visited_slowly(1.0).requests] == ["/", "/a.png", "/late"]
    assert [item.path for item in visited_slowly(60.0).requests] == ["/", "/a.png"]


def test_a_page_that_waits_for_an_answer_is_not_loaded() -> None:
    assert "/late" in [item.path for item in visited_slowly(60.0, is_answered=False).requests]


def test_a_pause_of_the_page_is_not_one_of_the_network() -> None:
    at_once, paused = (visited_slowly(pause_s).connection.rate_bps for pause_s in (0.0, 4.0))
    assert at_once is not None
    assert paused is not None
    assert 0.7 < paused / at_once < 1.3


def test_a_page_that_leaves_with_the_first_flight_tells_no_rate() -> None:
    visits: list[Visit] = []
    recorder = VisitRecorder(visits.append, connection=lambda: SeenNetwork(rtt_ms=50.0))
    recorder.placed(0.0, 0, document(0), "")
    recorder.scheduled(0.001, 0, 1000, 0, 1)
    recorder.placed(0.1, 4, image(4, ChromiumPriority.HIGH), "")
    recorder.scheduled(0.101, 4, 2000, 0, 2)
    recorder.finish()
    assert visits[0].connection == SeenNetwork(rtt_ms=50.0)
    assert recorder.latest_rate_bps is None


def test_losses_of_a_single_moment_are_a_full_queue_and_those_of_many_are_the_network() -> None:
    def visited(moments: list[float], longest_rtt_ms: float = 50.0, rtt_ms: float = 50.0) -> Visit:
        visits: list[Visit] = []
        latest = itertools.chain([None, longest_rtt_ms], itertools.repeat(rtt_ms))
        recorder = VisitRecorder(visits.append, connection=lambda: SeenNetwork(50.0, latest_rtt_ms=next(latest)))
        recorder.placed(0.0, 0, document(0), "")
        recorder.placed(0.0, 4, image(4, ChromiumPriority.LOW), "")
        for number in range(100):
            recorder.scheduled(number / 100, 0, 1160, 0, number)
        for at_s in moments:
            recorder.scheduled(at_s, 0, 1160, 1160, 200)
        recorder.finish()
        return visits[0]

    assert visited([0.50, 0.51, 0.52, 0.53, 0.54]).connection.loss_ratio == 0.0
    many = [0.1, 0.3, 0.5, 0.7, 0.9]
    assert visited(many).connection.loss_ratio > 0.02
    assert visited(many, 400.0, 350.0).connection.loss_ratio == 0.0, "the queue was full each time"
    assert visited(many, 400.0, 80.0).connection.loss_ratio > 0.02, "the queue was full at another time"


def test_networks_that_are_alike_are_one_class_and_there_are_only_so_many() -> None:
    classes: list[NetworkClass] = []
    for rtt_ms in (100.0, 110.0, 95.0):
        assert note(classes, SeenNetwork(rtt_ms, 2e6)) == 0
    for number in range(40):
        note(classes, SeenNetwork(1.0 * 3**number, 1e3 * 5**number, number / 10))
    assert len(classes) <= MAX_CLASSES
    assert abs(sum(share for _, share in usual(classes, 6)) - 1) < 0.5
    assert note([], SeenNetwork()) is None
    assert all(item.profile.down.rate_bps for item in classes)


def test_a_request_has_the_round_trip_of_its_moment() -> None:
    visits: list[Visit] = []
    latest = iter((None, 60.0, 310.0, 90.0))
    recorder = VisitRecorder(visits.append, connection=lambda: SeenNetwork(50.0, latest_rtt_ms=next(latest)))
    recorder.placed(0.0, 0, document(0), "")
    for number, path in ((4, "/a.png"), (8, "/b.png")):
        recorder.placed(0.1, number, image(number, ChromiumPriority.HIGH, path), "")
    recorder.finish()
    assert [item.rtt_ms for item in visits[0].requests] == [None, 60.0, 310.0]
    assert visits[0].connection.rtt_ms == 50.0
