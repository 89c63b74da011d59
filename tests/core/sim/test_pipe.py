"""Rung `pipe`: one packet an interval, of one response, as the scheduler says."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.jitter import Jitter
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.model.page import Page
from tests.core.sim.naive import play_naively
from tests.core.sim.pages import page, pages, resource, scheme
from tests.examples import examples


def play(made: Page, spec: str = "fifo", options: PipeOptions | None = None) -> PlayedLoad:
    return play_pipe(Discoveries.of(made), scheme(spec), options)


def times(load: PlayedLoad) -> dict[str, tuple[float, float, float]]:
    return {item.id: (item.requested_ms, item.first_byte_ms, item.complete_ms) for item in load.resources}


TWO = page(resource("html", 1400, kind="document"), resource("a", 4200, "html!"), resource("b", 4200, "html!"))


def test_the_first_packet_leaves_at_the_end_of_its_interval() -> None:
    load = play(page(resource("html", 3379, kind="document")))
    assert times(load) == {"html": (0, 10, 30)}
    assert load.packets == 3


def test_the_last_packet_of_a_response_is_not_filled_up() -> None:
    load = play(page(resource("html", 1401, kind="document"), resource("a", 1399, "html!")))
    assert load.order == (("html", 2), ("a", 1))
    assert load.finished_ms == 30


def test_headers_are_bytes_of_the_response_but_not_of_its_body() -> None:
    made = page(resource("html", 1400, kind="document", header_bytes=1400), resource("a", 1, "html@0"))
    assert times(play(made)) == {"html": (0, 10, 20), "a": (10, 30, 30)}


def test_what_is_found_in_a_packet_can_be_chosen_for_the_next_one() -> None:
    made = page(resource("picture", 14_000), resource("css", 1400, "picture@1401", kind="stylesheet"))
    assert times(play(made, "chrome7")) == {"picture": (0, 10, 110), "css": (20, 30, 30)}


def test_what_is_found_within_an_interval_waits_for_the_next_one() -> None:
    made = page(resource("picture", 14_000), resource("css", 1400, "picture@1", delay_ms=1, kind="stylesheet"))
    assert times(play(made, "chrome7"))["css"] == (11, 30, 30)


def test_an_idle_pipe_keeps_its_beat() -> None:
    made = page(resource("html", 1, kind="document"), resource("a", 1, "html", delay_ms=13))
    assert times(play(made))["a"] == (23, 40, 40)


def test_the_order_is_what_the_scheduler_chose() -> None:
    assert play(TWO, "rr").order == (("html", 1), *(("a", 1), ("b", 1)) * 3)
    assert play(TWO, "batched-rr:packets=2").order == (("html", 1), ("a", 2), ("b", 2), ("a", 1), ("b", 1))


def test_request_slots_space_requests() -> None:
    load = play(TWO, "rr", PipeOptions(request_slot_us=10_000))
    assert [item.requested_ms for item in load.resources] == [0, 10, 20]


def test_chosen_packets_in_the_send_buffer_cannot_be_recalled() -> None:
    made = page(
        resource("html", 1400, kind="document"),
        resource("big", 140_000, "html"),
        resource("css", 1400, "html", kind="stylesheet", delay_ms=105),
    )
    css = {
        size: times(play(made, "chrome7", PipeOptions(send_buffer_bytes=size)))["css"][2]
        for size in (0, 14_000, 70_000)
    }
    assert css == {0: 130, 14_000: 230, 70_000: 630}


@pytest.mark.parametrize("buffer_bytes", [14_000, 280_000, 1_000_000])
def test_fifo_does_not_mind_a_send_buffer(buffer_bytes: int) -> None:
    made = page(
        resource("html", 9000, kind="document"),
        *(resource(f"r{index}", 50_000, f"html@{index * 1000}") for index in range(8)),
    )
    assert play(made).order == play(made, options=PipeOptions(send_buffer_bytes=buffer_bytes)).order


def test_a_response_without_bytes_is_complete_when_it_is_requested() -> None:
    load = play(page(resource("html", 0, kind="document"), resource("a", 0, "html", delay_ms=4)))
    assert times(load) == {"html": (0, 0, 0), "a": (4, 4, 4)}
    assert load.packets == 0
    assert load.order == ()


def test_what_an_empty_response_makes_known_keeps_page_order() -> None:
    made = page(resource("html", 0, kind="document"), resource("a", 1, "html"), resource("b", 1, "html!"))
    assert play(made).order == (("a", 1), ("b", 1))


def test_a_buffer_of_one_packet_means_one_chosen_ahead_of_the_one_that_leaves() -> None:
    made = page(resource("picture", 14_000), resource("css", 1400, "picture@1401", kind="stylesheet"))
    load = play(made, "chrome7", PipeOptions(send_buffer_bytes=1400))
    assert load.order == (("picture", 3), ("css", 1), ("picture", 7))


def test_a_gigabyte_costs_no_memory() -> None:
    made = page(resource("html", 10**9, kind="document"), resource("a", 10**9, "html!"))
    tracemalloc.start()
    load = play(made)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert load.order == (("html", 714_286), ("a", 714_286))
    assert peak_bytes < 1_000_000


@pytest.fixture(scope="module")
def large() -> Page:
    others = (resource(f"r{index}", 1400, "html@14") for index in range(9999))
    return page(resource("html", 14_000, kind="document"), *others)


@pytest.mark.parametrize("spec", ["fifo", "rr", "bucket", "eps"])
def test_ten_thousand_resources_are_played(large: Page, spec: str) -> None:
    load = play(large, spec)
    assert load.packets == 10_009
    assert load.finished_ms == 100_090


pipes = st.builds(
    PipeOptions,
    packet_bytes=st.sampled_from([1400, 1000]),
    pace_us=st.sampled_from([10_000, 7_000]),
    send_buffer_bytes=st.sampled_from([0, 0, 1, 1400, 14_000, 50_000]),
    request_slot_us=st.sampled_from([0, 0, 10_000]),
)


@pytest.mark.parametrize("spec", [*SCHEMES, "p+:linger=5", "mixed:n_interrupts_i=no"])
@examples(25)
@given(made=pages(), options=pipes)
def test_runs_of_packets_give_what_packet_by_packet_gives(spec: str, made: Page, options: PipeOptions) -> None:
    load, plainly = play(made, spec, options), play_naively(made, scheme(spec), options)
    assert list(load.order) == plainly["order"]
    assert [(item.id, item.requested_ms, item.first_byte_ms, item.complete_ms) for item in load.resources] == plainly[
        "times"
    ]


@pytest.mark.parametrize("spec", SCHEMES)
@examples(10)
@given(made=pages(), options=pipes)
def test_everything_is_sent_once(spec: str, made: Page, options: PipeOptions) -> None:
    load = play(made, spec, options)
    sent = dict.fromkeys((item.id for item in made.resources), 0)
    for name, packets in load.order:
        sent[name] += packets
    assert sent == {
        item.id: -(-(item.header_bytes + item.body_bytes) // options.packet_bytes) for item in made.resources
    }
    for item in load.resources:
        assert item.requested_ms <= item.first_byte_ms <= item.complete_ms <= load.finished_ms


jitters = st.builds(
    Jitter,
    pattern=st.sampled_from(["fourth", "random"]),
    low=st.just(1),
    high=st.integers(1, 4),
    seed=st.integers(0, 50),
    in_order=st.booleans(),
)


def test_every_fourth_packet_is_overtaken_by_two_and_its_own_stream_waits_for_it() -> None:
    made = page(resource("html", 1400, kind="document"), resource("a", 14_000, "html!"))
    load = play(made, "fifo", PipeOptions(jitter=Jitter("fourth", low=2, high=2)))
    assert [item.at_ms for item in load.deliveries] == [10, 20, 30, 60, 60, 60, 70, 100, 100, 100, 110]
    assert load.facts["held_bytes"] == 4 * 1400


def test_other_streams_go_on_over_quic_and_wait_over_tcp() -> None:
    made = page(resource("html", 1400, kind="document"), resource("a", 5600, "html!"), resource("b", 5600, "html!"))
    jitter = {in_order: Jitter("fourth", low=2, high=2, in_order=in_order) for in_order in (False, True)}
    quic, tcp = (play(made, "rr", PipeOptions(jitter=jitter[in_order])) for in_order in (False, True))
    assert [(item.id, item.at_ms) for item in quic.deliveries[3:6]] == [("b", 50), ("a", 60), ("a", 60)]
    assert [(item.id, item.at_ms) for item in tcp.deliveries[3:6]] == [("a", 60), ("b", 60), ("a", 60)]


def test_random_jitter_repeats_with_its_seed_and_changes_with_it() -> None:
    made = page(resource("html", 140_000, kind="document"))
    loads = [play(made, "fifo", PipeOptions(jitter=Jitter("random", seed=seed))) for seed in (1, 1, 2)]
    assert loads[0] == loads[1]
    assert loads[0].deliveries != loads[2].deliveries


@examples(60)
@given(made=pages(), spec=st.sampled_from(["fifo", "rr", "bucket-html"]), jitter=jitters)
def test_jitter_loses_nothing_and_in_order_delivery_is_never_earlier(made: Page, spec: str, jitter: Jitter) -> None:
    load = play(made, spec, PipeOptions(jitter=jitter))
    assert len(load.deliveries) == load.packets
    assert len(load.resources) == len(made.resources)
    assert all(item.requested_ms <= item.first_byte_ms <= item.complete_ms for item in load.resources)


def test_a_load_does_not_depend_on_loads_before_it() -> None:
    discoveries = Discoveries.of(TWO)
    assert play_pipe(discoveries, scheme("rr")) == play_pipe(discoveries, scheme("rr"))
