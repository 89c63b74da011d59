"""Rules of the charts' small parts: scales, filmstrip columns, and how requests, log entries and bytes are joined."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.lab.model import Arrival, Run
from mixedsched.lab.page_view import losses_of, path_of, responses_of
from mixedsched.model.profile import Direction, Profile, RandomLoss
from mixedsched.report._facts import fact_rows, has_random_losses, network_rows
from mixedsched.report._filmstrip import filmstrip, frames_of, jpeg_size
from mixedsched.report.compare._loads import mean_in_progress
from mixedsched.report.svg import Scale, element, round_step, shortened
from mixedsched.units import format_ms
from tests.report.made_up_runs import BASE_METRICS, GREY_JPEG, MadeUp, made_up_plan, numbered_jpeg


def one_run(label: str = "mixed", **metrics: float) -> Run:
    return MadeUp(made_up_plan(1)).run(label, {**BASE_METRICS, **metrics})


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 12))
def test_ticks_are_inside_the_scale_and_at_least_two(low: float, span: float, about: int) -> None:
    scale = Scale(low, low + span, 0, 100)
    ticks = scale.ticks(about)
    assert 2 <= len(ticks) <= about + 3
    slack = span * 1e-6
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 12))
def test_no_two_ticks_have_the_same_label(low: float, span: float, about: int) -> None:
    labels = [label for _, label in Scale(low, low + span, 0, 100).labelled_ticks(about, format_ms)]
    assert 1 <= len(labels) == len(set(labels))


def test_where_all_values_are_zero_ticks_are_whole_milliseconds() -> None:
    assert Scale(0, 1, 0, 100).labelled_ticks(4, format_ms) == [(0, "0 ms"), (1, "1 ms")]


@pytest.mark.parametrize(("least", "step"), [(0.9, 1), (1, 1), (1.1, 2), (3, 5), (51, 100), (0.03, 0.05)])
def test_steps_are_one_two_or_five_times_a_power_of_ten(least: float, step: float) -> None:
    assert round_step(least) == pytest.approx(step)


def test_equal_values_land_in_the_middle() -> None:
    assert Scale(5, 5, 0, 100)(5) == 50


def test_elements_escape_text_and_attributes() -> None:
    assert element("text", "<b>", data_x='"&') == '<text data-x="&#34;&amp;">&lt;b&gt;</text>'


def test_long_names_lose_their_middle() -> None:
    assert shortened("/images/a-long-name.jpg", 12) == "/im…name.jpg"
    assert shortened("/short", 12) == "/short"


def test_size_of_a_jpeg_is_read_past_other_segments() -> None:
    assert jpeg_size(GREY_JPEG) == jpeg_size(numbered_jpeg(7)) == (16, 12)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xd8", b"<svg/>", GREY_JPEG[:40], b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0\x00\x00" * 9]
)
def test_what_is_no_whole_jpeg_has_no_size(data: bytes) -> None:
    assert jpeg_size(data) is None


@pytest.mark.parametrize("end_ms", [90.0, 333.0, 1000.0, 1234.0, 2400.0, 9999.0, 60_000.0])
def test_filmstrips_have_six_to_twelve_even_columns_that_reach_the_end(end_ms: float) -> None:
    runs = {"mixed": one_run(lcp_ms=end_ms, fcp_ms=end_ms / 3)}
    film = filmstrip(runs)
    assert film is not None
    steps = {round(after - before, 6) for before, after in zip(film.times_ms, film.times_ms[1:], strict=False)}
    assert len(steps) == 1
    assert 6 <= len(film.times_ms) <= 12
    assert film.times_ms[-1] >= end_ms


def test_a_column_shows_the_last_picture_at_or_before_its_time() -> None:
    film = filmstrip({"mixed": one_run(lcp_ms=1100.0, fcp_ms=300.0)})
    assert film is not None
    cells = film.rows["mixed"]
    assert all(cell.frame is not None and cell.frame.at_ms <= cell.at_ms for cell in cells)
    assert [cell.at_ms for cell in cells if cell.marks] == [300.0, 1100.0]
    assert [mark for cell in cells for mark in cell.marks] == ["FCP 300 ms", "LCP 1.10 s"]


def animated(load_ms: float | None) -> Run:
    """A page with FCP at 300 ms and LCP at 1100 ms that draws something new every 100 ms for 10 s."""
    run = one_run(lcp_ms=1100.0, fcp_ms=300.0)
    frames = [
        {"at_ms": at_ms, "jpeg_base64": base64.b64encode(numbered_jpeg(at_ms)).decode()}
        for at_ms in range(0, 10_000, 100)
    ]
    return replace(run, page_load={**run.page_load, "frames": frames, "observed": {"load_ms": load_ms}})


@pytest.mark.parametrize(("load_ms", "last_ms"), [(700.0, 1600.0), (2000.0, 2500.0), (None, 9900.0)])
def test_a_film_ends_half_a_second_after_load_and_lcp_and_never_before_the_load(
    load_ms: float | None, last_ms: float
) -> None:
    assert frames_of(animated(load_ms))[-1].at_ms == last_ms


def test_the_axis_of_an_animated_page_ends_with_its_film() -> None:
    film = filmstrip({"mixed": animated(2000.0)})
    assert film is not None
    assert 2500 <= film.times_ms[-1] < 3000


def test_arms_without_pictures_leave_no_filmstrip() -> None:
    run = replace(one_run(), page_load={"metrics": BASE_METRICS})
    assert filmstrip({"mixed": run}) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://shop.test", "/"),
        ("https://shop.test/a?b=1#c", "/a?b=1"),
        ("/a?b=1", "/a?b=1"),
        ("https://[bad/", "https://[bad/"),
    ],
)
def test_paths_are_told_as_the_server_logs_them(url: str, path: str) -> None:
    assert path_of(url) == path


def request(url: str, at_ms: float) -> dict[str, object]:
    return {"url": url, "request_ms": at_ms, "start_ms": at_ms, "end_ms": at_ms + 100, "resource_type": "Image"}


def test_repeated_requests_take_log_entries_in_turn() -> None:
    run = replace(
        one_run(),
        page_load={"requests": [request("https://a.test/x", 20), request("https://a.test/x", 10)]},
        placements=({"path": "/x", "signal": "u=1"}, {"path": "/x", "signal": "u=5"}),
        arrivals=(),
    )
    assert [(item.request_ms, item.signal) for item in responses_of(run)] == [(10, "u=1"), (20, "u=5")]


def test_arrivals_are_shifted_to_the_first_request_and_first_bytes_stay_within_the_request() -> None:
    arrivals = (Arrival("/x", 30, 40, 1, 900), Arrival("/x", 500, 501, 1, 10))
    run = replace(
        one_run(), page_load={"requests": [request("https://a.test/x", 50)]}, arrivals=arrivals, placements=()
    )
    (response,) = responses_of(run)
    assert response.first_byte_ms == 80
    late = replace(run, arrivals=arrivals[1:])
    assert responses_of(late)[0].first_byte_ms == responses_of(late)[0].end_ms == 150


def test_other_hosts_are_named() -> None:
    run = replace(one_run(), page_load={"requests": [request("https://a.test/", 1), request("https://b.test/y", 2)]})
    assert [item.name for item in responses_of(run)] == ["/", "b.test/y"]


def test_two_full_overlaps_are_two_responses_in_progress() -> None:
    def run_of(*arrivals: Arrival) -> Run:
        requests = [request(f"https://a.test{path}", 0) for path in sorted({item.path for item in arrivals})]
        return replace(one_run(), page_load={"requests": requests}, arrivals=arrivals, placements=())

    taking_turns = run_of(*(Arrival(("/x", "/y")[step % 2], step, step + 1, 1, 1000) for step in range(100)))
    one_by_one = run_of(Arrival("/x", 0, 50, 50, 50_000), Arrival("/y", 50, 100, 50, 50_000))
    assert mean_in_progress(responses_of(taking_turns)) == pytest.approx(2, abs=0.05)
    assert mean_in_progress(responses_of(one_by_one)) == pytest.approx(1)
    assert mean_in_progress(()) == 0


def test_facts_carry_the_unit_of_their_name() -> None:
    facts = {
        "rtt_ms": 60.0,
        "timer": {"resolution_us": 2_500, "late": {"ratio": 0.02}},
        "port_rate_bps": None,
        "gso": False,
    }
    assert fact_rows(facts) == [
        ("rtt", "60 ms"),
        ("timer: resolution", "2.5 ms"),
        ("timer: late: ratio", "2 %"),
        ("port rate", "unlimited"),
        ("gso", "no"),
    ]


def profile(down: Direction, up: Direction) -> Profile:
    return Profile("made-up", "", "", down, up)


def test_a_network_is_told_as_people_say_it() -> None:
    cable = profile(Direction(9_000_000, 85_000, 191_250, RandomLoss(0.0005)), Direction(768_000, 2_500))
    assert network_rows(cable.facts()) == [
        ("to the browser", "9 Mbit/s, 85 ms, queue 191 kB, loss 0.05 %"),
        ("to the server", "768 kbit/s, 2.5 ms, queue without limit, no random loss"),
    ]
    bare = profile(Direction(), Direction())
    assert network_rows(bare.facts())[0] == (
        "to the browser",
        "no rate limit, no delay, queue without limit, no random loss",
    )
    assert network_rows({"down": "odd", "rtt_ms": 60}) == [("down", "odd"), ("rtt", "60 ms")]


def test_only_a_loss_ratio_makes_random_losses() -> None:
    clean = Direction(9_000_000, 85_000, 3_000)
    assert not has_random_losses(profile(clean, clean).facts())
    assert has_random_losses(profile(clean, replace(clean, loss=RandomLoss(0.01))).facts())
    assert has_random_losses({"down": {"loss_ratio": 0.01}, "up": None})  # as earlier versions stored it


def test_losses_of_all_connections_stand_on_the_time_axis_of_the_page() -> None:
    first = one_run().quic[0]
    lossy = (replace(first, losses=((30.0, 2),)), replace(first, losses=((5.0, 1), (40.0, 1))))
    run = replace(one_run(), page_load={"requests": [request("https://a.test/x", 50)]}, quic=lossy)
    assert losses_of(run) == ((55, 1), (80, 2), (90, 1))
