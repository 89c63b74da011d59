"""What `audit` refuses before any work, and how it says so."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mixedsched.cli import app
from tests.command import refusal

refused = partial(refusal, "audit")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("sites") / "tiny"
    folder.mkdir()
    (folder / "index.html").write_text("<!DOCTYPE html><title>t</title><p>hello")
    return str(folder)


@pytest.mark.parametrize(
    ("options", "exit_code", "said"),
    [
        (("--budget", "5s"), 2, "5 s is too short for tiny on 4g, slow-4g"),
        (("--budget", "soon"), 2, "duration 'soon' is not understood"),
        (("--networks", "nowhere"), 3, "no network profile 'nowhere'"),
        (("--networks", "4g,4g"), 2, "a network is named twice"),
        (("--networks", ","), 2, "0 networks were named"),
        (("--baseline", "magic"), 2, "no baseline 'magic'"),
        (("--server", "iis"), 2, "nothing is known of the server 'iis'"),
    ],
)
def test_bad_options_are_refused_before_any_work(
    options: tuple[str, ...], exit_code: int, said: str, site: str, tmp_path: Path
) -> None:
    error = refused(site, *options, "--out", str(tmp_path / "out"))
    assert error.exit_code == exit_code
    assert said in error.what
    assert not (tmp_path / "out").exists()


def test_a_small_budget_is_told_what_would_do(site: str) -> None:
    error = refused(site, "--budget", "20s", "--networks", "4g")
    assert "to look at the page, simulate changes and measure a single block takes about" in error.why
    assert "give --budget 1m at least" in error.fix


def test_a_site_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    error = refused(str(tmp_path / "empty"))
    assert (error.exit_code, "is not a site" in error.what) == (3, True)


def test_help_has_an_example() -> None:
    told = " ".join(CliRunner().invoke(app, ["audit", "--help"]).output.split())
    assert "Examples: mixedsched audit https://example.org --networks 4g,slow-4g --budget 10m --baseline" in told
