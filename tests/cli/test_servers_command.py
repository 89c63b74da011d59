"""`servers`, and what commands say of arms that are servers before any load."""

from __future__ import annotations

import json
from pathlib import Path

from mixedsched.errors import ExitCode
from mixedsched.world.servers import KINDS
from tests.command import run
from tests.small_site import write_small_site


def nowhere(tmp_path: Path) -> dict[str, str | None]:
    """An environment in which no server is found."""
    return {"PATH": str(tmp_path), "MIXEDSCHED_CACHE": str(tmp_path / "cache"), "MIXEDSCHED_SERVERS": None}


def test_each_server_is_listed_with_what_it_does_and_how_to_get_it() -> None:
    listed = json.loads(run("servers", "--json").stdout)
    assert [item["name"] for item in listed] == list(KINDS)
    for item in listed:
        assert item["arm"] == f"@{item['name']}"
        assert item["priorities"]
        assert item["get"]
        assert item["found"] == (item["problem"] is None)
        assert item["found"] <= (item["path"] is not None and item["version"] is not None)


def test_people_get_the_same_in_words() -> None:
    said = run("servers").stdout
    for kind in KINDS.values():
        assert kind.title in said
    assert "priorities:" in said


def test_a_server_that_is_not_here_ends_a_comparison_with_how_to_get_it(tmp_path: Path) -> None:
    site = write_small_site(tmp_path / "small")
    done = run("compare", site, "--schemes", "eps,@quiche", env=nowhere(tmp_path))
    assert done.exit_code == ExitCode.MISSING_PART
    assert "@quiche needs, is not here" in done.stderr
    assert "MIXEDSCHED_SERVERS" in done.stderr


def test_an_audit_names_a_baseline_server_that_is_not_here(tmp_path: Path) -> None:
    site = write_small_site(tmp_path / "small")
    done = run("audit", site, "--baseline", "@quiche", env=nowhere(tmp_path))
    assert done.exit_code == ExitCode.MISSING_PART


def test_an_unknown_server_or_parameter_is_bad_usage(tmp_path: Path) -> None:
    site = write_small_site(tmp_path / "small")
    for schemes, words in (("eps,@ngnix", "did you mean 'nginx'"), ("eps,@caddy:x=1", "no parameter 'x'")):
        done = run("compare", site, "--schemes", schemes)
        assert done.exit_code == ExitCode.USAGE
        assert words in done.stderr


def test_a_server_is_no_scheme_to_simulate_or_serve_with(tmp_path: Path) -> None:
    site = write_small_site(tmp_path / "small")
    for words in (("simulate", site, "--schemes", "eps,@caddy"), ("serve", site, "--scheme", "@caddy")):
        done = run(*words)
        assert done.exit_code == ExitCode.USAGE
        assert "is a third-party server, not a scheme" in done.stderr


def test_a_study_has_servers_on_rung_browser_only(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    text = 'format = "mixedsched.study/1"\nname = "s"\nrung = "{}"\nsites = ["small"]\nlinks = ["4g"]\n'
    text += 'arms = ["eps", "@quiche"]\nbaseline = "eps"\nblocks = 1\n'
    write_small_site(tmp_path / "small")
    study.write_text(text.format("stack"))
    done = run("study", "run", study, cwd=tmp_path)
    assert done.exit_code == ExitCode.BAD_INPUT
    assert "which only rung browser has" in done.stderr
    study.write_text(text.format("browser"))
    done = run("study", "run", study, cwd=tmp_path, env=nowhere(tmp_path))
    assert done.exit_code == ExitCode.MISSING_PART
