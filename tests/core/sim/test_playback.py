"""Discovery rules of `mixedsched.page/1`, without any network."""

from __future__ import annotations

from hypothesis import given

from mixedsched.core.sim.playback import Discoveries, Playback
from mixedsched.model.page import Page
from tests.core.sim.pages import page, pages, resource


def playback(*resources: dict[str, object], slot_us: int = 0) -> Playback:
    return Playback(Discoveries.of(page(*resources)), slot_us).start()


def test_navigation_finds_the_main_document_and_it_is_requested_at_once() -> None:
    played = playback(resource("html", 1000, kind="document"), resource("late", 1, "html"))
    assert played.next_due_us() == 0
    assert played.pop_due(0) == [0]
    assert played.next_due_us() is None


def test_a_child_found_at_bytes_waits_for_exactly_those_and_then_for_its_delay() -> None:
    played = playback(resource("html", 1000, kind="document"), resource("script", 1, "html@900", delay_ms=2.5))
    played.pop_due(0)
    played.delivered(0, 899, 10)
    assert played.next_due_us() is None
    played.delivered(0, 900, 20)
    assert played.next_due_us() == 2520
    assert played.pop_due(2519) == []
    assert played.pop_due(2520) == [1]


def test_a_child_found_at_byte_0_waits_for_the_response_to_begin() -> None:
    played = playback(resource("html", 1000, kind="document"), resource("script", 1, "html@0"))
    assert played.pop_due(0) == [0]
    assert played.next_due_us() is None
    played.delivered(0, 0, 7)
    assert played.pop_due(7) == [1]


def test_completion_finds_what_waits_for_it_and_what_waits_for_any_byte() -> None:
    played = playback(
        resource("html", 1000, kind="document"), resource("end", 1, "html"), resource("byte", 1, "html@1000")
    )
    played.pop_due(0)
    played.completed(0, 50)
    assert played.pop_due(50) == [1, 2]


def test_a_child_of_a_request_leaves_with_it_after_its_delay_counts_from_there() -> None:
    played = playback(
        resource("html", 1000, kind="document"),
        resource("soon", 1, "html!"),
        resource("later", 1, "html!", delay_ms=1),
        resource("grandchild", 1, "soon!"),
    )
    assert played.pop_due(0) == [0, 1, 3]
    assert played.pop_due(1000) == [2]


def test_found_at_the_same_moment_means_requested_in_page_order() -> None:
    played = playback(
        resource("html", 1000, kind="document"),
        resource("b", 1, "html@500"),
        resource("a", 1, "html@100"),
        resource("c", 1, "html@500"),
    )
    played.pop_due(0)
    played.delivered(0, 700, 5)
    assert played.pop_due(5) == [1, 2, 3]


def test_request_slots_admit_one_request_in_so_much_time() -> None:
    played = playback(
        resource("html", 1000, kind="document"), resource("a", 1, "html!"), resource("b", 1, "html!"), slot_us=10_000
    )
    assert played.pop_due(0) == [0]
    assert played.next_due_us() == 10_000
    assert played.pop_due(9_999) == []
    assert played.pop_due(10_000) == [1]
    assert played.pop_due(20_000) == [2]


def test_a_page_is_finished_when_all_of_it_is_complete() -> None:
    played = playback(resource("html", 1000, kind="document"), resource("a", 0, "html"))
    played.pop_due(0)
    played.completed(0, 1)
    assert not played.is_finished
    assert played.pop_due(1) == [1]
    played.completed(1, 2)
    assert played.is_finished


@given(pages())
def test_every_resource_is_requested_exactly_once_whatever_the_page(made: Page) -> None:
    played, requested, now_us = Playback(Discoveries.of(made)).start(), [], 0
    while not played.is_finished:
        due_us = played.next_due_us()
        assert due_us is not None
        now_us = max(now_us, due_us)
        for index in played.pop_due(now_us):
            requested.append(index)
            played.completed(index, now_us)
    assert sorted(requested) == list(range(len(made.resources)))
