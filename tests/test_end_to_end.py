"""The main job with real parts: server, link, Chromium, Lighthouse, store, report; interrupted in every rude way."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.command import HOME, MIXEDSCHED
from tests.core.h3.pair import runs
from tests.patience import is_late, run_patiently
from tests.world.emulator.privileged import needs_namespaces, ownerless_namespaces

pytestmark = pytest.mark.usefixtures("chromium")

METRICS = ["fcp_ms", "lcp_ms", "tbt_ms", "si_ms", "cls", "tti_ms", "hol_bytes"]


@pytest.fixture(scope="module")
def small_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sites") / "small"
    folder.mkdir()
    (folder / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>small</title><link rel="icon" href="data:,">'
        '<link rel="stylesheet" href="a.css"><script src="a.js" defer></script><h1>A small page</h1>'
    )
    (folder / "a.css").write_text("h1 { color: darkgreen; font-size: 60px }")
    (folder / "a.js").write_text("document.title = 'loaded'")
    return folder


def command(*arguments: str) -> list[str]:
    return [*MIXEDSCHED, *arguments]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_until(condition: Callable[[], bool], limit_s: float = 30.0) -> bool:
    """Whether it becomes true in the end; the limit is only for what never does."""
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(0.1)
    return condition()


def stored(folder: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(folder / "results.sqlite")) as connection:
        return [json.loads(record) for (record,) in connection.execute("SELECT record FROM run ORDER BY id")]


def why_void(folder: Path) -> list[str]:
    """Reasons of runs that do not count, but for those that a busy machine gives."""
    reasons = [run["reason"] for run in stored(folder) if run["status"] != "ok"]
    return [reason for reason in reasons if not is_late(reason)]


def complete_attempts(made: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """(block, attempt) in which both arms ended well; on a busy machine a first attempt may have been void."""
    ok = Counter((run["block"], run["attempt"]) for run in made if run["status"] == "ok")
    return {key for key, count in ok.items() if count == 2}


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The process's descendants: server, relay, worker, browser."""
    return psutil.Process(process.pid).children(recursive=True)


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def all_gone(processes: list[psutil.Process]) -> bool:
    return not any(is_alive(process) for process in processes)


def has_browser(process: subprocess.Popen[str]) -> bool:
    for child in family(process):
        with suppress(psutil.NoSuchProcess):
            if "chrom" in child.name():
                return True
    return False


def in_the_middle_of_a_run(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Wait until one run is stored and the next one's browser is up; returns all descendants."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("warm-up"):
            break
    assert wait_until(lambda: has_browser(process))
    time.sleep(1)  # for the browser's own children to come up; the more there are, the more must go
    return family(process)


def compared(site: str, folder: Path, *options: str) -> dict[str, Any]:
    """A comparison of two schemes in one block that ends well; what it says as JSON."""
    words = ("compare", site, "--schemes", "sequential,stock", "--link", "fiber", "--blocks", "1", *options)
    ended = run_patiently(command(*words, "--out", str(folder), "--json"), HOME, 400)
    assert ended.returncode == 0, ended.stderr
    result: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return result


@pytest.mark.usefixtures("real_time")
def test_compare_measures_all_metrics_and_shows_scheduling_on_the_wire(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    result = compared("davies-meenan", folder)
    assert (result["site"], result["link"]) == ("davies-meenan", "fiber")
    assert [(arm["scheme"], arm["runs"]) for arm in result["arms"]] == [("sequential", 1), ("stock", 1)]
    assert why_void(folder) == []
    assert all(arm["median"][metric] is not None for arm in result["arms"] for metric in METRICS)
    assert sorted(effect["metric"] for effect in result["effects"]) == sorted(METRICS)
    assert {effect["verdict"] for effect in result["effects"]} == {"undecided"}, "one block decides nothing"
    report = Path(result["report"]).read_text()
    assert "davies" in report.lower()
    assert "http://" not in report.replace("http://www.w3.org", "")

    switches = {}
    for run in (run for run in stored(folder) if run["status"] == "ok"):
        assert {request["protocol"] for request in run["page_load"]["requests"]} == {"h3"}
        assert run["connections"] == 1
        images = [arrival["path"] for arrival in run["arrivals"] if arrival["path"].startswith("/hidden")]
        switches[run["arm"]] = len(list(runs(iter(images))))
    assert switches["sequential"] < 60, "thirty images one after another, but for what was lost and sent again"
    assert switches["stock"] > 4 * switches["sequential"], "images interleave"


def stopped_in_order(process: subprocess.Popen[str], number: signal.Signals, descendants: list[psutil.Process]) -> None:
    """Have it end by this signal, and check that it does so as promised."""
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in " ".join(told.split())
    assert "Traceback" not in told
    assert wait_until(lambda: all_gone(descendants))


def test_after_ctrl_c_and_kill_9_nothing_stays_and_the_same_command_ends_with_every_block_once(
    small_site: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    arguments = ("compare", str(small_site), "--link", "cdn", "--blocks", "1", "--out", str(folder), "--json")
    first = start(*arguments)
    stopped_in_order(first, signal.SIGINT, in_the_middle_of_a_run(first))
    kept = stored(folder)
    assert len(kept) >= 1

    second = start(*arguments)
    assert wait_until(lambda: has_browser(second))
    time.sleep(1)  # for the browser's own children to come up; the more there are, the more must go
    descendants = family(second)
    os.kill(second.pid, signal.SIGKILL)
    second.communicate()
    assert len(descendants) >= 4, "two servers, a worker and a browser at least"
    assert wait_until(lambda: all_gone(descendants)), [child.pid for child in descendants if is_alive(child)]

    third = run_patiently(command(*arguments), HOME, 200)
    assert third.returncode == 0, third.stderr
    made = stored(folder)
    assert made[: len(kept)] == kept, "nothing stored is lost or changed"
    good = [run for run in made if run["status"] == "ok" and (run["block"], run["attempt"]) in complete_attempts(made)]
    assert Counter((run["block"], run["arm"]) for run in good) == {
        (block, arm): 1 for block in (0, 1) for arm in ("sequential", "mixed")
    }
    assert len({(run["block"], run["attempt"], run["arm"]) for run in made}) == len(made), "no run was made twice"

    fourth = subprocess.run(command(*arguments), cwd=HOME, capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(fourth.stdout) == json.loads(third.stdout), "a finished comparison is told again, not made again"


@needs_namespaces
def test_a_comparison_over_the_kernels_own_link_leaves_no_namespace(small_site: Path, tmp_path: Path) -> None:
    result = compared(str(small_site), tmp_path / "out", "--backend", "netns")
    assert [arm["runs"] for arm in result["arms"]] == [1, 1]
    assert why_void(tmp_path / "out") == []
    assert "--backend netns" in (tmp_path / "out" / "report.html").read_text()
    assert ownerless_namespaces() == []


def test_two_comparisons_cannot_share_a_folder_and_the_first_ends_in_order_when_told_to(
    small_site: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    arguments = ("compare", str(small_site), "--link", "cdn", "--blocks", "1", "--out", str(folder))
    first = start(*arguments)
    descendants = in_the_middle_of_a_run(first)
    second = subprocess.run(command(*arguments), cwd=HOME, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1
    assert "another comparison is running" in second.stderr
    stopped_in_order(first, signal.SIGTERM, descendants)
    assert len(stored(folder)) >= 1


def test_the_doctor_finds_everything_in_place() -> None:
    ended = subprocess.run(
        command("doctor", "--json"), cwd=HOME, capture_output=True, text=True, timeout=200, check=False
    )
    checks = {check["name"]: check for check in json.loads(ended.stdout)["checks"]}
    proved = {"certificate", "free UDP ports", "Node", "Chromium", "lighthouse-runner"}
    proved |= {"HTTP/3 only", "connections"}
    assert proved <= {name for name, check in checks.items() if check["ok"]}, checks
    assert "relay timers" in checks, "judged too, but not by a test: machines that test are noisy"
