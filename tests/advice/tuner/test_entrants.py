"""Who is measured: the promising, the baselines in order of interest, and always sequential delivery."""

from __future__ import annotations

from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.contest import all_contenders, by_headers, entrants, finalists, plain_eps, promising
from mixedsched.advice.tuner.result import Role, Scored
from mixedsched.advice.tuner.scoring import BASELINES
from mixedsched.advice.tuner.search import SearchResult
from mixedsched.core.metrics.paint import PaintEstimate

PAINTS = {"4g": PaintEstimate(500, 1000, 800)}


def scored(candidate: Candidate, score: float, penalty: float = 0.0) -> Scored:
    return Scored(candidate, score, penalty, PAINTS)


FOUND = SearchResult(
    rungs=(),
    best=(
        scored(Candidate("nip"), -0.2),
        scored(Candidate("ip"), -0.1),
        scored(Candidate("firefox-tree"), -0.001),
        scored(BASELINES["mixed"], 0.5),
    ),
    baselines={
        label: scored(BASELINES[label], score, penalty)
        for label, score, penalty in (("sequential", 0.1, 0), ("stock", 0.3, 0), ("eps", 0.0, 0), ("mixed", 0.5, 0.004))
    },
    best_baseline="eps",
)


def test_promising_is_what_gains_enough_and_is_no_baseline_itself() -> None:
    assert [item.candidate.scheme for item in promising(FOUND)] == ["nip", "ip"]


def test_entrants_come_in_order_of_interest() -> None:
    labels = [item.label for item in entrants(FOUND, promising(FOUND))]
    assert labels == ["tuned", "eps", "sequential", "tuned 2", "stock", "mixed"]


def test_the_proof_has_the_winner_the_best_baseline_and_sequential_before_what_is_shipped() -> None:
    everyone = entrants(FOUND, promising(FOUND))
    shipped = [plain_eps("headers", Role.HEADERS)]
    found = finalists(everyone, "tuned 2", "stock", shipped, FOUND.baselines)
    assert [item.label for item in found] == ["tuned 2", "stock", "sequential", "headers"]
    assert found[0].candidate.scheme == "ip"


def test_headers_that_say_all_of_the_winner_are_loaded_in_its_place() -> None:
    hurried = Change(Action.HEADER, ((0, "/hero.jpg"),), "the largest paint", "u=0, i=?0")
    shipped = [plain_eps("headers", Role.HEADERS, [hurried]), plain_eps("html", Role.HTML)]
    winner, *others = by_headers(finalists(entrants(FOUND, promising(FOUND)), "tuned 2", "stock", shipped, {}))
    assert (winner.label, winner.role, winner.changes) == ("tuned 2", Role.TUNED, (hurried,))
    assert (winner.candidate.scheme, winner.is_by_headers) == ("eps", True)
    assert [item.label for item in others] == ["stock", "sequential", "html"]
    assert not any(item.is_by_headers for item in others)


def test_where_sequential_is_the_best_baseline_the_next_one_must_be_beaten_too() -> None:
    everyone = entrants(FOUND, promising(FOUND))
    shipped = [plain_eps("headers", Role.HEADERS)]
    found = finalists(everyone, "tuned", "sequential", shipped, FOUND.baselines)
    assert [item.label for item in found] == ["tuned", "sequential", "eps", "headers"]


def test_baselines_that_did_not_race_are_proved_all_the_same() -> None:
    found = finalists(entrants(FOUND, promising(FOUND))[:1], "tuned", "eps", [], FOUND.baselines)
    assert [item.label for item in found] == ["tuned", "eps", "sequential"]


def test_of_race_and_proof_each_is_told_as_the_proof_loaded_it() -> None:
    hurried = Change(Action.HEADER, ((0, "/hero.jpg"),), "the largest paint", "u=0, i=?0")
    racing = entrants(FOUND, promising(FOUND))
    proved = by_headers(finalists(racing, "tuned 2", "stock", [plain_eps("headers", Role.HEADERS, [hurried])], {}))
    told = all_contenders(proved, racing, "tuned 2")
    assert [item.label for item in told] == ["tuned 2", "stock", "sequential", "tuned", "eps", "mixed"]
    assert told[0].is_by_headers
    assert all_contenders((), racing, "tuned 2")[0].candidate.scheme == "ip"
