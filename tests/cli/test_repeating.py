"""The command that a report names makes the same again: no option that decides what is measured is missing from it."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from typer.main import get_command

from mixedsched.cli import app
from mixedsched.lab import bench
from mixedsched.lab.experiment import read_experiment
from mixedsched.lab.study import session
from mixedsched.lab.study.definition import dump_study
from mixedsched.lab.study.session import find_study, study_store
from tests.command import run
from tests.lab.study.made_up_study import made_up_definition
from tests.live_app import LiveApp, live_app
from tests.sites.folders import page, site_of

SITE = "shop"
COMPARED = {  # an option, with a value that is not the usual one and what it needs beside it
    "--schemes": ["--schemes", "nip,ip"],
    "--link": ["--link", "cable"],
    "--backend": ["--backend", "netns"],
    "--blocks": ["--blocks", "3"],
    "--until": ["--until", "decided"],
    "--max-blocks": ["--until", "decided", "--max-blocks", "30"],
    "--fail-if": ["--fail-if", "lcp > +2%", "--fail-if", "fcp < 1%"],
    "--baseline": ["--baseline", "mixed"],
    "--mapping": ["--mapping", "gupta2024"],
    "--primary": ["--primary", "fcp,si"],
    "--metrics": ["--metrics", "fcp,lcp"],
    "--browser": ["--browser", "firefox"],
    "--form-factor": ["--form-factor", "desktop"],
    "--seed": ["--seed", "2"],
    "--origins": ["--origins", "keep"],
    "--across-connections": ["--across-connections"],
    "--congestion-control": ["--congestion-control", "reno"],
    "--cpu-slowdown": ["--cpu-slowdown", "4"],
    "--throttling": ["--throttling", "simulate"],
    "--aa": ["--aa", "--baseline", "sequential (again)"],
}
COMPARED_LIVE = {
    "--live": [],
    "--rules": ["--schemes", "eps", "--rules", "rules.txt"],
    "--origin-ca": ["--origin-ca", "ca.pem"],
    "--origin-insecure": ["--origin-insecure"],
}
NOT_COMPARED = {
    "--packet-log": "keeps more of the same loads",
    "--fresh": "records the site again, once: it is not the same again",
    "--fetch": "brings what the site then has",
    "--out": "is where the results are",
    "--junit": "tells of the same loads",
    "--markdown": "tells of the same loads",
    "--json": "tells of the same loads",
}
STUDIED = {
    "--blocks": ["--blocks", "9"],
    "--until": ["--until", "decided"],
    "--max-blocks": ["--until", "decided", "--max-blocks", "11"],
    "--fail-if": ["--fail-if", "lcp > +2%", "--fail-if", "lcp < 1%"],
    "--browser": ["--browser", "firefox"],
    "--out": [],
    "--store": ["--store", "sqlite:///team.sqlite"],
}
NOT_STUDIED = {
    "--only": "the command goes on with all places",
    "--jobs": "plays the same loads, sooner or later",
    "--scheduler": "has others make the same loads",
    "--from": "brings loads that are in the folder then",
    "--junit": "tells of the same loads",
    "--markdown": "tells of the same loads",
    "--json": "tells of the same loads",
}


def options_of(*command: str) -> set[str]:
    found: Any = get_command(app)
    context = found.make_context("mixedsched", list(command))
    for name in command:
        found = found.get_command(context, name)
    return {item.opts[0] for item in found.params if item.param_type_name == "option"} - {"--help"}


class NoLab:
    """A laboratory that is never asked for a load."""

    notes = server_notes = ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def versions(self) -> dict[str, str]:
        return {"chromium": "1"}


async def no_loads(*_: object) -> None:
    pass


def no_work(*_: object) -> None:
    pass


@pytest.fixture(autouse=True)
def _without_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.Design, "laboratory", lambda *_: NoLab())
    monkeypatch.setattr(bench, "carry_out", no_loads)
    monkeypatch.setattr(session, "_carry_out", no_work)


@pytest.fixture(scope="module")
def application() -> Iterator[LiveApp]:
    with live_app() as running:
        yield running


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a site of three hosts, which are merged unless one says otherwise, and what live pages need."""
    (tmp_path / SITE).mkdir()
    site_of(tmp_path / SITE, {(0, "/"): page(), (1, "/a.png"): b"1"}, origins="merge")
    (tmp_path / "rules.txt").write_text("/*.js u=1\n")
    (tmp_path / "ca.pem").write_text("")
    return tmp_path


def command_in(report: Path) -> list[str]:
    """The words of the command of that page."""
    found = re.findall(r"<pre><code>(mixedsched .*?)</code></pre>", report.read_text(), re.DOTALL)
    assert len(found) == 1
    return shlex.split(html.unescape(found[0]))


def compared(folder: Path, words: list[str]) -> tuple[Any, list[str]]:
    """What is compared with these words, and what its report says how to repeat it."""
    ended = run(*words, "--out", folder, cwd=folder.parent)
    assert ended.exit_code in (0, 5), ended.stderr
    made = read_experiment(folder)
    facts = made.facts
    return (made.plan.to_dict(), facts.gates, facts.live, facts.origins), command_in(folder / "report.html")[1:]


def test_every_option_of_compare_is_in_the_command_or_does_not_matter() -> None:
    assert options_of("compare") == {*COMPARED, *COMPARED_LIVE, *NOT_COMPARED}


@pytest.mark.parametrize("option", COMPARED)
def test_the_command_of_a_comparison_makes_the_same_comparison(option: str, here: Path) -> None:
    first, command = compared(here / "first", ["compare", SITE, *COMPARED[option]])
    assert option in command
    assert compared(here / "again", command) == (first, command)


@pytest.mark.parametrize("option", COMPARED_LIVE)
def test_the_command_of_a_live_comparison_makes_the_same(option: str, here: Path, application: LiveApp) -> None:
    words = ["compare", application.url, "--live", *COMPARED_LIVE[option]]
    first, command = compared(here / "first", words)
    assert option in command
    assert compared(here / "again", command) == (first, command)


def studied(folder: Path, store: str | None, words: list[str]) -> tuple[Any, list[str]]:
    """What is studied with these words, and what its report says how to go on."""
    ended = run(*words, cwd=folder.parent)
    assert ended.exit_code in (0, 5), ended.stderr
    with study_store(folder, store) as database:
        stored = find_study(database)
        made = stored.definition, stored.facts["looks"], stored.facts["gates"]
    again = run("study", "report", folder, *([] if store is None else ["--store", store]), cwd=folder.parent)
    assert again.exit_code == 0, again.stderr
    return made, command_in(folder / "report.html")[1:]


def test_every_option_of_a_study_is_in_the_command_or_does_not_matter() -> None:
    assert options_of("study", "run") == {*STUDIED, *NOT_STUDIED}


@pytest.mark.parametrize("option", STUDIED)
def test_the_command_of_a_study_goes_on_with_the_same_study(option: str, here: Path) -> None:
    definition = made_up_definition(rung="browser", sites=[SITE], links=["4g"])
    (here / "study.toml").write_text(dump_study(definition))
    store = f"sqlite:///{here / 'team.sqlite'}" if option == "--store" else None
    words = [word if word != "sqlite:///team.sqlite" else str(store) for word in STUDIED[option]]
    first, command = studied(here / "out", store, ["study", "run", "study.toml", "--out", "out", *words])
    assert option in command
    assert studied(here / "out", store, command) == (first, command)
