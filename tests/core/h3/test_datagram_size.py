"""The search for the largest datagram that a path carries: what it settles at, and that nothing stalls it."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.datagram_size import (
    BASE_BYTES,
    HOLD_S,
    MAX_BYTES,
    MAX_PROBES,
    MAX_SIGNS,
    RAISE_S,
    STEP_BYTES,
    SizeSearch,
)

SIZES = st.integers(BASE_BYTES, MAX_BYTES)
RTT_S = 0.05


class Path:
    """A path that carries datagrams of up to `carried_bytes`, losing some by chance, and a sender that is never idle."""

    def __init__(self, limit_bytes: int, carried_bytes: int, loss_ratio: float = 0.0, seed: int = 0) -> None:
        self.search = SizeSearch(limit_bytes)
        self.carried_bytes = carried_bytes
        self.loss_ratio = loss_ratio
        self.now_s = 0.0
        self.probes: list[int] = []
        self._random = random.Random(seed)

    def arrives(self, size_bytes: int) -> bool:
        return size_bytes <= self.carried_bytes and self._random.random() >= self.loss_ratio

    def run(self, seconds: float) -> Path:
        """In each round trip: a few datagrams of the present size, and a probe if one is wanted."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self._round_trip()
        return self

    def _round_trip(self) -> None:
        search, sent_s = self.search, self.now_s
        probe = search.next_probe_bytes(sent_s)
        if probe is not None:
            assert search.size_bytes < probe <= search.limit_bytes
            self.probes.append(probe)
            search.probe_sent(probe)
            assert search.next_probe_bytes(sent_s) is None, "one at a time"
        self.now_s += RTT_S
        size = search.size_bytes
        arrived = [self.arrives(size) for _ in range(4)]
        if size > BASE_BYTES:
            if any(arrived):
                search.arrived()
            else:
                search.timed_out(self.now_s)
            for _ in range(arrived.count(False)):
                search.lost(sent_s, self.now_s)
        if probe is not None:
            if self.arrives(probe):
                search.probe_acknowledged(self.now_s)
            else:
                search.probe_lost(self.now_s)


def is_settled(path: Path) -> bool:
    """At the largest size that is allowed and carried, as closely as the search looks."""
    most_bytes = min(path.search.limit_bytes, path.carried_bytes)
    return most_bytes - STEP_BYTES < path.search.size_bytes <= most_bytes


@given(limit=SIZES, carried=SIZES)
def test_it_settles_at_the_largest_size_that_is_carried_within_seconds(limit: int, carried: int) -> None:
    path = Path(limit, carried).run(10.0)
    assert is_settled(path)
    assert not path.search.is_searching
    assert len(path.probes) <= 60
    probes = len(path.probes)
    path.run(60.0)
    assert len(path.probes) == probes, "what is settled is left alone"


@given(limit=SIZES, before=SIZES, after=SIZES, moment_s=st.floats(0.0, 20.0))
def test_a_black_hole_is_noticed_within_round_trips_and_the_size_behind_it_is_found(
    limit: int, before: int, after: int, moment_s: float
) -> None:
    path = Path(limit, before).run(moment_s)
    path.carried_bytes = after
    path.run(MAX_SIGNS * RTT_S + 2 * RTT_S)
    assert path.search.size_bytes <= after or path.search.size_bytes == BASE_BYTES
    path.run(HOLD_S + RAISE_S + 20.0)
    assert is_settled(path)


@given(limit=SIZES, carried=SIZES, loss=st.sampled_from([0.01, 0.1, 0.3]), seed=st.integers(0, 99))
def test_random_loss_never_takes_it_beyond_the_path_and_it_looks_again(
    limit: int, carried: int, loss: float, seed: int
) -> None:
    path = Path(limit, carried, loss, seed)
    path.run(5.0)
    assert BASE_BYTES <= path.search.size_bytes <= max(BASE_BYTES, min(limit, carried))
    path.loss_ratio = 0.0
    path.run(2 * RAISE_S + 20.0)
    assert is_settled(path)


def test_a_size_is_given_up_after_three_lost_probes_and_not_before() -> None:
    search = SizeSearch(1472)
    for _ in range(MAX_PROBES):
        assert search.next_probe_bytes(0.0) == 1472
        search.probe_sent(1472)
        search.probe_lost(0.0)
    assert search.next_probe_bytes(0.0) == 1452


def test_losses_of_one_burst_are_one_sign_of_a_black_hole() -> None:
    search = SizeSearch(1472)
    search.probe_sent(1472)
    search.probe_acknowledged(0.1)
    for _ in range(100):
        search.lost(sent_s=0.2, now_s=0.3)
    assert search.size_bytes == 1472
    for now_s in (0.4, 0.5):
        search.lost(sent_s=now_s, now_s=now_s)
    assert search.size_bytes == BASE_BYTES


def test_an_acknowledged_large_datagram_ends_the_suspicion() -> None:
    search = SizeSearch(1472)
    search.probe_sent(1472)
    search.probe_acknowledged(0.0)
    for now_s in range(1, 50):
        search.timed_out(now_s)
        search.lost(now_s, now_s)
        search.arrived()
    assert search.size_bytes == 1472


def test_a_path_that_carries_probes_only_is_tried_ever_more_rarely() -> None:
    search = SizeSearch(1472)
    now_s, falls = 0.0, []
    while now_s < 3000:
        now_s += 0.1
        if search.size_bytes > BASE_BYTES:
            search.timed_out(now_s)
            if search.size_bytes == BASE_BYTES:
                falls.append(now_s)
        elif (size := search.next_probe_bytes(now_s)) is not None:
            search.probe_sent(size)
            search.probe_acknowledged(now_s)
    pauses = [later - earlier for earlier, later in itertools.pairwise(falls)]
    assert all(later > earlier - 0.2 for earlier, later in itertools.pairwise(pauses))
    assert pauses[0] > HOLD_S
    assert pauses[-1] >= RAISE_S


@pytest.mark.parametrize("found", [False, True])
def test_a_size_that_the_system_refuses_is_the_limit_from_then_on(found: bool) -> None:
    search = SizeSearch(9000)
    search.probe_sent(1472)
    search.probe_acknowledged(0.0)
    assert search.next_probe_bytes(0.0) == 9000
    search.probe_sent(9000)
    if found:
        search.probe_acknowledged(0.0)
    search.refused(9000, 0.1)
    assert search.size_bytes == (BASE_BYTES if found else 1472)
    assert search.limit_bytes == 8999
    assert search.next_probe_bytes(0.1) is not None


def test_the_base_size_is_never_refused_or_fallen_from() -> None:
    search = SizeSearch(1472)
    search.refused(BASE_BYTES, 0.0)
    for now_s in range(10):
        search.timed_out(now_s)
        search.lost(now_s, now_s)
    assert (search.size_bytes, search.limit_bytes) == (BASE_BYTES, 1472)
    assert search.next_probe_bytes(10.0) == 1472


@pytest.mark.parametrize("limit", [0, 1199, BASE_BYTES])
def test_nothing_is_tried_where_the_limit_is_the_base_size(limit: int) -> None:
    assert SizeSearch(limit).next_probe_bytes(1e6) is None


def test_a_new_path_is_searched_from_the_base_and_earlier_answers_do_not_count() -> None:
    search = SizeSearch(1472)
    search.probe_sent(1472)
    search.restart()
    search.probe_acknowledged(0.1)
    assert search.size_bytes == BASE_BYTES
    assert search.next_probe_bytes(0.1) == 1472
