"""Benchmarks that go on where they stopped, or last for long: what they measure anew, and what they call good."""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from benchmarks import backends, edge_soak, lateness, machines, networks, tuned, vgprio
from benchmarks._postgres import Postgres
from benchmarks.edge_soak import Tally, judged
from mixedsched.errors import ExitCode, MissingPartError, MixedschedError

WHOLE, FLAT = ("gtlsclient", "whole"), [100.0, 100.0, 101.0, 101.0]


@pytest.mark.parametrize(
    ("counts", "wrong", "samples_mb", "descriptors", "is_good"),
    [
        ({WHOLE: 5, ("gtlsclient", "cut off"): 2}, [], FLAT, (14, 14), True),
        ({("gtlsclient", "cut off"): 500}, [], FLAT, (14, 14), False),
        ({}, [], FLAT, (14, 14), False),
        ({WHOLE: 5}, ["gtlsclient /a"], FLAT, (14, 14), False),
        ({WHOLE: 5}, [], [100.0, 100.0, 120.0, 140.0], (14, 14), False),
        ({WHOLE: 5}, [], FLAT, (14, 15), False),
    ],
    ids=["good", "all cut off", "nothing at all", "a wrong byte", "memory grows", "a descriptor lost"],
)
def test_an_edge_has_served_every_client_without_growing(
    counts: dict[tuple[str, str], int],
    wrong: list[str],
    samples_mb: list[float],
    descriptors: tuple[int, int],
    is_good: bool,
) -> None:
    tally = Tally(wrong=wrong)
    tally.counts.update(counts)
    assert judged(samples_mb, descriptors, ["gtlsclient"], tally, 1) is is_good


def test_an_edge_is_not_watched_without_any_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_soak, "CLIENTS", ())
    with pytest.raises(MissingPartError):
        edge_soak.ready_clients()


class _LabOfNone:
    """In the place of a laboratory: its loads take no time, and are noted."""

    def __init__(self, loads: list[tuple[str, int]]) -> None:
        self._loads = loads

    def __call__(self, *_: object) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def run(self, *, arm: str, block: int, **_: object) -> SimpleNamespace:
        self._loads.append((arm, block))
        return SimpleNamespace(relay={}, page_load={}, reason="")


def test_loads_go_on_where_they_stopped_and_are_warmed_up_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[tuple[str, int]] = []
    monkeypatch.setattr(lateness, "Lab", _LabOfNone(loads))
    monkeypatch.setattr(lateness, "PATTERNS", lateness.PATTERNS[:1])
    monkeypatch.setattr(lateness, "open_site", lambda *_, **__: None)
    warm_up = [(scheme, 0) for scheme in lateness.SCHEMES]
    file = tmp_path / "loads.jsonl"
    for blocks, measured in ((1, [1, 1]), (2, [2, 2])):
        asyncio.run(lateness._measure(argparse.Namespace(site="a", link="4g", blocks=blocks), file))
        assert loads[:2] == warm_up
        assert [block for _, block in loads[2:]] == measured
        loads.clear()
    asyncio.run(lateness._measure(argparse.Namespace(site="a", link="4g", blocks=2), file))
    assert loads == []


def test_a_network_that_cannot_be_measured_again_keeps_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def missing(*_: object) -> dict[str, Any]:
        raise MissingPartError("no QEMU")

    async def found(*_: object) -> dict[str, Any]:
        return {"findings": []}

    given = argparse.Namespace(results=tmp_path, again=False, seed=1, losses_s=1.0)
    for check, again, number, told, rounds in (
        (found, False, 1, "ok", 1),
        (found, False, 2, "ok", 2),
        (missing, True, 1, "left out: no QEMU", 2),
        (found, True, 2, "left as it was", 2),
        (found, True, 1, "ok", 1),
    ):
        monkeypatch.setattr(networks, "_checked", check)
        given.again = again
        assert networks.measure(given, "vm", "4g", number) == told
        assert len(networks.stored(tmp_path, "vm", "4g")["rounds"]) == rounds


def test_where_no_back_end_can_be_used_the_pages_that_are_known_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pages-agency-4g.json"
    file.write_text("{}")
    monkeypatch.setattr(backends, "_why_not", lambda *_: "no privilege")
    monkeypatch.setattr(sys, "argv", ["", "--results", str(tmp_path), "--links", "4g"])
    with pytest.raises(MissingPartError, match="no privilege"):
        backends.main()
    assert file.read_text() == "{}"


def test_tunings_without_a_result_are_named_at_the_end_and_the_others_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def tune(command: list[str]) -> int:
        asked.append(command[command.index("tune") + 1])
        return ExitCode.MISSING_PART if asked[-1] == "b" else ExitCode.DONE

    monkeypatch.setattr(tuned, "RESULTS", tmp_path)
    monkeypatch.setattr(tuned, "run_to_its_end", tune)
    monkeypatch.setattr(sys, "argv", ["", "a", "b", "c", "--links", "4g"])
    with pytest.raises(MixedschedError, match=r"no result for b over 4g \("):
        tuned.main()
    assert asked == ["a", "b", "c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "a-4g", "c-4g"]


def test_vgprio_is_played_over_no_network_that_its_page_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert vgprio._options(["--links", "sander-rtt50,vgprio-bw10-rtt10"]).links == ("sander-rtt50", "vgprio-bw10-rtt10")
    with pytest.raises(SystemExit):
        vgprio._options(["--links", "sander-rtt50,4g"])
    assert "'4g' is none of vgprio-bw10-rtt50" in capsys.readouterr().err


def test_workers_that_have_ended_early_are_not_waited_for() -> None:
    with subprocess.Popen(["true"]) as worker, pytest.raises(MixedschedError, match="ended early"):
        machines._while_any([worker], lambda: True)


def test_a_database_that_cannot_be_made_leaves_nothing_behind(tmp_path: Path) -> None:
    server = Postgres(tmp_path)  # where there are no programs
    with pytest.raises(OSError, match="initdb"), server:
        pass
    assert not server.socket.parent.exists()
