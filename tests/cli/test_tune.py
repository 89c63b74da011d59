"""`tune` from the outside: what it refuses before any work, honest answers for odd pages, and going on after rude ends."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mixedsched.cli import app
from mixedsched.errors import UsageError
from tests.command import refusal
from tests.patience import wait_until

HTML = {"id": "html", "path": "/", "kind": "document", "body_bytes": 3000, "found_when": "start", "flags": ["main"]}
LOW = {"chromium_priority": "Low", "incremental": True}
FOUND = {"found_by": "html", "found_when": "bytes"}
HERO = {
    "id": "hero",
    "path": "/hero.jpg",
    "kind": "image",
    "body_bytes": 40_000,
    "flags": ["hero", "above_fold"],
    **LOW,
    **FOUND,
}
OTHERS = [
    {
        "id": f"{name}.jpg",
        "path": f"/{name}.jpg",
        "kind": "image",
        "body_bytes": 30_000,
        "found_at_bytes": 300,
        **LOW,
        **FOUND,
    }
    for name in ("a", "b")
]
SHOP = [HTML, *OTHERS, {**HERO, "found_at_bytes": 900}]


def page_file(folder: Path, resources: list[dict[str, Any]]) -> str:
    file = folder / "shop.json"
    file.write_text(json.dumps({"format": "mixedsched.page/1", "name": "shop", "resources": resources}))
    return str(file)


def tuned(*arguments: str) -> dict[str, Any]:
    """What `mixedsched tune ... --json` prints; simulated only, a handful of candidates."""
    words = [
        "tune",
        *arguments,
        "--rung",
        "stack",
        "--candidates",
        "8",
        "--schemes",
        "eps",
        "--budget",
        "10m",
        "--json",
    ]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


refused = partial(refusal, "tune")


@pytest.mark.parametrize(
    ("options", "exit_code", "said"),
    [
        (("--budget", "1s"), 2, "1 s is too short for shop on slow-4g"),
        (
            ("--budget", "1s", "--rung", "stack", "--link", "sander-loss2"),
            2,
            "1 s is too short for shop on sander-loss2",
        ),
        (("--budget", "soon"), 2, "duration 'soon' is not understood"),
        (("--objective", "beauty"), 2, "there is no metric 'beauty'"),
        (("--objective", "tbt"), 2, "'tbt' cannot be searched for"),
        (("--objective", "lcp=0,fcp=1"), 2, "the weight of 'lcp' is not possible"),
        (("--link", "nowhere"), 3, "no network profile 'nowhere'"),
        (("--link", "4g,4g"), 2, "a network is named twice"),
        (("--link", ","), 2, "0 networks were named"),
        (("--rung", "moon"), 2, "there is no rung 'moon'"),
        (("--schemes", "magic"), 2, "there is no scheme 'magic'"),
        (("--origins", "merge"), 2, "no origins to merge"),
        (("--browser-model", "lynx"), 3, "'lynx'"),
        (("--space", "outer"), 2, "there is no space 'outer'"),
        (("--space", "vgprio", "--link", "4g,slow-4g"), 2, "one site over one network"),
        (("--space", "vgprio", "--objective", "lcp"), 2, "VGPrio learns the Speed Index"),
        (("--server", "iis"), 2, "nothing is known of the server 'iis'"),
        (("--server", "caddy", "--schemes", "eps"), 2, "--server caddy and --schemes contradict each other"),
        (("--server", "caddy", "--space", "vgprio"), 2, "--space vgprio is not for --server"),
        (("--server", "caddy", "--rung", "pipe"), 2, "cannot be simulated on rung pipe"),
    ],
)
def test_bad_options_are_refused_before_any_work(
    options: tuple[str, ...], exit_code: int, said: str, tmp_path: Path
) -> None:
    error = refused(page_file(tmp_path, SHOP), *options, "--out", str(tmp_path / "out"))
    assert error.exit_code == exit_code
    assert said in error.what
    assert not (tmp_path / "out").exists()


def test_a_small_budget_is_told_what_would_do(tmp_path: Path) -> None:
    error = refused(page_file(tmp_path, SHOP), "--budget", "20s")
    assert "to look at the page, search, and measure a single block takes about" in error.why
    assert "give --budget 1m at least" in error.fix


def test_what_is_no_page_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    assert refused(str(tmp_path / "bad.json")).exit_code == 3
    assert "no page 'nothing'" in refused("nothing").what


def test_several_places_are_for_the_finder_which_asks_no_browser(tmp_path: Path) -> None:
    page = page_file(tmp_path, SHOP)
    assert "several places are only simulated" in refused(page, page, "--rung", "browser").what


def test_a_server_is_for_one_page_and_not_for_the_finder(tmp_path: Path) -> None:
    page = page_file(tmp_path, SHOP)
    assert "--server is for one page" in refused(page, page, "--server", "caddy").what
    assert "--server is for one page" in refused(str(tmp_path), "--server", "caddy").what


def test_an_unknown_server_is_answered_with_the_list(tmp_path: Path) -> None:
    fix = refused(page_file(tmp_path, SHOP), "--server", "caddi").fix
    assert "did you mean 'caddy'?" in fix
    assert "apache, caddy, cloudflare, h2o, litespeed, nginx, other" in fix


def test_a_server_without_http3_has_the_html_left_and_that_is_told(tmp_path: Path) -> None:
    words = ["--server", "apache", "--rung", "stack", "--budget", "10m", "--json", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, ["tune", page_file(tmp_path, SHOP), *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["server"]["name"], found["server"]["acts"]) == ("apache", ["html"])
    assert "has no HTTP/3" in found["server"]["words"]
    assert found["server"]["model"]["over_tcp"]
    assert found["ship"]["headers"] == []
    assert "has no HTTP/3" in Path(found["report"]).read_text(encoding="utf-8")


def test_a_link_that_never_lets_a_load_end_is_said_at_once(tmp_path: Path) -> None:
    link = tmp_path / "dead.toml"
    link.write_text(
        'name = "dead"\ndescription = "Hardly anything arrives."\nsource = "made up"\nrate_down_bps = 1_000_000\n'
        'rate_up_bps = 1_000_000\nrtt_ms = 50\nqueue_bytes = 30000\n[loss]\nmodel = "random"\nratio = 0.97\n'
    )
    error = refused(page_file(tmp_path, SHOP), "--link", str(link), "--rung", "stack", "--out", str(tmp_path / "out"))
    assert "cannot be loaded over 'dead'" in error.what
    assert "loses less" in error.fix
    assert not (tmp_path / "out").exists()


def test_a_database_of_another_version_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "results.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE mixedsched_schema (version INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO mixedsched_schema VALUES (99)")
    error = refused(page_file(tmp_path, SHOP), "--rung", "stack", "--out", str(folder))
    assert "written by a newer version" in error.what


def test_a_hero_behind_other_images_is_hurried_and_what_to_ship_says_so(tmp_path: Path) -> None:
    found = tuned(page_file(tmp_path, SHOP), "--link", "slow-4g", "--out", str(tmp_path / "out"))
    assert found["outcome"] == "simulated"
    baseline = found["baselines"][found["baseline"]]["estimate_ms"]["slow-4g"]["lcp_ms"]
    lcp_ms = found["tuned"]["estimate_ms"]["slow-4g"]["lcp_ms"]
    assert found["bounds"]["slow-4g"]["lcp_ms"] <= lcp_ms < 0.95 * baseline
    assert {"headers.txt", "nginx.conf", "mapping.toml"} <= {Path(name).name for name in found["ship"]["files"]}
    assert "hero" in [name for rule in found["ship"]["headers"] for name in rule["covers"]]
    assert all((tmp_path / "out" / name).is_file() for name in found["ship"]["files"])
    assert json.loads((tmp_path / "out" / "tune.json").read_bytes()) == found

    mapping = str(tmp_path / "out" / "ship" / "mapping.toml")
    words = ["simulate", page_file(tmp_path, SHOP), "--scheme", found["tuned"]["scheme"], "--mapping", mapping]
    again = json.loads(CliRunner().invoke(app, [*words, "--link", "slow-4g", "--json"]).stdout)
    assert again["estimate_ms"]["lcp"] == pytest.approx(lcp_ms)  # what is shipped is what was found
    assert found["use"] == {"scheme": found["tuned"]["scheme"], "mapping": mapping}
    assert found["tuned"]["mapping_file"] == mapping


@pytest.mark.parametrize(
    "resources",
    [[HTML], [HTML, *OTHERS], [{**item, "chromium_priority": "High", "incremental": True} for item in SHOP]],
    ids=["one resource", "no hero", "one priority"],
)
def test_odd_pages_get_honest_answers(resources: list[dict[str, Any]], tmp_path: Path) -> None:
    found = tuned(page_file(tmp_path, resources), "--link", "slow-4g", "--out", str(tmp_path / "out"))
    if found["tuned"] is None:
        assert (found["outcome"], found["shipped"]) == ("nothing_to_gain", False)
        assert re.search(r"No order can be better than|beats .* in simulation", found["reason"])
        assert found["use"]["scheme"] == found["baseline"]
        assert "the earliest that this network allows" in found["reason"]
    else:
        assert found["outcome"] == "simulated"
        assert found["tuned"]["score"] < -0.005


def test_the_folder_of_another_job_is_refused(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    tuned(page_file(tmp_path, [HTML]), "--link", "fiber", "--out", out)
    error = refused(page_file(tmp_path, SHOP), "--link", "fiber", "--rung", "stack", "--out", out)
    assert (error.exit_code, "contains another tuning" in error.what) == (2, True)


def test_a_folder_with_files_of_others_where_ours_would_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out" / "ship").mkdir(parents=True)
    (tmp_path / "out" / "ship" / "precious.txt").write_text("mine")
    with pytest.raises(UsageError, match="'ship' that no tuning made"):
        tuned(page_file(tmp_path, SHOP), "--link", "slow-4g", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out" / "ship" / "precious.txt").read_text() == "mine"


def start(page: str, out: Path) -> subprocess.Popen[str]:
    words = [
        sys.executable,
        "-m",
        "mixedsched",
        "tune",
        page,
        "--link",
        "slow-4g",
        "--rung",
        "stack",
        "--schemes",
        "eps",
    ]
    words += ["--candidates", "24", "--budget", "10m", "--json", "--out", str(out)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def trials(out: Path) -> int:
    """Candidates of rung stack that are stored."""
    try:
        with closing(sqlite3.connect(f"file:{out / 'results.sqlite'}?mode=ro", uri=True)) as connection:
            (count,) = connection.execute("SELECT COUNT(*) FROM trials").fetchone()
    except sqlite3.Error:
        return 0
    return int(count)


def stopped_by(number: int, page: str, out: Path) -> tuple[int, str]:
    """End the command after its first batch. Its exit code and what it printed."""
    process = start(page, out)
    wait_until(lambda: trials(out) or process.poll() is not None, 60)
    os.kill(process.pid, number)
    stdout, _ = process.communicate(timeout=60)
    return process.returncode, stdout


@pytest.mark.slow
def test_it_goes_on_after_ctrl_c_and_kill_9_and_comes_to_the_same(tmp_path: Path) -> None:
    page = page_file(tmp_path, SHOP)
    whole, stderr = start(page, tmp_path / "whole").communicate(timeout=120)
    expected = json.loads(whole)

    code, told = stopped_by(signal.SIGINT, page, tmp_path / "out")
    assert code == 130, stderr
    best_so_far = json.loads(told)
    assert best_so_far["outcome"] == "interrupted"
    assert best_so_far["baselines"]
    assert (tmp_path / "out" / "tune.html").is_file()

    stopped_by(signal.SIGKILL, page, tmp_path / "out")
    again = json.loads(start(page, tmp_path / "out").communicate(timeout=120)[0])
    for found in (again, expected):
        found["tuned"].pop("mapping_file")  # is in another folder
    same = ("outcome", "tuned", "baselines", "bounds", "kept_pct", "reason", "ship")
    assert {key: again[key] for key in same} == {key: expected[key] for key in same}
    assert [item["tried"] for item in again["rungs"]] == [item["tried"] for item in expected["rungs"]]
