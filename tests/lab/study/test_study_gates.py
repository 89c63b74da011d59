"""Gates of a study: every place gets blocks until it is decided, and all places together share the error rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mixedsched.core.stats import Looks
from mixedsched.errors import ExitCode, UsageError
from mixedsched.lab.gates import Gate, GateVerdict
from mixedsched.lab.study.gates import StudyQuestions, exit_code
from mixedsched.lab.study.results import StudyResult, study_results
from mixedsched.lab.study.session import run_study
from tests.lab.study.made_up_study import MadeUpStudy, made_up_definition
from tests.lab.study.small import quick_study, small_study

GATE = "lcp > +2%"


def asked(*conditions: str, looks: Looks | None = None) -> StudyQuestions:
    return StudyQuestions(looks, tuple(Gate.parse(condition) for condition in conditions))


def results(made: MadeUpStudy, questions: StudyQuestions) -> StudyResult:
    return study_results(made.study, made.places, made.counts, made.loads(), questions)


def verdicts(result: StudyResult) -> dict[tuple[str, str], str]:
    assert all(item.place is not None for item in result.gates)
    return {(item.place[0], item.effect.arm): item.verdict.value for item in result.gates if item.place is not None}


def test_each_place_and_arm_has_its_own_answer() -> None:
    made = MadeUpStudy(made_up_definition(blocks=16), factors={("shop", "mixed"): 1.2, "eps": 0.8}, noise=0.005)
    for looks in (None, Looks(8, 16)):
        result = results(made, asked(GATE, looks=looks))
        found = verdicts(result)
        assert found["shop", "mixed"] == "failed"
        assert {found[site, "eps"] for site in ("shop", "blog", "news")} == {"met"}
        assert exit_code(result.questions, result.gates, result.places) is ExitCode.GATE
        (first, *_) = result.to_dict()["gates"]
        assert {"site", "link", "condition", "verdict"} <= first.keys()


def test_more_places_make_each_answer_harder_to_get() -> None:
    study = made_up_definition(blocks=8)
    alone = MadeUpStudy(study, sites=["shop"], factors={"mixed": 1.5, "eps": 1.5}, noise=0.001)
    many = MadeUpStudy(study, sites=[f"site{number}" for number in range(20)], factors=alone.factors, noise=0.001)
    for looks in (None, Looks(4, 8)):
        assert set(verdicts(results(alone, asked(GATE, looks=looks))).values()) == {"failed"}
        assert set(verdicts(results(many, asked(GATE, looks=looks))).values()) == {"undecided"}


def test_where_nothing_is_random_one_block_decides() -> None:
    made = MadeUpStudy(made_up_definition(blocks=1), is_exact=True, factors={"mixed": 1.1, "eps": 1.0}, noise=0)
    result = results(made, asked(GATE, looks=Looks(8, 24)))
    assert {arm: verdict for (_, arm), verdict in verdicts(result).items()} == {"mixed": "failed", "eps": "met"}
    assert result.undecided() == []


def test_a_place_without_a_complete_block_is_undecided() -> None:
    made = MadeUpStudy(made_up_definition())
    result = study_results(made.study, made.places, made.counts, [], asked(GATE))
    assert len(result.undecided()) == 3
    assert exit_code(result.questions, result.gates, result.places) is ExitCode.INVALID_RUNS


def test_questions_are_stored_as_they_were_asked() -> None:
    for questions in (asked(), asked(GATE, looks=Looks(8, 24))):
        assert StudyQuestions.from_dict(questions.to_dict()) == questions
    assert StudyQuestions.from_dict({}) == asked(), "as in studies of earlier versions"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("decided", 6, (), 30), "can never decide"),
        ((None, 20, (), 3), "goes with --until"),
        (("decided", 24, ("cls > 0.05",), 3), "asks for what the study does not decide"),
        ((None, None, ("lcp > 2",), 3), "wrong unit"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[Any, ...], said: str) -> None:
    until, most, gates, places = arguments
    with pytest.raises(UsageError, match=said):
        StudyQuestions.of(made_up_definition(blocks=6), until, most, gates, places)


def test_what_no_study_can_have_is_refused_even_where_nothing_is_random() -> None:
    """There a block decides, but nobody means fewer blocks at most than at least."""
    pipe = made_up_definition(blocks=6)
    assert StudyQuestions.of(pipe, "decided", 7, (), 0).looks is None, "seven are too few for nothing"
    with pytest.raises(UsageError, match="at least 6 and at most 5"):
        StudyQuestions.of(pipe, "decided", 5, (), 0)


def test_rounds_begin_with_the_least_and_end_with_the_most() -> None:
    assert list(asked(looks=Looks(8, 13)).rounds(8)) == [8, 10, 12, 13]
    assert list(asked(looks=Looks(1, 3)).rounds(1)) == [1, 2, 3]
    assert list(asked().rounds(5)) == [5]


def test_places_that_are_decided_get_no_more_blocks(tmp_path: Path) -> None:
    study = small_study(tmp_path, arms=["sequential", "stock"], links=["wifi-lossy"], blocks=8)
    options: dict[str, Any] = {"until": "decided", "max_blocks": 9, "fail_if": ["lcp > +1%"], "jobs": 1}
    found = run_study(study, folder=tmp_path / "out", **options)
    blocks = {place.site: len(place.blocks) for place in found.places}
    undecided = {place.site for place in found.undecided()}
    assert 0 < len(undecided) < len(blocks)
    assert blocks == {site: 9 if site in undecided else 8 for site in blocks}
    assert {item.place[0] for item in found.gates if item.verdict is GateVerdict.UNDECIDED and item.place} == undecided
    again = run_study(study, folder=tmp_path / "out", **options)
    assert again.to_dict() == found.to_dict(), "told again, not made again"
    with pytest.raises(UsageError, match="begun with another --until"):
        run_study(study, folder=tmp_path / "out", until="decided", max_blocks=20, jobs=1)


def test_that_blocks_are_too_few_for_gates_of_all_places_is_said_before_they_are_made(tmp_path: Path) -> None:
    said: list[str] = []
    study = small_study(tmp_path, arms=["sequential", "nip"], links=["wifi-lossy"], blocks=1)
    run_study(study, folder=tmp_path / "out", fail_if=["lcp > +2%"], jobs=1, say=said.append)
    assert said == ["warning: 1 block can never decide 3 questions of gates: 7 at least are needed"]


def test_on_rung_pipe_every_place_is_decided_by_its_only_block(tmp_path: Path) -> None:
    study = quick_study(tmp_path)
    found = run_study(study, folder=tmp_path / "out", until="decided", fail_if=["lcp > +1000%"], jobs=1)
    assert {len(place.blocks) for place in found.places} == {1}
    assert exit_code(found.questions, found.gates, found.places) is ExitCode.DONE
