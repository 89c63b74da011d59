"""Pictures of networks: what is drawn is what the link model will do, in a terminal as in a file."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from statistics import median
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.link import Fate, Link, PacketRecord, direction_rng, loss_pattern
from mixedsched.errors import UsageError
from mixedsched.model.profile import CoDel, Direction, GilbertElliott, Profile, RandomLoss, Trace, direction_text
from mixedsched.report.networks import loss_text, queue_text, rate_text, render_networks, write_networks_plot
from mixedsched.report.networks._picture import COLUMN_WIDTH, picture_of
from mixedsched.report.networks._views import (
    LongestTime,
    drawn_delays_ms,
    full_queue_ms,
    longest_leaving_ms,
    longest_time,
    loss_view,
    rate_view,
    transmit_ms,
)
from mixedsched.world import catalog
from tests.report.html_rules import html_problems

BURSTS = Direction(2_000_000, 50_000, 26_215, GilbertElliott(0.01, 0.2), burst_bytes=1514)
SHAKEN = Direction(10_000_000, 20_000, 50_000, RandomLoss(0.02), jitter_us=5_000)
TRACED = Direction(trace=Trace("made-up", (10, 20, 20, 30, 100)), delay_us=5_000, queue_bytes=15_000)
ODD = Profile("odd <&>", "An odd one.", "made up", TRACED, SHAKEN)


def test_in_a_terminal_one_mark_is_one_packet_and_lost_ones_differ_without_colour() -> None:
    drawn = loss_text(BURSTS, 3, "up", 200)
    assert drawn is not None
    said, marks = drawn.plain.split("\n")
    fates = loss_pattern(BURSTS, 3, "up", 200)
    assert marks == "".join("█" if lost else "·" for lost in fates)
    assert said == f"{sum(fates)} of packets 1 to 200"


def test_where_the_first_loss_comes_late_the_marks_begin_shortly_before_it() -> None:
    rare = Direction(loss=RandomLoss(0.001))
    view = loss_view(rare, 1, "down", 100)
    fates = loss_pattern(rare, 1, "down", view.last)
    assert view.first > 1
    assert any(view.lost)
    assert not any(fates[: view.first - 1])
    assert list(view.lost) == fates[view.first - 1 :]
    drawn = loss_text(rare, 1, "down", 100)
    assert drawn is not None
    assert "all before arrive" in drawn.plain


def test_no_loss_draws_no_marks() -> None:
    assert loss_text(Direction(), 1, "down", 100) is None


def test_a_constant_rate_is_a_flat_line_and_a_trace_rises_and_falls() -> None:
    assert rate_text(BURSTS, 60).plain.endswith("─ 2 Mbit/s")
    assert rate_text(Direction(), 60).plain == "no limit"
    bars = rate_text(TRACED, 60).plain
    assert len(set(bars.split("▏")[0])) > 1
    assert "100 ms" in bars


def test_a_token_bucket_shows_its_burst_first() -> None:
    view = rate_view(Direction(rate_bps=1_000_000, burst_bytes=20_000), 40)
    assert view.rates_bps[0] == pytest.approx(2 * view.rates_bps[1])
    assert len(set(view.rates_bps[1:])) == 1


def test_a_trace_carries_in_the_picture_what_it_carries() -> None:
    view = rate_view(TRACED, 10)
    carried_bytes = sum(view.rates_bps) * view.step_ms / 8000
    assert carried_bytes == pytest.approx(4 * 1500)  # the fifth chance falls at the end of the period


def test_a_full_queue_is_told_in_time() -> None:
    assert full_queue_ms(BURSTS) == pytest.approx(26_215 * 8 / 2000)
    assert queue_text(BURSTS) == "a full queue delays by 105 ms"
    assert queue_text(TRACED) == "a full queue delays by 200 ms on average"
    assert queue_text(Direction()) == ""


def test_delays_are_those_of_the_profile() -> None:
    delays_ms = drawn_delays_ms(SHAKEN, 1, "down", 500)
    leaving_ms = 60 * 8 / 10_000
    assert len(delays_ms) == 500 - sum(loss_pattern(SHAKEN, 1, "down", 500))
    assert 15 <= min(delays_ms) < 15.5
    assert 24.5 < max(delays_ms) <= 25 + leaving_ms + 0.001


def test_delays_over_a_trace_with_gaps_are_those_of_each_packet() -> None:
    commuter = catalog.load_profile("commuter-4g")
    for side, direction in (("down", commuter.down), ("up", commuter.up)):
        delays_ms = drawn_delays_ms(direction, 3, side, 2000)
        assert len(delays_ms) == 2000
        assert 25 <= min(delays_ms) < 25.5
        assert max(delays_ms) <= longest_time(direction).whole_ms


def test_packets_come_at_every_phase_of_a_trace_alike() -> None:
    """Chances at 10, 20, 20, 30 and 100 ms: at 70 of 100 moments the next one is that at the end."""
    delays_ms = drawn_delays_ms(TRACED, 1, "down", 1000)
    assert 5 <= min(delays_ms) < 5.2
    assert 74.8 < max(delays_ms) <= 75
    waits_long = sum(delay_ms > 15 for delay_ms in delays_ms)
    assert waits_long == pytest.approx(600, abs=5)


def flooded_ms(direction: Direction, *, for_us: int, every_us: int = 500, size_bytes: int = 1514) -> list[float]:
    """Delays of packets handed over as long and as often as this, to a queue that they fill at once."""
    delays_ms: list[float] = []

    def note(packet: PacketRecord) -> None:
        if packet.out_us is not None:
            delays_ms.append((packet.out_us - packet.in_us) / 1000)

    link: Link[int] = Link(direction, direction_rng(1, "down"), note)
    for now_us in range(1, for_us, every_us):
        fate = Fate.QUEUED
        while fate is not Fate.OVERFLOWED:
            fate = link.push(0, size_bytes, now_us)
        link.pop_due(now_us)
    while (due_us := link.next_due_us()) is not None:
        link.pop_due(due_us)
    return delays_ms


@pytest.mark.parametrize("name", ["3g", "4g", "sander-bw2", "wifi-lossy", "cable-codel", "commuter-4g"])
def test_no_packet_of_a_flooded_link_is_under_way_longer_than_drawn(name: str) -> None:
    profile = catalog.load_profile(name)
    for direction in (profile.down, profile.up):
        assert direction.queue_bytes is not None
        drawn_ms = longest_time(direction).whole_ms
        period_us = 1_000_000 if direction.trace is None else 1000 * direction.trace.period_ms
        found_ms = max(flooded_ms(direction, for_us=period_us, every_us=5000))
        assert found_ms <= drawn_ms + 0.001  # the link rounds up
        if direction.codel is None and direction.trace is None:
            assert found_ms > drawn_ms - transmit_ms(direction) - 2 * direction.jitter_us / 1000


def test_the_queue_holds_the_packet_itself() -> None:
    direction = Direction(rate_bps=768_000, delay_us=150_000, queue_bytes=19 * 1514)
    longest = longest_time(direction)
    assert longest.leaving_ms == pytest.approx(1514 * 8 / 768)
    assert longest.whole_ms == pytest.approx(150 + 19 * 1514 * 8 / 768)
    assert max(flooded_ms(direction, for_us=1_000_000)) == pytest.approx(longest.whole_ms, abs=0.001)


def test_over_a_token_bucket_the_whole_queue_waits_for_tokens() -> None:
    direction = Direction(rate_bps=2_000_000, delay_us=50_000, queue_bytes=20 * 1514, burst_bytes=1514)
    assert longest_time(direction).leaving_ms == 0
    assert max(flooded_ms(direction, for_us=1_000_000, every_us=7)) == pytest.approx(
        longest_time(direction).whole_ms, abs=0.02
    )


def test_a_queue_without_limit_has_no_longest_wait_and_a_link_without_rate_none_at_all() -> None:
    assert longest_time(Direction(1_000_000, 5000)) == LongestTime(5, 1514 * 8 / 1000, None)
    assert longest_time(Direction(delay_us=5000, jitter_us=1000)) == LongestTime(6, 0, None)


@given(gaps_ms=st.lists(st.integers(0, 12), min_size=1, max_size=8).filter(any), queue_packets=st.integers(1, 20))
def test_over_any_trace_the_longest_time_is_that_of_a_flood(gaps_ms: list[int], queue_packets: int) -> None:
    """Packets as large as a chance, handed over right behind each one, so that one waits as long as can be."""
    trace = Trace("any", tuple(accumulate(gaps_ms)))
    direction = Direction(trace=trace, delay_us=3000, queue_bytes=queue_packets * 1500)
    found_ms = max(flooded_ms(direction, for_us=3000 * trace.period_ms, every_us=1000, size_bytes=1500))
    assert found_ms == pytest.approx(3 + longest_leaving_ms(direction, queue_packets * 1500), abs=0.0011)


def test_jitter_that_keeps_the_order_moves_the_median_under_load_as_the_documentation_says() -> None:
    direction = Direction(20_000_000, 15_000, 1514, jitter_us=8_000)
    assert median(flooded_ms(direction, for_us=12_000_000, every_us=606)) == pytest.approx(20.4, abs=0.15)
    assert median(flooded_ms(direction, for_us=2_000_000_000, every_us=100_000)) == pytest.approx(15.6, abs=0.15)


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_files_stand_alone_and_are_the_same_again(suffix: str, tmp_path: Path) -> None:
    profiles = [ODD, catalog.load_profile("cdn")]
    write_networks_plot(profiles, tmp_path / f"a{suffix}", 1)
    drawn = (tmp_path / f"a{suffix}").read_text()
    assert drawn == render_networks(profiles, suffix, 1)
    assert drawn != render_networks(profiles, suffix, 2)
    assert "odd &lt;&amp;&gt;" in drawn
    assert "src=" not in drawn
    assert "<script" not in drawn
    for word in ("Rate over time", "Delays of 2000 packets", "Losses of seed 1", "in a full queue"):
        assert word in drawn


def test_an_svg_is_xml_with_finite_numbers_and_words_for_those_who_cannot_see_it() -> None:
    root = ET.fromstring(render_networks(catalog.profiles(), ".svg", 1).split("\n", 1)[1])
    labels = [item.get("aria-label", "") for item in root.iter() if item.get("role") == "img"]
    assert len(labels) == len(catalog.profiles())
    assert all("down:" in label and "up:" in label for label in labels)
    for item in root.iter():
        for key in ("x", "y", "width", "height"):
            assert math.isfinite(float(item.get(key, "0")))


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_signs_that_no_document_can_hold_are_replaced(suffix: str) -> None:
    drawn = render_networks([replace(ODD, name="a\x01b\ufffec\x0bd\ud800")], suffix, 1)
    assert "a\ufffdb\ufffdc\ufffdd" in drawn
    assert drawn.encode()
    if suffix == ".svg":
        ET.fromstring(drawn.split("\n", 1)[1])


def test_long_descriptions_stay_in_their_column() -> None:
    """At 6.7 pixels a letter, which is what the widest usual fonts take."""
    talkative = replace(SHAKEN, keeps_order=False, reorder_ratio=0.0123, duplicate_ratio=0.0123, overhead_bytes=42)
    talkative = replace(talkative, codel=CoDel(12_500, 123_500), loss=GilbertElliott(0.0041, 0.213, 0.9, 0.001))
    traced = replace(talkative, rate_bps=None, trace=Trace("traces/of-a-very-" + 80 * "long-" + "name", (10, 100)))
    for direction in (talkative, traced):
        words = direction_text(direction)
        assert len(words) > 160
        lines = words_in_lines(direction)
        assert "".join(lines).replace(" ", "") == words.replace(" ", "")
        assert max(map(len, lines)) * 6.7 < COLUMN_WIDTH
        assert not any(line.startswith(("ms", "%", "kB", "Mbit/s")) for line in lines)


def words_in_lines(direction: Direction) -> list[str]:
    """The description of a direction, as drawn below its heading."""
    heading = picture_of(Profile("x", "", "", direction, Direction()), 1).columns[0].shapes[0]
    return [item.text or "" for item in ET.fromstring(heading).iter("text") if item.get("class") == "faint"]


def test_a_page_has_a_drawing_for_each_direction_that_may_go_below_the_other() -> None:
    page = render_networks([ODD], ".html", 1)
    assert html_problems(page) == []
    assert page.count("<svg") == 2
    assert 'aria-label="odd &lt;&amp;&gt;, down: ' in page
    assert 'aria-label="odd &lt;&amp;&gt;, up: ' in page


def test_a_few_very_late_packets_do_not_flatten_the_picture_of_the_others() -> None:
    gap = Direction(trace=Trace("gap", (*range(1, 970), 1000)), delay_us=5_000, jitter_us=2_000)
    drawn = render_networks([Profile("gap", "", "", gap, gap)], ".svg", 1)
    assert re.search(r"\d+ more come later, after \d\d ms at most", drawn)
    assert "come later" not in render_networks([ODD], ".svg", 1)


def test_another_kind_of_file_is_refused() -> None:
    with pytest.raises(UsageError, match=r"\.png"):
        render_networks([ODD], ".png", 1)
