"""The scheme finder as a command: every place is played, stored, told; what the time did not allow is told, too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import mixedsched as ms
from mixedsched.advice.finder.job import FinderJob
from mixedsched.cli import _tune_finder
from mixedsched.cli._progress import Progress
from mixedsched.cli._tune_finder import find_schemes, named_pages
from mixedsched.errors import ExitCode, MixedschedError, UsageError
from mixedsched.world import catalog
from tests.report.made_up_tuning import PAGE

LCP = {"lcp_ms": 1.0}
SCHEMES = ("sequential", "stock", "mixed:high_media=N")


@pytest.fixture
def sites(tmp_path: Path) -> list[str]:
    """Two page files: the shop, and one whose hero is small."""
    files = []
    for name, hero_bytes in (("big", 90_000), ("small", 4_000)):
        resources = [dict(item) for item in PAGE["resources"]]  # type: ignore[attr-defined]
        resources[-1]["body_bytes"] = hero_bytes
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({**PAGE, "name": name, "resources": resources}), encoding="utf-8")
        files.append(str(file))
    return files


def job(sites: Sequence[str], networks: Sequence[str], **changes: Any) -> FinderJob:
    return FinderJob(named_pages(sites), tuple(map(catalog.load_profile, networks)), SCHEMES, LCP, **changes)


def run(
    capsys: pytest.CaptureFixture[str], sites: Sequence[str], networks: Sequence[str], folder: Path, **changes: Any
) -> tuple[ExitCode, dict[str, Any]]:
    budget_s = changes.pop("budget_s", None)
    code = find_schemes(job(sites, networks, **{"seeds": 2, **changes}), budget_s, folder, as_json=True)
    return code, json.loads(capsys.readouterr().out)


def stored(folder: Path) -> int:
    return len(ms.read_results(folder))


def test_every_place_is_played_under_every_scheme_and_told_in_three_forms(
    sites: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "found"
    code, facts = run(capsys, sites, ["cable", "sander-loss2"], folder)
    assert code is ExitCode.DONE
    assert [(item["site"], item["network"], item["seeds"]) for item in facts["matrix"]] == [
        ("big", "cable", 1), ("big", "sander-loss2", 2), ("small", "cable", 1), ("small", "sander-loss2", 2),
    ]  # fmt: skip
    assert {item["scheme"] for item in facts["regrets"]} == set(SCHEMES)
    assert facts["best_mean"]["scheme"] in SCHEMES
    assert json.loads((folder / "finder.json").read_text(encoding="utf-8")) == facts
    assert "Regret over sander-loss2" in (folder / "finder.html").read_text(encoding="utf-8")
    assert stored(folder) == 18

    _, again = run(capsys, sites, ["cable", "sander-loss2"], folder, budget_s=0.0)  # no time for any load
    assert again["matrix"] == facts["matrix"]
    assert stored(folder) == 18


def test_a_short_time_costs_seeds_before_places_and_is_told(
    sites: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = iter([False] * 12)  # both places under three schemes, and as much again
    monkeypatch.setattr(_tune_finder, "_is_over", lambda *_: next(asked, True))
    code, facts = run(capsys, sites, ["sander-loss2"], tmp_path / "short", seeds=3)
    assert code is ExitCode.DONE
    assert [item["seeds"] for item in facts["matrix"]] == [2, 2]
    assert "2 of 2 places have fewer seeds than the 3 planned" in facts["notes"][0]


def test_no_time_for_a_single_place_is_an_error_that_says_what_to_do(sites: list[str], tmp_path: Path) -> None:
    with pytest.raises(MixedschedError, match="too short for a single place") as caught:
        find_schemes(job(sites, ["cable"]), 0.0, tmp_path / "none", as_json=False)
    assert "--budget" in caught.value.fix


def test_interrupted_it_tells_what_is_known_and_goes_on_later(
    sites: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    advance, seen = Progress.advance, []

    def interrupted(self: Progress) -> None:
        seen.append(1)
        if len(seen) == 4:
            raise KeyboardInterrupt
        advance(self)

    folder = tmp_path / "stopped"
    with monkeypatch.context() as patched:
        patched.setattr(Progress, "advance", interrupted)
        code, facts = run(capsys, sites, ["cable"], folder, rung="pipe")
    assert code is ExitCode.INTERRUPTED
    assert facts["left_out"] == [{"site": "small", "network": "cable"}]
    assert facts["notes"][-1].startswith("Stopped early")
    code, facts = run(capsys, sites, ["cable"], folder, rung="pipe")
    assert code is ExitCode.DONE
    assert len(facts["matrix"]) == 2


def test_pages_are_named_and_doubles_refused(sites: list[str]) -> None:
    assert list(named_pages(sites)) == ["big", "small"]
    assert list(named_pages([str(Path(sites[0]).parent)])) == ["big", "small"]
    with pytest.raises(UsageError, match="named twice"):
        named_pages([sites[0], sites[0]])
