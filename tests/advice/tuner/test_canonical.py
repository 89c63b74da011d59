"""Candidates that are called the same are the same: every packet, every time."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.tuner._canonical import canonical, enumerated, from_units
from mixedsched.advice.tuner.candidate import departures
from mixedsched.advice.tuner.space import CODES, OFF, Genome, Space
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import Task, play_whole
from mixedsched.model.profile import Direction, Profile, RandomLoss
from tests.advice.tuner.pages import made_up_page, shop
from tests.examples import examples

NETWORK = Profile(
    "quick", "", "", Direction(rate_bps=8_000_000, delay_us=10_000, loss=RandomLoss(0.02)), Direction(delay_us=10_000)
)
TABLES = ("eps", "nip", "mixed", "ip")


def anything(space: Space, rng: random.Random) -> Genome:
    """A candidate drawn evenly, urgencies few so that ties are common."""
    family = rng.randrange(len(space.families))
    codes = rng.choice((4, 6, CODES))
    return Genome(
        family,
        tuple(rng.randrange(len(step.values)) for step in space.families[family].steps),
        tuple(rng.randrange(codes) for _ in space.cells),
        tuple(rng.choice((OFF, rng.randrange(codes))) for _ in space.targets),
    )


@examples(40)
@given(seed=st.integers(0, 10**6))
def test_the_canonical_form_of_a_candidate_is_played_exactly_like_it(seed: int) -> None:
    page = made_up_page(seed, resources=7)
    space = Space.of([page], TABLES)
    genome = anything(space, random.Random(seed))
    scenario = Scenario(page, NETWORK)
    ours = play_whole(Task(scenario.on_pipe, space.candidate(genome)))
    theirs = play_whole(Task(scenario.on_pipe, space.candidate(canonical(space, genome))))
    assert ours.order == theirs.order
    assert ours.resources == theirs.resources


@pytest.mark.parametrize("scheme", TABLES)
def test_on_rung_stack_with_losses_too(scheme: str) -> None:
    page = shop()
    space = Space.of([page], (scheme,))
    genome = anything(space, random.Random(f"stack {scheme}"))
    scenario = Scenario(page, NETWORK)
    ours = play_whole(Task(scenario, space.candidate(genome), 3))
    theirs = play_whole(Task(scenario, space.candidate(canonical(space, genome)), 3))
    assert ours.order == theirs.order
    assert ours.resources == theirs.resources


@examples(40)
@given(seed=st.integers(0, 10**6))
def test_it_is_its_own_canonical_form_and_departs_no_more(seed: int) -> None:
    page = made_up_page(seed, resources=9)
    space = Space.of([page], TABLES)
    genome = anything(space, random.Random(seed))
    form = canonical(space, genome)
    assert canonical(space, form) == form
    if not space.targets:
        assert departures(space.candidate(form), [page]) <= departures(space.candidate(genome), [page])


@examples(40)
@given(seed=st.integers(0, 10**6), shift=st.integers(1, 3))
def test_the_order_of_urgencies_is_all_that_counts_to_eps(seed: int, shift: int) -> None:
    rng = random.Random(seed)
    space = Space.of([made_up_page(seed)], ("eps",))
    low = [rng.randrange(5) for _ in space.units]
    flags = [rng.randrange(2) for _ in space.units]
    usual = space.usual(0)
    one = from_units(space, usual, [2 * level + flag for level, flag in zip(low, flags, strict=True)])
    other = from_units(space, usual, [2 * (level + shift) + flag for level, flag in zip(low, flags, strict=True)])
    assert canonical(space, one) == canonical(space, other)


def test_every_order_with_ties_and_flags_is_enumerated_once() -> None:
    space = Space.of([made_up_page(4, resources=4, looks=4)], ("eps",))
    found = enumerated(space, 0, 50_000)
    assert found is not None
    assert len(set(found)) == len(found)
    assert [canonical(space, genome) for genome in found] == found
    rng = random.Random(1)
    assert all(canonical(space, anything(space, rng)) in set(found) for _ in range(200))


def test_a_large_family_is_not_enumerated() -> None:
    space = Space.of([shop()], ("mixed",))
    assert enumerated(space, 0, 50_000) is None
