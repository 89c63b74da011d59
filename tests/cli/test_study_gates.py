"""`study run --fail-if`: exit codes, lines and files, where every place is decided by its only block."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from mixedsched.lab.study.definition import dump_study
from tests.command import Result, run
from tests.lab.study.small import PLACES, quick_study

ARMS = ["sequential", "nip"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(dump_study(quick_study(tmp_path, arms=ARMS)))
    return file


def asked(study: Path, *options: str | Path) -> Result:
    return run("study", "run", study, "--out", study.parent / "out", "--json", *options)


@pytest.mark.parametrize(
    ("condition", "exit_code", "verdict"), [("lcp > +1000%", 0, "met"), ("lcp < +1000%", 6, "failed")]
)
def test_every_place_is_asked(study: Path, condition: str, exit_code: int, verdict: str) -> None:
    junit, markdown = study.parent / "gates.xml", study.parent / "gates.md"
    result = asked(study, "--fail-if", condition, "--junit", junit, "--markdown", markdown)
    assert result.exit_code == exit_code
    gates = json.loads(result.stdout.splitlines()[-1])["gates"]
    assert len({(gate["site"], gate["link"]) for gate in gates}) == PLACES
    assert {gate["verdict"] for gate in gates} == {verdict}
    assert result.stderr.count("gate ") == PLACES
    assert len(list(ET.parse(junit).getroot().iter("testcase"))) == PLACES
    assert "over wifi-lossy: nip against sequential" in markdown.read_text()


@pytest.mark.parametrize(
    "options",
    [("--fail-if", "lcp > 2"), ("--fail-if", "cls > 0.1"), ("--max-blocks", "9"), ("--junit", "no/such/folder/a.xml")],
)
def test_what_makes_no_sense_is_refused(study: Path, options: tuple[str, ...]) -> None:
    result = asked(study, *options)
    assert result.exit_code == 2
    assert "fix:" in result.stderr


def test_a_report_keeps_the_answers(study: Path) -> None:
    asked(study, "--fail-if", "lcp > +1000%")
    report = run("study", "report", study.parent / "out", "--json")
    assert {gate["verdict"] for gate in json.loads(report.stdout)["gates"]} == {"met"}


def test_with_only_it_is_the_places_that_are_asked_for_which_decide(study: Path) -> None:
    study.write_text(dump_study(quick_study(study.parent, arms=["sequential", "rr"], primary=["fcp"])))
    effects = json.loads(asked(study).stdout.splitlines()[-1])["effects"]
    changes = sorted(
        (item["change_pct"], f"{item['site']}@{item['link']}") for item in effects if item["metric"] == "fcp_ms"
    )
    (least, low), (most, high) = changes[0], changes[-1]
    for place, exit_code in ((low, 0), (high, 6)):
        junit = study.parent / "gates.xml"
        gate = f"fcp > {(least + most) / 2:.6f}%"
        result = asked(study, "--fail-if", gate, "--only", place, "--junit", junit)
        assert result.exit_code == exit_code
        assert result.stderr.count("gate ") == 1
        assert len(list(ET.parse(junit).getroot().iter("testcase"))) == 1
