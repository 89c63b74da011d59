"""What lies in a folder of results."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.lab.results import owned
from mixedsched.lab.underway import WorkEnd
from mixedsched.report.view import SUMMARY_NAME, ResultKind, summary_of, write_summary
from mixedsched.report.view._history import histories
from mixedsched.report.view.folders import Folder, Shelf, State
from tests.command import HOME
from tests.lab.study.made_up_study import ARMS, MadeUpStudy, load, made_up_definition
from tests.report.view.made_up_folders import DAY_S, comparison, write_compare, write_record

COMMITTED = {
    ResultKind.TUNE: HOME / "results/tuned/agency-slow-4g/tune.json",
    ResultKind.FINDER: HOME / "results/finder/finder.json",
    ResultKind.CALIBRATE: HOME / "results/calibration/calibration.json",
    ResultKind.COMPARE: HOME / "results/agency-4g/result.json",
}
AUDIT: dict[str, Any] = {
    "site": "shop", "form_factor": "mobile", "verdict": "improvable", "chosen": "a", "blocks": {"complete": 6, "planned": 6},
    "networks": [{"name": "4g", "effects": [{**comparison(arms=["a"])["effects"][0], "baseline_arm": "today"}]}],
}  # fmt: skip


def only(root: Path) -> Folder:
    (folder,) = Shelf(root).look()
    return folder


@pytest.mark.parametrize("kind", COMMITTED)
def test_results_of_every_command_are_told_in_a_few_lines(kind: ResultKind) -> None:
    summary = summary_of(kind, json.loads(COMMITTED[kind].read_text()))
    assert summary.kind is kind
    assert summary.subject
    assert summary.networks
    assert summary.verdict
    assert all(summary.sentences)


def test_an_effect_is_a_sentence() -> None:
    (effect, *_) = summary_of(ResultKind.COMPARE, comparison(change=-5.0)).effects
    assert effect.sentence == "mixed: LCP 5.0 % sooner than sequential (−6.5 % to −3.5 %)"
    (effect, *_) = summary_of(ResultKind.AUDIT, AUDIT).effects
    assert effect.sentence == "a: LCP 5.0 % sooner than today (−6.5 % to −3.5 %)"


@pytest.mark.parametrize(
    ("sites", "factor", "verdict"),
    [(8, 0.9, "better"), (8, 0.99, "equivalent"), (8, 1.1, "worse"), (3, 0.9, "better"), (3, 0.99, "equivalent")],
)
def test_a_study_has_the_verdicts_of_its_report(sites: int, factor: float, verdict: str) -> None:
    made = MadeUpStudy(made_up_definition(), [f"site{number}" for number in range(sites)], is_exact=True)
    result = made.result(
        load(place, 1, arm, {"lcp_ms": 1000.0 * (factor if arm == "mixed" else 1.0)})
        for place in made.places
        for arm in ARMS
    )
    effects = summary_of(ResultKind.STUDY, result.to_dict()).effects
    assert [item.verdict for item in effects if not item.site] == [verdict, "equivalent"]  # of mixed and eps
    assert [item.verdict.value for item in result.summaries if item.is_primary] == [verdict, "equivalent"]


@pytest.mark.parametrize(
    ("changes", "tone", "words"),
    [
        ((-5.0, 1.0), "better", "1 better, 1 undecided"),
        ((5.0, 1.0), "worse", "1 worse, 1 undecided"),
        ((5.0, -5.0), "undecided", "1 worse, 1 better"),
    ],
)
def test_what_is_worse_has_its_tone_as_what_is_better(changes: tuple[float, float], tone: str, words: str) -> None:
    facts = comparison(change=changes[0])
    summary = summary_of(
        ResultKind.COMPARE, {**facts, "effects": [*facts["effects"], *comparison(change=changes[1])["effects"]]}
    )
    assert (summary.tone, summary.verdict) == (tone, words)


def test_a_summary_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = write_compare(tmp_path, "shop-4g", change=3.0)
    found = only(tmp_path)
    assert found.path == folder
    assert found.summary == summary_of(ResultKind.COMPARE, comparison(change=3.0))
    assert (found.state, found.report, found.counts) == (State.DONE, "report.html", (8, 8, "blocks"))


def test_folders_of_commands_that_kept_no_summary_are_shown(tmp_path: Path) -> None:
    """Of earlier versions, and of work that is not finished."""
    for kind in (ResultKind.TUNE, ResultKind.FINDER, ResultKind.CALIBRATE):
        (tmp_path / kind).mkdir()
        shutil.copy(COMMITTED[kind], tmp_path / kind)
    for name, file in (("study-a", "study.toml"), ("shop-4g", "results.sqlite"), ("audit-shop", "simulated.sqlite")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).touch()
    assert {item.name: item.kind.value for item in Shelf(tmp_path).look()} == {
        "tune": "tune", "finder": "finder", "calibrate": "calibrate", "study-a": "study", "shop-4g": "compare",
        "audit-shop": "audit",
    }  # fmt: skip


def test_what_lies_deeper_is_found_and_parts_of_a_result_are_not_results(tmp_path: Path) -> None:
    write_compare(tmp_path, "papers/gupta/one")
    write_compare(tmp_path, "papers/gupta/one/part")
    write_compare(tmp_path, ".hidden")
    (tmp_path / "papers/nothing").mkdir()
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    assert [item.name for item in Shelf(tmp_path).look()] == ["papers/gupta/one"]


def test_what_runs_comes_first_then_the_latest(tmp_path: Path) -> None:
    now_s = time.time()
    write_compare(tmp_path, "old", now_s - DAY_S)
    write_compare(tmp_path, "new", now_s)
    with owned(tmp_path / "at-work"):
        assert [item.name for item in Shelf(tmp_path).look()] == ["at-work", "new", "old"]


def test_changes_are_seen_and_only_they(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    folder = write_compare(tmp_path, "one", change=-5.0)
    other = write_compare(tmp_path, "other")
    (first, rest) = sorted(shelf.look(), key=lambda item: item.name)
    write_summary(folder, ResultKind.COMPARE, comparison(change=5.0))
    (changed, same) = sorted(shelf.look(), key=lambda item: item.name)
    assert first.summary is not None
    assert changed.summary is not None
    assert (first.summary.verdict, changed.summary.verdict) == ("better", "worse")
    assert same is rest
    shutil.rmtree(other)
    assert shelf.find(rest.id) is None
    assert [item.name for item in shelf.look()] == ["one"]
    write_record(folder, ended=WorkEnd.FAILED, why="no room")
    assert shelf.look()[0].state is State.FAILED


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"format": "mixedsched.summary/1"}', '{"format": "other/2"}', "[" * 100_000, "\x00"],
)
@pytest.mark.parametrize("name", [SUMMARY_NAME, "tune.json", "audit.json", "finder.json", "calibration.json"])
def test_a_broken_result_is_shown_as_broken(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / name).write_text(text)
    found = only(tmp_path)
    assert found.summary is None
    assert found.problem.startswith(f"{name} cannot be understood")


@pytest.mark.parametrize(
    "changes", [{"site": ["shop"]}, {"blocks": {"complete": "six", "planned": 6}}, {"form_factor": {}}, {"site": None}]
)
def test_facts_of_another_shape_are_told_and_break_no_page(changes: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "audit-shop").mkdir()
    (tmp_path / "audit-shop/audit.json").write_text(json.dumps({**AUDIT, **changes}))
    found = only(tmp_path)
    assert found.summary is None
    assert found.problem.startswith("audit.json cannot be understood")


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    os.mkfifo(tmp_path / "odd" / SUMMARY_NAME)
    assert only(tmp_path).problem == "summary.json is not a file of ours"


def test_loads_that_are_newer_than_the_verdict_are_noticed(tmp_path: Path) -> None:
    folder = write_compare(tmp_path, "shop")
    assert not only(tmp_path).has_newer_loads
    later_s = time.time() + 60
    os.utime(folder / "results.sqlite", (later_s, later_s))
    assert only(tmp_path).has_newer_loads


def test_only_what_is_not_finished_can_go_on(tmp_path: Path) -> None:
    write_compare(tmp_path, "done")
    with owned(tmp_path / "by-a-program"):
        pass
    assert [item.can_go_on or item.can_stop for item in Shelf(tmp_path).look()] == [False, False]


def test_a_history_is_of_one_page_over_one_network_oldest_first(tmp_path: Path) -> None:
    now_s = time.time()
    for number, (site, link, change) in enumerate(
        [("shop", "4g", -5.0), ("shop", "4g", -4.0), ("shop", "3g", 1.0), ("blog", "4g", 9.0)]
    ):
        write_compare(tmp_path, f"r{number}", now_s - number * DAY_S, site=site, link=link, change=change)
    pages = histories(Shelf(tmp_path).look())
    assert {(page.site, page.link): page.results for page in pages} == {
        ("shop", "4g"): 2, ("shop", "3g"): 1, ("blog", "4g"): 1,
    }  # fmt: skip
    (series,) = next(page for page in pages if page.results == 2).series
    assert [point.effect.change for point in series.points] == [-4.0, -5.0]
    assert "−5.0 %" in series.picture


@given(st.lists(st.floats() | st.just(1e308) | st.just(-1e308), min_size=1, max_size=5))
def test_no_number_breaks_a_picture(changes: list[float]) -> None:
    folders = [
        Folder(
            str(number), Path(), str(number), ResultKind.COMPARE, State.DONE, number * 1e300, None,
            summary_of(ResultKind.COMPARE, comparison(change=change)), "", "", has_newer_loads=False,
        )
        for number, change in enumerate(changes)
    ]  # fmt: skip
    drawn = sum(len(item.points) for page in histories(folders) for item in page.series)
    assert drawn == sum(math.isfinite(change) and abs(change) <= 1e6 for change in changes)
    assert all("nan" not in item.picture for page in histories(folders) for item in page.series)
