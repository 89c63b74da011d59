from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.lab.learning.churn import churned
from mixedsched.lab.learning.school import learn, teach
from mixedsched.lab.learning.taught import TaughtScheme
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.simulation import simulate, with_visits
from mixedsched.lab.play.task import NamedScheme
from mixedsched.model.page import Page
from mixedsched.world import catalog
from tests.command import run


def page(hero: str = "late") -> Page:
    """A large first image that nobody sees, and a hero, known to Chromium by layout alone."""
    images = [
        {"id": name, "kind": "image", "path": f"/{name}.jpg", "body_bytes": size, "found_by": "html", "found_when": "bytes",
         "found_at_bytes": at, "chromium_priority": "Medium", "flags": ["hero", "above_fold"] if name == hero else []}
        for name, size, at in (("early", 60_000, 600), ("other", 60_000, 700), ("late", 60_000, 800))
    ]  # fmt: skip
    return Page.from_dict(
        {
            "format": "mixedsched.page/1",
            "name": "small",
            "resources": [
                {"id": "html", "kind": "document", "path": "/", "body_bytes": 9000},
                {"id": "css", "kind": "stylesheet", "path": "/a.css", "body_bytes": 8000, "found_by": "html",
                 "found_when": "bytes", "found_at_bytes": 300, "flags": ["in_head", "critical"]},
                *images,
            ],
        }
    )  # fmt: skip


def scenario(**changes: Any) -> Scenario:
    return replace(
        Scenario(page(), catalog.load_profile("slow-4g"), model=catalog.load_browser_model("chromium")), **changes
    )


def piped() -> Scenario:
    return scenario(link=PipeOptions())


@pytest.mark.parametrize("churn", [0.0, 0.22])
def test_visits_teach_what_is_seen_though_names_change(churn: float) -> None:
    before = simulate(page(), "adaptive", link="slow-4g", browser_model="chromium").estimate_ms["lcp"]
    after = simulate(page(), "adaptive", link="slow-4g", browser_model="chromium", visits=4, churn=churn).estimate_ms[
        "lcp"
    ]
    assert after < 0.8 * before


def test_beacons_are_asked_for_as_a_parameter_too() -> None:
    (asked,) = with_visits([NamedScheme("adaptive:beacons=yes")], 4)
    (told,) = with_visits([NamedScheme("adaptive")], 4, beacons=True)
    (silent,) = with_visits([NamedScheme("adaptive:beacons=no")], 4)
    states = [
        teach(piped(), item.visits, beacons=item.beacons)
        for item in (asked, told, silent)
        if isinstance(item, TaughtScheme)
    ]
    assert [state.told.visits for state in states] == [4, 4, 0]


def test_after_a_redesign_the_safe_order_is_back() -> None:
    state = teach(scenario(), 4)
    assert state.settled() is not None
    anew = Page.from_dict(
        {
            "format": "mixedsched.page/1",
            "name": "small",
            "resources": [
                {"id": "html", "kind": "document", "path": "/", "body_bytes": 30_000},
                *(
                    {"id": f"s{number}", "kind": "script", "path": f"/v2/{number}", "body_bytes": 900 * 3**number,
                     "found_by": "html", "found_when": "bytes", "found_at_bytes": 900}
                    for number in range(6)
                ),
            ],
        }
    )  # fmt: skip
    for number in range(3):
        learn(state, scenario(page=anew), number, random.Random(number))
    assert state.settled() is None


def test_on_rung_pipe_visits_teach_too() -> None:
    state = teach(piped(), 4)
    assert state.memory.visits == 4
    assert len(state.memory.roles) == 5


def test_the_same_visits_teach_the_same() -> None:
    one, other = (teach(scenario(), 3, churn=0.5, seed=7).to_dict() for _ in range(2))
    assert one == other


def test_churn_renames_a_share_of_all_but_the_document() -> None:
    renamed = churned(page(), 1.0, random.Random(1))
    assert renamed.main.path == "/"
    assert all(new.path != old.path for new, old in zip(renamed.resources[1:], page().resources[1:], strict=True))
    assert all(new.path.endswith((".css", ".jpg")) for new in renamed.resources[1:])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--scheme", "eps", "--visits", "3"), "--visits is for scheme adaptive"),
        (("--scheme", "adaptive", "--churn", "0.2"), "belong to visits"),
        (("--scheme", "adaptive:beacons=yes"), "belong to visits"),
        (("--scheme", "adaptive:beacons=maybe", "--visits", "3"), "beacons=maybe is not possible"),
        (("--scheme", "adaptive", "--visits", "3", "--churn", "7"), "--churn 7 is not possible"),
    ],
)
def test_visits_that_make_no_sense_are_refused(arguments: tuple[str, ...], said: str) -> None:
    result = run("simulate", "davies-meenan", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
