"""Requests for which the site had nothing are shown with the comparison, and void no run."""

from __future__ import annotations

from typing import Any

from mixedsched.lab.diagnostics import misses_of
from mixedsched.lab.model import Run, RunStatus


def run(arm: str, *missed: str, status: RunStatus = RunStatus.OK) -> Run:
    lines: list[dict[str, Any]] = [
        {"method": "GET", "authority": "shop.test", "path": "/", "status": 200, "missed": False},
        {"method": "GET", "authority": "shop.test", "path": "/old", "status": 404},  # a log of an earlier version
        *({"method": "POST", "authority": "shop.test", "path": path, "status": 404, "missed": True} for path in missed),
    ]
    return Run(1, 1, arm, 0, status, placements=tuple(lines))


def test_a_run_names_what_was_missed() -> None:
    assert run("mixed", "/a", "/a").misses == ("POST https://shop.test/a",) * 2
    assert run("mixed").misses == ()


def test_source_maps_are_lighthouses_own() -> None:
    assert misses_of([run("mixed", "/vendor/app.js.map?v=1")], ["mixed"]) == []
    (found,) = misses_of([run("mixed", "/app.js.map", "/a")], ["mixed"])
    assert found.requests == (("POST https://shop.test/a", 1),)


def test_arms_tell_in_how_many_runs_each_request_was_missed() -> None:
    runs = [
        run("mixed", "/b", "/a"),
        run("mixed", "/a", "/a"),
        run("mixed"),
        run("mixed", "/x", status=RunStatus.FAILED),
        run("fifo"),
    ]
    (found,) = misses_of(runs, ["fifo", "mixed"])
    assert (found.arm, found.runs, found.missing_runs) == ("mixed", 3, 2)
    assert found.requests == (("POST https://shop.test/a", 2), ("POST https://shop.test/b", 1))
    assert found.to_dict()["requests"][0] == {"request": "POST https://shop.test/a", "runs": 2}
