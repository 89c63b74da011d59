"""The main job with real parts: server, link, Chromium, Lighthouse, store, report; interrupted in every rude way."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command import HOME, MIXEDSCHED
from tests.core.h3.pair import runs
from tests.families import all_gone, family, has_browser
from tests.patience import is_late, run_patiently, wait_until
from tests.small_site import write_small_site
from tests.world.emulator.privileged import needs_namespaces, ownerless_namespaces

pytestmark = pytest.mark.usefixtures("chromium")

SCHEMES = ("sequential", "stock")
METRICS = ["fcp_ms", "lcp_ms", "tbt_ms", "si_ms", "cls", "tti_ms", "hol_bytes"]
WITHOUT_TTI = ("--metrics", "cls,lcp,fcp,si,tbt")  # each load waits some 5 s less; an audit's test has loads with it


@pytest.fixture(scope="module")
def small_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_site(tmp_path_factory.mktemp("sites") / "small")


def command(*arguments: str) -> list[str]:
    return [*MIXEDSCHED, *arguments]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def stored(folder: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(folder / "results.sqlite")) as connection:
        return [json.loads(record) for (record,) in connection.execute("SELECT record FROM run ORDER BY id")]


def why_void(made: list[dict[str, Any]]) -> list[str]:
    """Reasons of runs that do not count, but for those that a busy machine gives."""
    reasons = [run["reason"] for run in made if run["status"] != "ok"]
    return [reason for reason in reasons if not is_late(reason)]


def complete_attempts(made: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """(block, attempt) in which both arms ended well; on a busy machine a first attempt may have been void."""
    ok = Counter((run["block"], run["attempt"]) for run in made if run["status"] == "ok")
    return {key for key, count in ok.items() if count == 2}


def after_one_run(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """The same process, when a run is stored."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("warm-up"):
            break
    return process


@dataclass(frozen=True)
class Ended:
    """How a command ended that was told to, or killed."""

    code: int
    said: str
    started: int
    """Processes that it had running."""
    is_gone: bool
    """Whether they all went with it."""
    stored: list[dict[str, Any]]


@dataclass(frozen=True)
class Story:
    """One comparison that is begun four times: Ctrl-C in the middle, SIGTERM, kill -9, and to its end.

    Its page has thirty images that come one after another or in turns, as the schemes have it.
    """

    refused: subprocess.CompletedProcess[str]
    """Another one in the same folder, while the first is at work."""
    told: dict[signal.Signals, Ended]
    finished: subprocess.CompletedProcess[str]
    again: subprocess.CompletedProcess[str]
    """Begun once more, when there is nothing to be done."""
    stored: list[dict[str, Any]]


def ended_by(process: subprocess.Popen[str], number: signal.Signals, folder: Path) -> Ended:
    descendants = family(process)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    is_gone = wait_until(lambda: all_gone(descendants))
    return Ended(process.returncode, said, len(descendants), is_gone, stored(folder))


def in_the_middle(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """The same process, when a browser of its own is up; its children come one after the other, and all of them must go."""
    assert wait_until(lambda: has_browser(process))
    time.sleep(0.5)
    return process


@pytest.fixture(scope="module")
def story(real_time: None, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("story") / "out"
    words = ("compare", "davies-meenan", "--schemes", ",".join(SCHEMES), "--link", "fiber", "--blocks", "1")
    words = (*words, *WITHOUT_TTI, "--out", str(folder))
    first = after_one_run(start(*words))
    refused = subprocess.run(command(*words), cwd=HOME, capture_output=True, text=True, timeout=60, check=False)
    told = {signal.SIGINT: ended_by(in_the_middle(first), signal.SIGINT, folder)}
    for number in (signal.SIGTERM, signal.SIGKILL):
        told[number] = ended_by(in_the_middle(start(*words)), number, folder)
    finished = run_patiently(command(*words, "--json"), HOME, 200)
    made = stored(folder)
    again = subprocess.run(command(*words, "--json"), cwd=HOME, capture_output=True, text=True, timeout=60, check=False)
    return Story(refused, told, finished, again, made)


def test_two_comparisons_cannot_share_a_folder(story: Story) -> None:
    assert story.refused.returncode == 1
    assert "another command is writing to" in story.refused.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_end_it_ends_in_order_and_says_how_to_go_on(story: Story, number: signal.Signals) -> None:
    ended = story.told[number]
    assert ended.code == 130
    assert "the same command continues" in " ".join(ended.said.split())
    assert "Traceback" not in ended.said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_ends_nothing_stays_but_what_is_stored(story: Story, number: signal.Signals) -> None:
    ended = story.told[number]
    assert ended.started >= 4, "two servers, a worker and a browser at least"
    assert ended.is_gone
    assert len(ended.stored) >= 1
    assert story.stored[: len(ended.stored)] == ended.stored, "nothing stored is lost or changed"


def test_the_same_command_ends_with_every_block_once(story: Story) -> None:
    assert story.finished.returncode == 0, story.finished.stderr
    made = story.stored
    good = [run for run in made if run["status"] == "ok" and (run["block"], run["attempt"]) in complete_attempts(made)]
    assert Counter((run["block"], run["arm"]) for run in good) == {
        (block, arm): 1 for block in (0, 1) for arm in SCHEMES
    }
    assert len({(run["block"], run["attempt"], run["arm"]) for run in made}) == len(made), "no run was made twice"


def test_a_finished_comparison_is_told_again_not_made_again(story: Story) -> None:
    assert json.loads(story.again.stdout) == json.loads(story.finished.stdout)


def test_it_tells_all_metrics_that_were_asked_for_and_that_one_block_decides_nothing(story: Story) -> None:
    result = json.loads(story.finished.stdout.splitlines()[-1])
    assert (result["site"], result["link"]) == ("davies-meenan", "fiber")
    assert [(arm["scheme"], arm["runs"]) for arm in result["arms"]] == [(scheme, 1) for scheme in SCHEMES]
    assert why_void(story.stored) == []
    for arm in result["arms"]:
        assert [metric for metric in METRICS if arm["median"][metric] is None] == ["tti_ms"]
        assert 0 < arm["median"]["score"] <= 100
    assert all("tti_ms" not in run["page_load"]["metrics"] for run in story.stored if run["status"] == "ok")
    assert {effect["metric"] for effect in result["effects"]} == {*METRICS} - {"tti_ms"}
    assert {effect["verdict"] for effect in result["effects"]} == {"undecided"}


def test_its_report_needs_nothing_from_elsewhere(story: Story) -> None:
    report = Path(json.loads(story.finished.stdout.splitlines()[-1])["report"]).read_text()
    assert "davies" in report.lower()
    assert "http://" not in report.replace("http://www.w3.org", "")
    assert "--metrics fcp,lcp,si,tbt,cls" in report, "how to make it again"


def test_scheduling_shows_on_the_wire(story: Story) -> None:
    switches = {}
    for run in (run for run in story.stored if run["status"] == "ok"):
        assert {request["protocol"] for request in run["page_load"]["requests"]} == {"h3"}
        assert run["connections"] == 1
        images = [arrival["path"] for arrival in run["arrivals"] if arrival["path"].startswith("/hidden")]
        switches[run["arm"]] = len(list(runs(iter(images))))
    assert switches["sequential"] < 60, "thirty images one after another, but for what was lost and sent again"
    assert switches["stock"] > 4 * switches["sequential"], "images interleave"


@needs_namespaces
def test_a_comparison_over_the_kernels_own_link_leaves_no_namespace(small_site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    words = ("compare", str(small_site), "--link", "fiber", "--backend", "netns", *WITHOUT_TTI, "--out", str(folder))
    ended = ended_by(in_the_middle(after_one_run(start(*words))), signal.SIGINT, folder)
    assert (ended.code, ended.is_gone) == (130, True)
    assert why_void(ended.stored) == []
    (run, *_) = ended.stored
    assert run["relay"]["down"]["packets"] > 0, "the kernel's counters of this link"
    assert ownerless_namespaces() == []
