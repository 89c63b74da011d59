"""How a study on rung `browser` treats loads that fail, with a laboratory whose loads are written down beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from mixedsched.errors import UsageError
from mixedsched.lab.bench import Design
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study._measuring import design_of
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.export import study_rows
from mixedsched.lab.study.places import MeasuredPlace, open_places, sites_of
from mixedsched.lab.study.results import StudyResult
from mixedsched.lab.study.session import run_study, stored_results
from mixedsched.lab.study.worker import WorkerOptions, run_worker
from mixedsched.model.profile import Profile
from mixedsched.world.browser.pageload import PageLoadFailed
from mixedsched.world.store import PlannedBlock, PlannedPlace, QuarantinedError, StoredLoad, StudyStore
from tests.lab.scripted import ScriptedLab
from tests.small_site import write_small_site

Fate = Callable[[str, str, int, int], RunStatus]  # of a load, by site, arm, block and attempt


class Rooms:
    """Laboratories for places, one at a time."""

    def __init__(self, fate: Fate = lambda *_: RunStatus.OK) -> None:
        self.fate = fate
        self.chromium = "1"
        self.silent = 0
        """How many laboratories to come say nothing about their browser."""
        self.opened: list[str] = []
        self.lcp_ms: Callable[[int, int], float] | None = None
        """Of a load, by position in its block and the number of loads before it."""
        self.loads = 0

    def __call__(self, design: Design, network: Profile, _folder: Path) -> OneRoom:
        return OneRoom(self, design.arms[0].site.name, network.name)


class OneRoom(ScriptedLab):
    def __init__(self, rooms: Rooms, site: str, link: str) -> None:
        super().__init__(lambda arm, block, attempt: rooms.fate(site, arm, block, attempt))
        self._rooms = rooms
        self._place = f"{site}@{link}"

    async def __aenter__(self) -> Self:
        self._rooms.opened.append(self._place)
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def run(self, **which: Any) -> Run:
        made = await super().run(**which)
        self._rooms.loads += 1
        if self._rooms.lcp_ms is None:
            return made
        lcp_ms = self._rooms.lcp_ms(made.position, self._rooms.loads - 1)
        return replace(made, page_load={"metrics": {"fcp_ms": 500.0, "lcp_ms": lcp_ms}})

    async def versions(self) -> dict[str, str]:
        if self._rooms.silent:
            self._rooms.silent -= 1
            raise PageLoadFailed("worker_silent", "no answer within 30 s")
        return {"chromium": self._rooms.chromium}


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> Rooms:
    found = Rooms()
    monkeypatch.setattr(Design, "laboratory", lambda *arguments: found(*arguments))
    return found


def study(folder: Path, **changed: Any) -> Study:
    for name in ("one", "two"):
        if not (folder / name).is_dir():
            write_small_site(folder / name)
    tables = {
        "format": "mixedsched.study/1",
        "name": "scripted",
        "rung": "browser",
        "sites": ["one", "two"],
        "links": ["fiber"],
        "arms": ["sequential", "mixed"],
        "baseline": "sequential",
        "blocks": 2,
    }
    return Study.from_dict({**tables, **changed}, folder)


@pytest.fixture(autouse=True)
def own_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded here: a study that really loads pages on this machine need not be waited for."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def run(folder: Path, **changed: Any) -> StudyResult:
    return run_study(study(folder, **changed), folder=folder / "out")


def stored(folder: Path) -> list[StoredLoad]:
    with StudyStore(f"sqlite:///{folder / 'out' / DATABASE_NAME}") as store:
        return list(store.loads(store.studies()[0].id))


def attempts(folder: Path) -> list[tuple[int, str]]:
    """Of the first place's first block."""
    loads = stored(folder)
    return [(item.attempt, item.status) for item in loads if item.place_id == loads[0].place_id and item.block == 1]


def test_several_blocks_of_a_place_are_loaded_at_a_sitting(rooms: Rooms, tmp_path: Path) -> None:
    assert [place.blocks for place in run(tmp_path, blocks=7).places] == [(1, 2, 3, 4, 5, 6, 7)] * 2
    assert rooms.opened == ["one@fiber", "two@fiber"] * 2, "five blocks each, then two"


def test_a_load_that_fails_voids_its_block_which_is_made_again(rooms: Rooms, tmp_path: Path) -> None:
    rooms.fate = lambda _, arm, block, attempt: (
        RunStatus.INVALID if (arm, block, attempt) == ("mixed", 1, 1) else RunStatus.OK
    )
    assert not run(tmp_path).is_partial
    good = [item for item in attempts(tmp_path) if item[1] == "ok"]
    assert (1, "invalid") in attempts(tmp_path)
    assert [attempt for attempt, _ in good][-2:] == [2, 2]
    seeds = {item.attempt: item.seed for item in stored(tmp_path) if item.block == 1}
    assert seeds[2] == seeds[1] + 1, "over another link"


def test_a_block_is_made_three_times_a_command_at_most(rooms: Rooms, tmp_path: Path) -> None:
    rooms.fate = lambda site, arm, block, _: (
        RunStatus.FAILED if (site, arm, block) == ("one", "sequential", 2) else RunStatus.OK
    )
    for commands in (1, 2):
        assert [(place.site, place.missing) for place in run(tmp_path).places] == [("one", 1), ("two", 0)]
        failed = [item.attempt for item in stored(tmp_path) if item.status == "failed"]
        assert failed == list(range(1, 3 * commands + 1))


def test_a_page_that_never_loads_is_given_up_and_others_go_on(rooms: Rooms, tmp_path: Path) -> None:
    rooms.fate = lambda site, *_: RunStatus.FAILED if site == "one" else RunStatus.OK
    assert [(place.site, place.missing) for place in run(tmp_path, blocks=5).places] == [("one", 5), ("two", 0)]
    assert len(attempts(tmp_path)) == 3
    rooms.fate = lambda *_: RunStatus.OK
    assert not run(tmp_path, blocks=5).is_partial


def test_a_security_update_of_the_browser_does_not_end_a_study_which_then_names_both(
    rooms: Rooms, tmp_path: Path
) -> None:
    rooms.chromium = "156.0.8078.79"
    run(tmp_path, blocks=1)
    rooms.chromium = "156.0.8078.108"
    for blocks in (2, 3):
        assert not run(tmp_path, blocks=blocks).is_partial
    rooms.chromium = "156.0.8079.1"
    with pytest.raises(UsageError, match=r"156\.0\.8078\.79, 156\.0\.8078\.108 -> 156\.0\.8079\.1"):
        run(tmp_path, blocks=4)
    with StudyStore(f"sqlite:///{tmp_path / 'out' / DATABASE_NAME}") as store:
        (kept,) = store.studies()
        assert kept.facts["laboratory"] == {"chromium": "156.0.8078.79, 156.0.8078.108"}
        assert {row["browser"] for row in study_rows(store, kept)} == {"156.0.8078.79, 156.0.8078.108"}


def test_loads_of_another_browser_are_refused_with_both_versions(rooms: Rooms, tmp_path: Path) -> None:
    run(tmp_path, blocks=1)
    rooms.chromium = "2"
    with pytest.raises(UsageError, match=r"chromium 1 -> 2"):
        run(tmp_path)


def test_a_worker_leaves_a_study_of_another_browser_to_others(rooms: Rooms, tmp_path: Path) -> None:
    run(tmp_path, blocks=1)
    rooms.chromium = "2"
    with pytest.raises(UsageError):
        run(tmp_path)
    told: list[str] = []
    run_worker(WorkerOptions(f"sqlite:///{tmp_path / 'out' / DATABASE_NAME}", waits=False), told.append)
    assert any("is left to others" in line and "chromium 1 -> 2" in line for line in told)
    rooms.chromium = "1"
    run_worker(WorkerOptions(f"sqlite:///{tmp_path / 'out' / DATABASE_NAME}", waits=False), told.append)
    assert len(stored(tmp_path)) == 2 * 2 * 2


def test_a_laboratory_that_does_not_come_up_is_tried_again(rooms: Rooms, tmp_path: Path) -> None:
    rooms.silent = 2
    assert not run(tmp_path).is_partial
    rooms.silent = 3
    with pytest.raises(PageLoadFailed):
        run(tmp_path, blocks=3)
    assert not run(tmp_path, blocks=3).is_partial


def worker(folder: Path, **options: Any) -> list[str]:
    """What a worker says that shares the study's database, as machine `m`, and ends with its work."""
    told: list[str] = []
    url = f"sqlite:///{folder / 'out' / DATABASE_NAME}"
    run_worker(WorkerOptions(url, study="scripted", machine="m", waits=False, **options), told.append)
    return told


def checks(folder: Path) -> list[dict[str, Any]]:
    """Of the workers that were checked."""
    with StudyStore(f"sqlite:///{folder / 'out' / DATABASE_NAME}") as store:
        return [worker.facts["check"] for worker in store.workers() if "check" in worker.facts]


def planned(folder: Path, blocks: int) -> None:
    """A study of one place whose first block is made, with a machine of its own."""
    run(folder, sites=["one"], blocks=1)
    with StudyStore(f"sqlite:///{folder / 'out' / DATABASE_NAME}") as store:
        place = store.places(store.studies()[0].id)[0]
        more = PlannedPlace(
            place.number, place.site, place.link, place.facts, [PlannedBlock(n, n) for n in range(2, blocks + 1)]
        )
        store.add_places(store.studies()[0].id, [more])


def test_a_machine_that_measures_for_others_is_checked_when_it_joins_and_every_ten_blocks(
    rooms: Rooms, tmp_path: Path
) -> None:
    rooms.lcp_ms = lambda position, number: 1000.0 + position + number % 3
    planned(tmp_path, 24)
    worker(tmp_path)
    (check,) = checks(tmp_path)
    assert (check["place"], check["arm"], check["metric"]) == ("one@fiber", "sequential", "lcp_ms")
    assert (len(check["at_entry"]), len(check["since"])) == (3, 2)
    assert check["relay_late_p99_us"] > 0
    assert len(stored(tmp_path)) == 24 * 2, "those of checks are no loads of the study"


def test_a_study_of_one_machine_costs_no_checks(rooms: Rooms, tmp_path: Path) -> None:
    run(tmp_path, sites=["one"])
    assert checks(tmp_path) == []
    assert rooms.loads == 2 * 2 + 1, "two blocks, and a warm-up"


def test_a_machine_that_differs_from_itself_measures_nothing_until_it_is_readmitted(
    rooms: Rooms, tmp_path: Path
) -> None:
    planned(tmp_path, 3)
    rooms.lcp_ms = lambda position, _: 1000.0 + 400 * position
    with pytest.raises(QuarantinedError, match=r"differs from itself by \+40.0 %"):
        worker(tmp_path)
    assert len(stored(tmp_path)) == 2
    rooms.lcp_ms = lambda *_: 1000.0
    with pytest.raises(QuarantinedError, match="--readmit"):
        worker(tmp_path)
    worker(tmp_path, readmit=True)
    assert len(stored(tmp_path)) == 3 * 2


def test_a_machine_that_becomes_slow_is_stopped_and_results_say_so(rooms: Rooms, tmp_path: Path) -> None:
    rooms.lcp_ms = lambda _, number: 1000.0 + 20 * number
    planned(tmp_path, 80)
    with pytest.raises(QuarantinedError, match="slower since it joined"):
        worker(tmp_path)
    made = stored(tmp_path)
    assert 2 * 2 < len(made) < 80 * 2
    with StudyStore(f"sqlite:///{tmp_path / 'out' / DATABASE_NAME}") as store:
        found = stored_results(store)
    assert "slower" in found.facts["machine m"]["quarantined"]
    assert found.places[0].planned - len(found.places[0].blocks) == 80 - len(made) // 2, "others may make the rest"


def test_blocks_beyond_those_of_the_file_are_loaded_until_it_is_decided(rooms: Rooms, tmp_path: Path) -> None:
    run_study(study(tmp_path, sites=["one"]), folder=tmp_path / "out", until="decided", max_blocks=12)
    assert max(item.block for item in stored(tmp_path)) == 12, "loads without values decide nothing"


def test_what_the_file_says_of_loads_reaches_the_laboratory(tmp_path: Path) -> None:
    given = study(
        tmp_path,
        congestion_control="reno",
        cpu_slowdown=3,
        form_factor="desktop",
        backend="netns",
        across_connections=True,
        mapping="gupta2024",
        metrics=["fcp"],
        seed=7,
    )
    place = open_places(given, [(0, sites_of(given)[0], "fiber")], lambda _: None)[0]
    assert isinstance(place, MeasuredPlace)
    design = design_of(given, place)
    assert (design.conditions.congestion_control, design.conditions.cpu_slowdown) == ("reno", 3)
    assert (design.form_factor, design.backend, design.across_connections) == ("desktop", "netns", True)
    assert [item.arm.mapping for item in design.arms] == [None, "gupta2024"], "sequential uses no table"
    assert (design.metrics, design.seed, design.baseline) == (("fcp_ms", "lcp_ms"), 7, "sequential")
    slow = study(tmp_path, throttling="simulate")
    assert design_of(slow, place).conditions.throttling == "simulate"
