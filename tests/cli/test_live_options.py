"""What commands refuse of live pages before any work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import run
from tests.live_app import LiveApp, live_app

NOWHERE = "http://localhost:1/"


@pytest.fixture(scope="module")
def app() -> Iterator[LiveApp]:
    with live_app() as running:
        yield running


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compare", NOWHERE, "--rules", "rules.txt"), "--rules goes with --live only"),
        (("audit", NOWHERE, "--origin-insecure"), "--origin-insecure goes with --live only"),
        (("compare", NOWHERE, "--live", "--fresh"), "--fresh is not possible with --live"),
        (("compare", NOWHERE, "--live", "--backend", "netns"), "cannot be loaded over --backend netns"),
        (("compare", NOWHERE, "--live", "--origins", "merge"), "--origins is not possible with --live"),
        (("compare", NOWHERE, "--live", "--schemes", "@caddy,eps"), "@caddy cannot stand before a live application"),
        (("audit", NOWHERE, "--live", "--fetch"), "--fetch is not possible with --live"),
        (("audit", NOWHERE, "--live", "--origins", "keep"), "--origins is not possible with --live"),
        (("tune", NOWHERE, NOWHERE, "--live"), "--live is for one page of an application"),
        (("tune", "agency", "--live"), "--live is for one page of an application"),
        (("tune", NOWHERE, "--live", "--server", "caddy"), "--live and --server contradict each other"),
        (
            ("tune", NOWHERE, "--live", "--schemes", "all", "--link", "4g,slow-4g"),
            "--live and --schemes all for several networks contradict each other",
        ),
    ],
)
def test_what_makes_no_sense_with_a_live_page_is_misused(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    result = run(*words, cwd=tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in " ".join(result.stderr.split())
    assert list(tmp_path.iterdir()) == [], "nothing was begun"


@pytest.mark.parametrize("command", ["compare", "audit", "tune"])
def test_an_application_is_asked_before_any_work(command: str, app: LiveApp, tmp_path: Path) -> None:
    missing = run(command, NOWHERE, "--live", cwd=tmp_path)
    assert (missing.exit_code, missing.stdout) == (4, "")
    assert "start the application" in missing.stderr
    private = run(command, f"{app.url}private", "--live", cwd=tmp_path)
    assert (private.exit_code, private.stdout) == (3, "")
    assert "it wants a login" in private.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_study_has_no_live_pages(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        'format = "mixedsched.study/1"\nname = "s"\nrung = "browser"\nsites = ["http://localhost:1/"]\nlive = true\n'
        'links = ["4g"]\narms = ["eps", "mixed"]\nbaseline = "eps"\nblocks = 6\nprimary = ["lcp"]\n'
    )
    result = run("study", "run", file, cwd=tmp_path)
    assert result.exit_code == 3
    assert "a study has no live pages" in result.stderr
