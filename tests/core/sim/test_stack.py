"""Rung `stack`: a page over two real connections in virtual time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.schedulers.sequential import Sequential
from mixedsched.core.sim import _client, stack
from mixedsched.core.sim._responder import ZeroBody, addresses_of
from mixedsched.core.sim._wire import at_or_after_us
from mixedsched.core.sim.load import PlayedLoad, ResourceTimes
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.record import Recorder
from mixedsched.core.sim.requests import request_for
from mixedsched.core.sim.stack import play_stack
from mixedsched.errors import PageLoadError, UsageError
from mixedsched.model.mapping import Override
from mixedsched.model.page import Page
from mixedsched.model.priority import Priority
from mixedsched.model.profile import Direction, Profile, RandomLoss
from mixedsched.model.request import Flag, Kind, Request
from mixedsched.model.scheme import ConfiguredScheme, Scheme, configure
from mixedsched.world import catalog
from tests.core.sim.pages import page, pages, resource, scheme
from tests.examples import examples

HOME = Path(__file__).resolve().parents[3]

ONE_WAY_MS = 30
SLIP_MS = 1e-6  # sums of milliseconds in floating point


def network(loss_ratio: float = 0.0, rate_bps: int | None = None, queue_bytes: int | None = None) -> Profile:
    direction = Direction(rate_bps, 1000 * ONE_WAY_MS, queue_bytes, RandomLoss(loss_ratio))
    return Profile("made-up", "", "", direction, direction)


def play(
    made: Page, spec: str = "sequential", over: Profile | None = None, *, seed: int = 1, control: str = "cubic"
) -> PlayedLoad:
    return play_stack(Discoveries.of(made), scheme(spec), over or network(), seed=seed, congestion_control=control)


def body_order(load: PlayedLoad) -> list[str]:
    return [name for name, _ in load.order]


HTML = resource("html", 20_000, kind="document")
FOUR = page(
    HTML, resource("a", 60_000, "html@100"), resource("b", 60_000, "html@100"), resource("c", 60_000, "html@100")
)
SLOW = network(rate_bps=4_000_000)
LOSSY = network(0.02, rate_bps=4_000_000)


def test_the_handshake_takes_one_round_trip_and_the_first_response_a_second() -> None:
    load = play(page(resource("html", 500, kind="document")))
    html = load.times()["html"]
    assert load.facts["connected_ms"] == html.requested_ms == 2 * ONE_WAY_MS
    assert html.first_byte_ms == html.complete_ms == 4 * ONE_WAY_MS
    assert load.finished_ms == html.complete_ms


def test_resources_are_told_in_order_of_request() -> None:
    made = page(HTML, resource("late", 10, "early"), resource("early", 10, "html@100"))
    assert [item.id for item in play(made).resources] == ["html", "early", "late"]


def test_what_a_request_makes_known_leaves_with_it() -> None:
    times = play(page(HTML, resource("a", 10, "html!"), resource("b", 10, "html!", delay_ms=7))).times()
    assert times["a"].requested_ms == times["html"].requested_ms
    assert times["b"].requested_ms == pytest.approx(times["html"].requested_ms + 7)


def test_what_is_found_at_bytes_waits_for_them_and_then_for_its_delay() -> None:
    made = page(
        resource("html", 60_000, kind="document"),
        resource("first", 10, "html@0"),
        resource("half", 10, "html@30000"),
        resource("last", 10, "html@60000", delay_ms=5),
    )
    times = play(made, over=SLOW).times()
    html = times["html"]
    assert times["first"].requested_ms == html.first_byte_ms
    assert html.first_byte_ms < times["half"].requested_ms < html.complete_ms
    assert times["last"].requested_ms == pytest.approx(html.complete_ms + 5)


def test_a_page_may_pause_for_longer_than_an_idle_connection_lives() -> None:
    times = play(page(HTML, resource("poll", 10, "html", "xhr", delay_ms=50_000))).times()
    assert times["poll"].requested_ms == pytest.approx(times["html"].complete_ms + 50_000)


def test_what_is_found_by_a_complete_response_waits_for_it() -> None:
    times = play(page(HTML, resource("a", 5000, "html"), resource("b", 10, "a", delay_ms=2.5))).times()
    assert times["a"].requested_ms == times["html"].complete_ms
    assert times["b"].requested_ms == pytest.approx(times["a"].complete_ms + 2.5)


def test_sequential_finishes_one_response_before_the_next_and_stock_takes_turns() -> None:
    assert body_order(play(FOUR, over=SLOW)) == ["html", "a", "b", "c"]
    in_turns = body_order(play(FOUR, "stock", SLOW))
    after_html = "".join(in_turns).rpartition("html")[2]
    assert "abcabcabcabcabcabcabcabcabcabc" in after_html
    assert len(after_html) > 3 * 40


def test_urgent_responses_overtake() -> None:
    made = page(HTML, resource("image", 200_000, "html@0"), resource("css", 5000, "html", kind="stylesheet"))
    times = play(made, "eps", SLOW).times()
    assert times["css"].complete_ms < times["image"].complete_ms
    assert times["css"].complete_ms - times["css"].requested_ms < 200


def test_packets_carry_all_bytes_and_little_else() -> None:
    load = play(FOUR, over=SLOW)
    assert dict(load.order)["a"] == pytest.approx(60_000 / 1170, abs=1)
    assert load.facts["link_down"]["bytes"] < 1.08 * 200_000 + 5000


@pytest.mark.parametrize("spec", ["sequential", "stock", "eps"])
def test_nothing_lost_nothing_blocked(spec: str) -> None:
    load = play(FOUR, spec, SLOW)
    assert (load.hol_bytes, load.facts["connection_hol_bytes"]) == (0, 0)
    assert (load.facts["packets_lost"], load.facts["retransmitted_bytes"]) == (0, 0)


def test_with_loss_all_arrives_and_the_facts_say_what_it_took() -> None:
    load = play(FOUR, over=LOSSY)
    facts = load.facts
    down = facts["link_down"]
    assert 0 < down["lost"] == facts["packets_lost"]
    assert 0 < load.hol_bytes <= facts["connection_hol_bytes"] < 200_000
    assert down["lost"] * 500 < facts["retransmitted_bytes"] < down["lost"] * 3000
    assert facts["packets_seen"] == pytest.approx(down["packets"] - down["lost"], abs=10)
    assert load.finished_ms > play(FOUR, over=SLOW).finished_ms


def test_a_full_queue_loses_packets_too() -> None:
    load = play(FOUR, over=network(rate_bps=2_000_000, queue_bytes=6000))
    assert load.facts["link_down"]["overflowed"] == load.facts["packets_lost"] > 0


def test_sequential_blocks_more_bytes_than_turns_do() -> None:
    made = page(HTML, *(resource(f"r{index}", 50_000, "html@0") for index in range(12)))
    blocked = {spec: sum(play(made, spec, LOSSY, seed=seed).hol_bytes for seed in range(4)) for spec in ("fifo", "rr")}
    assert blocked["rr"] < blocked["fifo"] / 4


def test_reno_and_cubic_differ_and_others_are_refused() -> None:
    cubic, reno = (play(FOUR, over=LOSSY, control=control) for control in ("cubic", "reno"))
    assert cubic.resources != reno.resources
    assert reno.facts["congestion_control"] == "reno"
    with pytest.raises(UsageError, match="choose one of cubic, reno, cubic-2022"):
        play(FOUR, control="bbr")


def test_cubic_of_2022_overshoots_in_slow_start_where_todays_stops_in_time() -> None:
    over = network(rate_bps=10_000_000, queue_bytes=75_000)
    made = page(HTML, resource("big", 1_500_000, "html@0"))
    loads = {control: play(made, over=over, control=control) for control in ("cubic", "cubic-2022")}
    assert loads["cubic-2022"].facts["packets_lost"] > 50 > loads["cubic"].facts["packets_lost"]
    assert play(made, over=over, control="cubic-2022") == loads["cubic-2022"]


def test_cubic_of_2022_sends_whole_windows_at_once_where_others_are_paced() -> None:
    made = page(resource("html", 60_000, kind="document"))  # three windows: on a link without a rate, three round trips
    ends_ms = {control: play(made, control=control).finished_ms for control in ("cubic-2022", "cubic", "reno")}
    assert ends_ms["cubic-2022"] == 2 * ONE_WAY_MS * (1 + 3)
    assert min(ends_ms["cubic"], ends_ms["reno"]) > ends_ms["cubic-2022"]


def test_schemes_meet_the_same_losses_and_seeds_different_ones() -> None:
    lost = {
        (spec, seed): play(FOUR, spec, LOSSY, seed=seed).facts["link_down"]
        for spec in ("fifo", "rr")
        for seed in (1, 2)
    }
    assert lost["fifo", 1]["lost"] == pytest.approx(lost["rr", 1]["lost"], abs=2)
    assert play(FOUR, over=LOSSY, seed=1).resources != play(FOUR, over=LOSSY, seed=2).resources


def test_facts_name_the_conditions() -> None:
    facts = play_stack(Discoveries.of(FOUR), scheme("eps"), catalog.load_profile("4g"), seed=7).facts
    named = {key: facts[key] for key in ("link", "seed", "congestion_control", "http_version", "connections")}
    assert named == {"link": "4g", "seed": 7, "congestion_control": "cubic", "http_version": "h3", "connections": 1}


@pytest.mark.parametrize("spec", SCHEMES)
def test_pipe_and_stack_finish_responses_in_the_same_order(spec: str) -> None:
    made = page(
        resource("html", 20_000, kind="document", flags=["main", "critical"]),
        resource("css", 30_000, "html!", "stylesheet", flags=["in_head", "critical"]),
        resource("js", 55_000, "html!", "script", flags=["in_head", "critical"]),
        resource("async", 40_000, "html!", "script", flags=["async"]),
        resource("hero", 80_000, "html!", "image", flags=["hero", "above_fold"]),
        resource("img", 120_000, "html!", "image"),
        resource("font", 25_000, "html!", "font"),
        resource("xhr", 15_000, "html!", "xhr"),
        resource("late", 65_000, "html!", "script", flags=["late_body"]),
    )
    piped = play_pipe(Discoveries.of(made), scheme(spec), PipeOptions(packet_bytes=1170, pace_us=1000))
    stacked = play(made, spec, network(rate_bps=10_000_000))
    assert by_completion(stacked) == by_completion(piped)


def by_completion(load: PlayedLoad) -> list[str]:
    return [item.id for item in sorted(load.resources, key=lambda item: item.complete_ms)]


def spy(seen: list[Request]) -> ConfiguredScheme:
    """A scheme that notes each request as the server has understood it."""

    def place(request: Request, *_: object) -> None:
        seen.append(request)

    return ConfiguredScheme("spy", Scheme("spy", "", "", "", lambda _: Sequential(), place), {}, None)


def test_the_server_understands_what_the_page_says_of_each_resource() -> None:
    rows = [
        resource(
            f"{kind}-{priority}-{i}", 10, "html@0", kind, chromium_priority=priority, incremental=i, flags=["lazy"]
        )
        for kind in Kind
        for priority in ("VeryHigh", "High", "Medium", "Low", "VeryLow")
        for i in (False, True)
    ]
    made = page(resource("html", 500, kind="document", flags=["critical"]), *rows)
    seen: list[Request] = []
    logged: list[ServedRequest] = []
    play_stack(Discoveries.of(made), spy(seen), network(), seed=1, served=logged.append)
    placed = {request.stream_id: request for request in seen}  # placed again when the log is written
    expected = {4 * index: request_for(made, item, 4 * index) for index, item in enumerate(made.resources)}
    assert placed == expected
    assert placed[0].flags == {Flag.MAIN, Flag.CRITICAL}
    by = {item.path: item.signalled_by for item in logged}
    assert by["/image-Low-False"] == "default"
    assert {how for path, how in by.items() if path not in {f"/{kind}-Low-False" for kind in Kind}} == {"update"}
    assert all(item.complete for item in logged)


def test_overrides_decide_whatever_the_browser_signals() -> None:
    """The session is the one behind `serve`: what it says of a response is what its log would."""
    made = page(HTML, *(resource(name, 30_000, "html@0", path=f"/{name}?v=1") for name in ("one", "two", "hero-3")))
    mapping = replace(catalog.load_mapping("chromium"), overrides=(Override("/hero-*", Priority(0)),))
    logged: list[ServedRequest] = []
    slow = network(rate_bps=2_000_000)
    eps = configure("eps", SCHEMES, lambda *_: mapping)
    load = play_stack(Discoveries.of(made), eps, slow, seed=1, served=logged.append)
    assert {item.path: item.placement for item in logged}["/hero-3?v=1"] == str(Priority(0))
    first, plain = load.times(), play(made, "eps", slow).times()
    assert first["hero-3"].complete_ms < min(first[name].complete_ms for name in ("one", "two"))
    assert plain["hero-3"].complete_ms > min(plain[name].complete_ms for name in ("one", "two"))


def test_a_browser_that_withholds_asks_later_and_signals_what_it_has_learned() -> None:
    chromium = catalog.load_browser_model("chromium")
    sheet = resource("css", 30_000, "html@0", "stylesheet", flags=["in_head"])
    low = [resource(f"low{place}", 20_000, "html@0") for place in range(8)]
    hero = resource("hero", 20_000, "css", flags=["hero"], chromium_priority="Low")
    made, slow = page(HTML, sheet, *low, hero), network(rate_bps=2_000_000)
    logged: list[ServedRequest] = []
    load = play_stack(Discoveries.of(made, chromium), scheme("eps"), slow, seed=1, served=logged.append)
    assert load == play_stack(Discoveries.of(made, chromium), scheme("eps"), slow, seed=1)
    assert {item.path: item.chromium_priority for item in logged}["/hero"] == "High"
    assert [item.id for item in load.resources][:7] == ["html", "css", *(f"low{place}" for place in range(5))]
    times = load.times()
    assert times["low5"].requested_ms == times["css"].complete_ms
    assert times["hero"].complete_ms < times["low7"].complete_ms


def test_hosts_share_the_connection_and_keep_their_names() -> None:
    made = page(HTML, *(resource(f"r{host}", 10, "html@0", host=host) for host in range(40)))
    logged: list[ServedRequest] = []
    play_stack(Discoveries.of(made), scheme("eps"), network(), seed=1, served=logged.append)
    assert {item.connection for item in logged} == {1}
    names = {item.path: item.authority for item in logged}
    assert (names["/r0"], names["/r39"]) == ("page.test", "host39.page.test")


def test_a_path_listed_twice_and_odd_characters_reach_the_right_resource() -> None:
    made = page(
        HTML,
        resource("one", 100, "html@0", path="/same"),
        resource("two", 20_000, "html@0", path="/same"),
        resource("three", 3, "html@0", path="/same?x"),
        resource("four", 4, "html@0", path="/same?x"),
        resource("odd", 5, "html@0", path='ä b\n#"', mime="text/\nhtml; charset=ü"),
    )
    assert addresses_of(made)[1:] == (
        ("page.test", "/same"),
        ("page.test", "/same?copy=2"),
        ("page.test", "/same?x"),
        ("page.test", "/same?x&copy=2"),
        ("page.test", "/%C3%A4%20b%0A#%22"),
    )
    load = play(made)
    assert len(load.resources) == 6


def test_no_two_addresses_are_alike_whatever_the_page_calls_them() -> None:
    made = page(*(resource(f"r{index}", 1, path=path) for index, path in enumerate(["/a", "/a", "/a?copy=2", "/a"])))
    assert len(set(addresses_of(made))) == 4


@pytest.mark.parametrize("header_bytes", [100, 1000, 20_000])
def test_header_bytes_are_honoured_by_padding(header_bytes: int) -> None:
    def down_bytes(size: int) -> int:
        rows = [resource(f"r{index}", 1000, "html@0", header_bytes=size) for index in range(10)]
        load = play(page(HTML, *rows))
        assert len(load.resources) == 11
        return int(load.facts["link_down"]["bytes"])

    padding_bytes = (down_bytes(header_bytes) - down_bytes(0)) / 10
    assert padding_bytes == pytest.approx(header_bytes, rel=0.08, abs=60)


def test_responses_without_a_body_are_complete() -> None:
    made = page(HTML, resource("empty", 0, "html@0"), resource("child", 0, "empty@0"), resource("other", 0, "empty"))
    times = play(made).times()
    empty = times["empty"]
    assert empty.requested_ms < empty.first_byte_ms == empty.complete_ms
    assert times["child"].requested_ms == times["other"].requested_ms == empty.complete_ms


@pytest.mark.slow
def test_ten_thousand_resources_wait_for_streams_and_all_arrive() -> None:
    rows = [resource(f"r{index}", index % 7, "html@0", host=index % 60) for index in range(9999)]
    load = play(page(HTML, *rows), "eps", network(rate_bps=50_000_000))
    assert len(load.resources) == len({item.id for item in load.resources}) == 10_000
    assert [item.id for item in load.resources[:3]] == ["html", "r0", "r1"]
    at_once = [item for item in load.resources if item.requested_ms == load.resources[1].requested_ms]
    assert len(at_once) == 127, "the main document and these are all that the server allows at first"


@pytest.mark.slow
def test_memory_does_not_follow_the_body() -> None:
    def peak_bytes(body_bytes: int) -> int:
        tracemalloc.start()
        play(page(resource("video", body_bytes, kind="media")), over=network(0.01, 20_000_000, 40_000))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    peak_bytes(100_000)  # what is made once
    assert peak_bytes(2_000_000) < peak_bytes(600_000) + 200_000


def test_a_body_of_a_gigabyte_takes_no_room() -> None:
    body = ZeroBody(1_000_000_000)
    assert (body.read(1200), body.size_bytes, body.remaining_bytes) == (bytes(1200), 10**9, 10**9 - 1200)
    body.remaining_bytes = 5
    assert body.read(1200) == bytes(5)
    assert body.read(1200) == b""


@pytest.mark.parametrize("loss_ratio", [0.0, 0.05])
def test_small_receive_windows_are_opened_as_the_client_reads(
    monkeypatch: pytest.MonkeyPatch, loss_ratio: float
) -> None:
    wide = play(FOUR, "eps", network(loss_ratio, 4_000_000))
    monkeypatch.setattr(_client, "CONNECTION_WINDOW_BYTES", 5000)
    monkeypatch.setattr(_client, "STREAM_WINDOW_BYTES", 3000)
    narrow = play(FOUR, "eps", network(loss_ratio, 4_000_000))
    assert narrow.times()["html"].complete_ms > wide.times()["html"].complete_ms + 2 * ONE_WAY_MS
    assert len(narrow.resources) == 4


def test_the_client_acknowledges_every_second_packet_and_the_last_one_after_a_while() -> None:
    load = play(page(resource("html", 400_000, kind="document")), over=network(rate_bps=4_000_000))
    down, up = load.facts["link_down"]["packets"], load.facts["link_up"]["packets"]
    assert 0.45 * down < up < 0.6 * down


@pytest.mark.parametrize("loss_ratio", [0.5, 0.9, 0.999])
def test_a_network_that_lets_nothing_through_is_an_error_and_no_endless_loop(loss_ratio: float) -> None:
    with pytest.raises(PageLoadError, match=r"'made-up': idle timeout after \d+ s, with \d of 4 responses complete"):
        play(FOUR, over=network(loss_ratio, 1_000_000))


def test_a_load_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "MAX_LOAD_US", 250_000)
    with pytest.raises(PageLoadError, match=r"it goes on and on after 0 s, with 0 of 4 responses complete"):
        play(FOUR, over=network(rate_bps=100_000))


@pytest.mark.parametrize("seed", range(6))
def test_a_third_of_all_packets_lost_still_ends(seed: int) -> None:
    load = play(FOUR, "mixed", network(0.33, 4_000_000), seed=seed)
    assert load.facts["packets_lost"] > 30


@examples(25)
@given(made=pages(), seed=st.integers(0, 99), loss_ratio=st.sampled_from([0.0, 0.02, 0.2]))
def test_any_page_loads_whole_and_in_its_order(made: Page, seed: int, loss_ratio: float) -> None:
    load = play(made, "mixed", network(loss_ratio, 5_000_000), seed=seed)
    times = load.times()
    assert set(times) == {item.id for item in made.resources}
    for item in made.resources:
        its = times[item.id]
        assert its.requested_ms + 2 * ONE_WAY_MS <= its.first_byte_ms + SLIP_MS
        assert its.first_byte_ms <= its.complete_ms
        if item.found_by is not None:
            earliest = earliest_ms(times[item.found_by], item.found_when) + item.delay_ms
            assert its.requested_ms >= earliest - SLIP_MS
    assert {name for name, _ in load.order} == set(times)
    assert load.hol_bytes <= sum(item.body_bytes + item.header_bytes + 200 for item in made.resources) + 2000
    json.dumps(Recorder(load.page).record(load))


def earliest_ms(parent: ResourceTimes, found_when: str) -> float:
    match found_when:
        case "requested":
            return parent.requested_ms
        case "complete":
            return parent.complete_ms
        case _:
            return parent.first_byte_ms


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_fresh_processes() -> None:
    """Order never comes from a set or a hash, and neither keys nor certificates change a size."""
    script = (
        "import json\n"
        "from mixedsched.core.sim.record import Recorder\n"
        "from tests.core.sim.test_stack import page, play, network, resource\n"
        "kinds = ['image', 'script', 'font']\n"
        "facts = [dict(kind=kinds[n % 3], host=n % 4, header_bytes=50 * n) for n in range(25)]\n"
        "rows = [resource(f'r{n}', 9000 + 37 * n, 'html@0', **more) for n, more in enumerate(facts)]\n"
        "made = page(resource('html', 20_000, kind='document'), *rows)\n"
        "print(json.dumps(Recorder(made).record(play(made, 'mixed', network(0.06, 4_000_000, 30_000), seed=5))))\n"
    )

    def record(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", script]
        return subprocess.run(command, cwd=HOME, env=environment, capture_output=True, text=True, check=True).stdout

    first = record("0")
    assert json.loads(first)["packets_lost"] > 10
    assert {record(hash_seed) for hash_seed in ("1", "2", "3", "4")} == {first}


@given(time_s=st.floats(0, 40_000))
def test_a_timer_never_fires_early_and_at_most_a_microsecond_late(time_s: float) -> None:
    time_us = at_or_after_us(time_s)
    assert time_us / 1_000_000 >= time_s
    assert time_us - 1.5 <= time_s * 1_000_000
