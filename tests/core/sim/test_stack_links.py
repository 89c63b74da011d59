"""Rung `stack` over links that do more than delay and lose: all of it in virtual time, the same every time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.sim._client import PacketsByNumber
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.record import Recorder
from mixedsched.core.sim.stack import play_stack
from mixedsched.model.page import Page
from mixedsched.model.profile import CoDel, Direction, GilbertElliott, Profile, RandomLoss, Trace
from mixedsched.world import catalog
from tests.core.sim.pages import page, resource, scheme

PAGE = page(
    resource("html", 20_000, kind="document"), *(resource(f"r{index}", 40_000, "html@100") for index in range(6))
)
SMALL = page(resource("html", 20_000, kind="document"), resource("r0", 40_000, "html@100"))


def play(over: Profile, seed: int = 1, made: Page = PAGE) -> PlayedLoad:
    return play_stack(Discoveries.of(made), scheme("eps"), over, seed=seed)


def network(**says: Any) -> Profile:
    direction = Direction(**{"rate_bps": 4_000_000, "delay_us": 30_000, **says})
    return Profile("made-up", "", "", direction, direction)


FEATURES: dict[str, dict[str, Any]] = {
    "token bucket": {"burst_bytes": 10_000, "queue_bytes": 30_000},
    "CoDel": {"codel": CoDel(), "queue_bytes": 200_000},
    "burst loss": {"loss": GilbertElliott(0.01, 0.2)},
    "jitter": {"jitter_us": 8_000},
    "jitter that reorders": {"jitter_us": 8_000, "keeps_order": False},
    "overtaking": {"reorder_ratio": 0.05},
    "duplicates": {"duplicate_ratio": 0.1},
    "trace": {"rate_bps": None, "trace": Trace("t", (1, 2, 3, 4, 50, 51, 52, 53, 60)), "queue_bytes": 50_000},
    "Ethernet headers": {"overhead_bytes": 42},
    "everything": {
        "burst_bytes": 3_000,
        "queue_bytes": 40_000,
        "codel": CoDel(2_000, 20_000),
        "loss": GilbertElliott(0.01, 0.3),
        "jitter_us": 20_000,
        "keeps_order": False,
        "reorder_ratio": 0.02,
        "duplicate_ratio": 0.02,
    },
}


@pytest.mark.parametrize("feature", FEATURES)
def test_a_page_loads_whole_and_twice_the_same(feature: str) -> None:
    first, second = (play(network(**FEATURES[feature]), seed=3) for _ in range(2))
    assert Recorder(first.page).record(first) == Recorder(second.page).record(second)
    assert len(first.resources) == len(PAGE.resources)


def test_duplicates_cost_nothing_but_room_on_the_last_mile() -> None:
    plain, twice = play(network()), play(network(duplicate_ratio=1.0))
    assert twice.facts["link_down"]["duplicated"] == twice.facts["link_down"]["packets"]
    # A few datagrams carry two QUIC packets; a copy is no packet seen.
    assert twice.facts["packets_seen"] == pytest.approx(twice.facts["link_down"]["packets"], abs=10)
    assert (twice.facts["packets_lost"], twice.hol_bytes, twice.facts["retransmitted_bytes"]) == (0, 0, 0)
    assert twice.finished_ms == pytest.approx(plain.finished_ms, rel=0.1)


def test_reordering_alone_blocks_nothing() -> None:
    load = play(network(jitter_us=2_000, keeps_order=False))
    facts = load.facts
    assert facts["packets_lost"] <= 2, "what is still under way when the page is complete"
    assert load.hol_bytes <= 2 * 40_000
    lossy = play(network(jitter_us=2_000, keeps_order=False, loss=RandomLoss(0.03)))
    assert lossy.hol_bytes > 0
    assert lossy.facts["packets_lost"] == pytest.approx(lossy.facts["link_down"]["lost"], abs=2)


def test_codel_drops_where_drop_tail_would_let_waits_grow() -> None:
    deep = {"rate_bps": 2_000_000, "queue_bytes": 300_000}
    tail, codel = play(network(**deep)), play(network(**deep, codel=CoDel(2_000, 20_000)))
    counts = codel.facts["link_down"]
    assert counts["dropped_by_aqm"] > 0
    assert codel.facts["packets_lost"] == counts["dropped_by_aqm"]
    assert counts["highest_queue_bytes"] <= tail.facts["link_down"]["highest_queue_bytes"]


def test_headers_of_the_link_count_in_bytes() -> None:
    bare, framed = (play(network(rate_bps=None, overhead_bytes=size)).facts["link_down"] for size in (0, 42))
    assert framed["packets"] == bare["packets"]
    assert framed["bytes"] == bare["bytes"] + 42 * bare["packets"]


def test_the_facts_show_every_counter() -> None:
    assert set(play(network()).facts["link_up"]) == {
        "packets",
        "bytes",
        "overflowed",
        "lost",
        "dropped_by_aqm",
        "duplicated",
        "reordered",
        "highest_queue_bytes",
    }


@pytest.mark.parametrize("profile", catalog.profiles(), ids=lambda profile: profile.name)
def test_a_page_loads_over_every_network_of_the_project(profile: Profile) -> None:
    load = play(profile, made=SMALL)
    assert [item.id for item in load.resources] == ["html", "r0"]
    assert load.facts["link_down"]["bytes"] > 60_000


@given(st.permutations(range(12)), st.sets(st.integers(0, 11)))
def test_packets_are_counted_by_number_however_they_come(order: list[int], lost: set[int]) -> None:
    told: list[int] = []
    by_number = PacketsByNumber(lambda number, _: told.append(number))
    for number in order:
        if number not in lost:
            by_number.take(number, [])
    by_number.finish()
    assert told == sorted(set(order) - lost)


def test_what_comes_too_late_to_be_put_in_order_is_left_out() -> None:
    told: list[int] = []
    by_number = PacketsByNumber(lambda number, _: told.append(number), max_held=2)
    for number in (1, 2, 3, 0, 4):
        by_number.take(number, [])
    by_number.finish()
    assert told == [1, 2, 3, 4]
