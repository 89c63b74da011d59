"""The command that an experiment's report names: it makes the same experiment."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.cli import _comparison
from mixedsched.lab.experiment import Experiment
from mixedsched.lab.model import Arm
from mixedsched.lab.results import ExperimentFacts
from tests.command import run
from tests.report.made_up_runs import made_up_plan

AA = (Arm("mixed", "mixed"), Arm("mixed (again)", "mixed"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ["--schemes", "round-robin,mixed", "--baseline", "round-robin", "--link", "sander-loss2"]),
        ({}, ["--blocks", "20", "--primary", "lcp_ms,si_ms", "--form-factor", "mobile", "--seed", "7"]),
        ({"backend": "netns"}, ["--backend", "netns"]),
        ({"across_connections": True}, ["--across-connections"]),
        ({"arms": (Arm("a", "eps", "chrome"), Arm("b", "mixed", "chrome"))}, ["--mapping", "chrome"]),
        ({"arms": AA}, ["--schemes", "mixed", "--aa"]),
    ],
)
def test_it_has_all_that_differs_from_what_is_usual(changes: dict[str, Any], words: list[str]) -> None:
    said = shlex.split(_comparison._command(experiment(**changes)))
    assert any(said[start : start + len(words)] == words for start in range(len(said)))


def test_it_leaves_out_what_is_usual() -> None:
    assert not {"--backend", "--across-connections", "--mapping", "--origins"} & set(
        shlex.split(_comparison._command(experiment()))
    )


def test_it_names_the_site_as_it_was_named_and_how_its_hosts_were_served() -> None:
    facts = ExperimentFacts(site_argument="my shop/", origins="merge")
    said = shlex.split(_comparison._command(experiment(facts)))
    assert said[:3] == ["mixedsched", "compare", "my shop/"]
    assert said[said.index("--origins") + 1] == "merge"


def test_it_names_a_network_of_ones_own_as_it_was_named() -> None:
    said = shlex.split(_comparison._command(experiment(ExperimentFacts(link_argument="my nets/office.toml"))))
    assert said[said.index("--link") + 1] == "my nets/office.toml"


def test_compare_knows_all_its_options() -> None:
    changes = {"backend": "netns", "across_connections": True, "arms": (Arm("a", "eps", "chrome"), *AA[:1])}
    said = _comparison._command(experiment(ExperimentFacts(origins="merge"), **changes))
    known = run("compare", "--help", columns=400).stdout
    assert set(re.findall(r"--[a-z-]+", said)) <= set(re.findall(r"--[a-z-]+", known))


def experiment(facts: ExperimentFacts | None = None, **changes: Any) -> Experiment:
    return Experiment(Path("out"), replace(made_up_plan(), **changes), (), facts or ExperimentFacts())
