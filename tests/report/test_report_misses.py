"""What the site did not have is told in the report and beside the table, in words and for machines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mixedsched.lab.analysis import analyse
from mixedsched.lab.experiment import Experiment
from mixedsched.lab.model import Run
from mixedsched.lab.results import ExperimentFacts
from mixedsched.report.compare import miss_lines
from mixedsched.report.compare._document import render_html
from tests.report.made_up_runs import MadeUp, made_up_plan

PLAN = made_up_plan(2)
MISSED = "/<gone>.js?v=1"


def runs(*, missed: bool) -> list[Run]:
    line = {"method": "GET", "authority": "shop.test", "path": MISSED, "status": 404, "missed": True}
    made = MadeUp(PLAN).runs()
    return [replace(run, placements=(line,)) if missed and run.arm == "mixed" else run for run in made]


def test_an_arm_that_missed_something_is_named_with_what_it_missed() -> None:
    found = runs(missed=True)
    (line,) = miss_lines(analyse(PLAN, found), found)
    assert line == f"mixed: 3 of 3 runs asked for what the site does not have: GET https://shop.test{MISSED}"
    assert "https://shop.test/&lt;gone&gt;.js?v=1" in render_html(analyse(PLAN, found), found, {})


def test_machines_get_the_same() -> None:
    found = runs(missed=True)
    experiment = Experiment(Path(), PLAN, tuple(found), ExperimentFacts())
    (misses,) = experiment.to_dict()["misses"]
    assert (misses["arm"], misses["missing_runs"]) == ("mixed", 3)
    assert misses["requests"] == [{"request": f"GET https://shop.test{MISSED}", "runs": 3}]


def test_nothing_is_said_where_nothing_was_missed() -> None:
    found = runs(missed=False)
    assert miss_lines(analyse(PLAN, found), found) == []
    assert "does not have" not in render_html(analyse(PLAN, found), found, {})
