"""The scheme finder: who wins, who ties, what one scheme everywhere costs, and what is not known."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.finder.regret import cost_ms, find
from mixedsched.advice.finder.result import FinderResult, PlaceName
from mixedsched.core.metrics.paint import PaintEstimate
from tests.examples import examples

LCP = {"lcp_ms": 1.0}
Times = dict[tuple[str, str, str], Sequence[float | None]]


def load(lcp_ms: float | None) -> PaintEstimate | None:
    return PaintEstimate(lcp_ms / 2, lcp_ms, lcp_ms * 0.8) if lcp_ms is not None else None


def found(times: Times, random_networks: Sequence[str] = (), seed: int = 1) -> FinderResult:
    loads = {key: [load(value) for value in values] for key, values in times.items()}
    return find(loads, LCP, random_networks, random.Random(seed))


def still(**by_scheme: float | None) -> Times:
    """One site on one network without randomness."""
    return {("shop", "dsl", scheme): [value] for scheme, value in by_scheme.items()}


def test_the_scheme_with_the_earliest_paint_wins_and_others_regret_by_the_ratio() -> None:
    place = found(still(rr=1500.0, eps=1000.0, fifo=1100.0)).places[0]
    assert place.winner == "eps"
    assert [item.regret_pct for item in place.schemes] == pytest.approx([50.0, 0.0, 10.0])
    assert place.ties == ()


def test_where_nothing_is_random_one_per_cent_ties_and_more_does_not() -> None:
    place = found(still(eps=1000.0, near=1009.0, off=1012.0)).places[0]
    assert place.ties == ("near",)
    assert place.tie_pct == pytest.approx(1.0, abs=0.01)


def test_of_equals_the_first_one_named_wins_and_the_other_ties() -> None:
    place = found(still(b=1000.0, a=1000.0)).places[0]
    assert (place.winner, place.ties) == ("b", ("a",))


def test_what_all_schemes_share_in_a_seed_is_no_noise() -> None:
    """A network that is bad in one seed is bad for everyone; 5 % between schemes still counts."""
    shared = (1.0, 3.0, 1.4, 0.7)
    times = {("s", "lossy", name): [value * by for by in shared] for name, value in (("a", 1000.0), ("b", 1050.0))}
    place = found(times, ["lossy"]).places[0]
    assert (place.winner, place.ties) == ("a", ())
    assert place.of("b").regret_pct == pytest.approx(5.0)


def test_what_differs_less_than_its_noise_over_seeds_ties() -> None:
    noisy = {
        ("s", "lossy", "a"): [1000.0, 1300.0, 900.0, 1100.0],
        ("s", "lossy", "b"): [1200.0, 1000.0, 1150.0, 1050.0],
        ("s", "lossy", "far"): [9000.0, 9900.0, 8700.0, 9100.0],
    }
    place = found(noisy, ["lossy"]).places[0]
    assert place.winner == "a"
    assert place.ties == ("b",)


def test_ties_hold_the_true_best_in_most_of_many_noisy_places() -> None:
    """Two schemes are equal; 95 % intervals should call them tied in about 95 of 100 places."""
    rng = random.Random(7)
    times: Times = {}
    for site in range(200):
        for scheme in ("a", "b", "c"):
            slow = 1.5 if scheme == "c" else 1.0
            times[f"s{site}", "lossy", scheme] = [1000 * slow * math.exp(rng.gauss(0, 0.05)) for _ in range(4)]
    tied = sum(place.of("a").ties and place.of("b").ties for place in found(times, ["lossy"]).places)
    assert 0.91 <= tied / 200 <= 0.99


def test_with_a_single_seed_of_a_random_network_noise_is_said_to_be_unknown() -> None:
    times = {("s", "lossy", name): [value] for name, value in (("a", 1000.0), ("b", 1005.0))}
    assert not found(times, ["lossy"]).places[0].is_sure
    assert found(times).places[0].is_sure


def test_mean_and_worst_case_may_choose_different_schemes_and_both_are_told() -> None:
    times: Times = {}
    for site, bold, careful in (
        ("one", 1000.0, 1100.0),
        ("two", 1000.0, 1100.0),
        ("three", 1210.0, 1100.0),
        ("four", 1000.0, 1100.0),
    ):
        times |= {(site, "dsl", "bold"): [bold], (site, "dsl", "careful"): [careful], (site, "dsl", "ideal"): [None]}
    times["three", "dsl", "ideal"] = [1000.0]
    finding = found(times)
    assert finding.best_mean is not None
    assert finding.best_worst is not None
    assert finding.best_mean.scheme == "bold"
    assert finding.best_worst.scheme == "careful"
    assert finding.best_mean.figure_pct == pytest.approx((1.21 ** (1 / 4) - 1) * 100)
    assert finding.best_worst.figure_pct == pytest.approx(10.0)


def test_a_scheme_that_fails_is_counted_and_cannot_be_used_everywhere() -> None:
    times = {
        ("one", "dsl", "a"): [1000.0], ("one", "dsl", "b"): [None],
        ("two", "dsl", "a"): [3000.0], ("two", "dsl", "b"): [1000.0],
    }  # fmt: skip
    finding = found(times)
    b = next(item for item in finding.regrets if item.scheme == "b")
    assert (b.finished, b.failed_loads, b.wins) == (1, 1, 1)
    assert finding.regrets[-1] is b
    assert finding.best_mean is not None
    assert finding.best_mean.scheme == "a"
    assert finding.place("one", "dsl") is not None
    assert finding.places[0].winner == "a"


def test_where_no_load_ends_there_is_no_winner() -> None:
    finding = found(still(a=None, b=None))
    assert finding.places[0].winner is None
    assert finding.best_mean is None


def test_only_seeds_that_every_scheme_was_played_with_count() -> None:
    times = {("s", "lossy", "a"): [1000.0, 4000.0], ("s", "lossy", "b"): [1100.0]}
    place = found(times, ["lossy"]).places[0]
    assert (place.seeds, place.winner) == (1, "a")


def test_places_without_a_single_load_under_every_scheme_are_left_out_by_name() -> None:
    times = still(a=1000.0, b=1100.0) | {("late", "dsl", "a"): [900.0], ("late", "dsl", "b"): []}
    finding = found(times)
    assert finding.left_out == (PlaceName("late", "dsl"),)
    assert [place.site for place in finding.places] == ["shop"]


def many_sites(sites: int) -> Times:
    rng = random.Random(3)
    return {
        (f"s{site}", network, scheme): [base * rng.uniform(0.9, 1.1)]
        for site in range(sites)
        for network in ("dsl", "3g")
        for scheme, base in (("good", 1000.0), ("fair", 1100.0), ("bad", 3000.0))
    }


def test_the_bootstrap_says_how_far_the_answer_holds_for_other_sites() -> None:
    choice = found(many_sites(12)).best_mean
    assert choice is not None
    assert choice.scheme == "good"
    assert choice.share is not None
    assert choice.low_pct is not None
    assert choice.high_pct is not None
    assert 0.9 < choice.share <= 1.0
    assert choice.low_pct < choice.figure_pct < choice.high_pct


def test_two_sites_are_too_few_to_speak_of_others() -> None:
    choice = found(many_sites(2)).best_mean
    assert choice is not None
    assert (choice.low_pct, choice.high_pct, choice.share) == (None, None, None)


def test_each_network_has_regrets_of_its_own() -> None:
    times = {
        ("one", "dsl", "a"): [1000.0], ("one", "dsl", "b"): [1200.0],
        ("one", "3g", "a"): [3000.0], ("one", "3g", "b"): [2000.0],
    }  # fmt: skip
    by_network = found(times).by_network
    assert [item.scheme for item in by_network["dsl"]] == ["a", "b"]
    assert [item.scheme for item in by_network["3g"]] == ["b", "a"]


def test_own_weights_make_a_geometric_mean_of_paints() -> None:
    estimates = PaintEstimate(fcp_ms=100.0, lcp_ms=400.0, si_ms=5.0)
    assert cost_ms(estimates, {"lcp_ms": 1.0, "fcp_ms": 1.0}) == pytest.approx(200.0)
    assert cost_ms(estimates, LCP) == pytest.approx(400.0)


@examples(25)
@given(st.lists(st.lists(st.floats(10.0, 1e6), min_size=3, max_size=3), min_size=1, max_size=5), st.floats(0.1, 10.0))
def test_regret_is_never_negative_someone_has_none_and_faster_networks_change_nothing(
    rows: list[list[float]], factor: float
) -> None:
    times: Times = {
        (f"s{row}", "dsl", scheme): [value]
        for row, values in enumerate(rows)
        for scheme, value in zip("abc", values, strict=True)
    }
    plain = found(times)
    for place in plain.places:
        regrets = [item.regret_pct for item in place.schemes]
        assert min(item for item in regrets if item is not None) == 0.0
        assert place.winner is not None
        assert place.of(place.winner).ties
    scaled = found({key: [value * factor for value in values if value is not None] for key, values in times.items()})
    means = {item.scheme: item.mean_pct for item in scaled.regrets}
    for item in plain.regrets:
        assert means[item.scheme] == pytest.approx(item.mean_pct, rel=1e-6, abs=1e-6)


def test_the_same_loads_and_seed_give_the_same_answer_as_json_without_nan() -> None:
    first, again = (json.dumps(found(many_sites(5)).to_dict(), allow_nan=False) for _ in range(2))
    assert first == again
    facts = json.loads(first)
    assert len(facts["matrix"]) == 10
    assert facts["best_mean"]["scheme"] == "good"
    assert json.loads(json.dumps(found(still(a=None, b=None)).to_dict(), allow_nan=False))["best_mean"] is None
