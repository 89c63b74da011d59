"""The whole search: it finds what there is, depends on nothing but its arguments, and goes on where it was interrupted."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from sqlalchemy import Engine, event

from mixedsched.advice.tuner._canonical import enumerated, everything
from mixedsched.advice.tuner._search import SearchResult, best_so_far, run_search
from mixedsched.advice.tuner.objective import BASELINES, Objective, Scorer, parse_objective
from mixedsched.advice.tuner.space import DEFAULT_SCHEMES, Space
from mixedsched.advice.tuner.trials import Limit, Memory, Options, SearchState
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import MixedschedError
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import PaintReader, Task
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.profile import Direction, Profile, RandomLoss
from tests.advice.replaying import Replaying
from tests.advice.tuner.pages import HURRIED, made_up_page, shop

CLEAN = Profile(
    "clean", "", "", Direction(rate_bps=2_000_000, delay_us=40_000, queue_bytes=60_000), Direction(delay_us=40_000)
)
LOSSY = replace(CLEAN, name="lossy", down=replace(CLEAN.down, loss=RandomLoss(0.02)))
LCP = parse_objective("lcp", "mobile")
SMALL = Options(pipe=Limit(40), stack=Limit(10), seeds=2, held_out=2)
PAGE = made_up_page(7, resources=4, looks=4)


def search(
    page: Page,
    options: Options,
    network: Profile = CLEAN,
    schemes: Sequence[str] = ("eps", "batched-rr"),
    workers: Pool[PaintEstimate | None] | None = None,
    watch: Callable[[SearchState], None] = lambda _: None,
    bounds: Mapping[str, PaintEstimate] = MappingProxyType({}),
) -> SearchResult:
    space, scenes = Space.of([page], schemes), (Scenario(page, network),)
    return run_search(
        space, scenes, LCP, workers or Replaying(), options, clock_s=lambda: 0.0, watch=watch, bounds=bounds
    )


class Interrupted(Replaying):
    """Workers that are interrupted when so many loads of rung stack have been played."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def play(self, tasks: Sequence[Task]) -> list[PaintEstimate | None]:
        self.left -= sum(task.scenario.rung == "stack" for task in tasks)
        if self.left < 0:
            raise KeyboardInterrupt
        return super().play(tasks)


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'results.sqlite'}"


def test_it_finds_the_best_of_all_tables_of_a_small_page() -> None:
    space, scene = Space.of([PAGE], ("eps",)), (Scenario(PAGE, CLEAN),)
    found = search(PAGE, Options(pipe=Limit(200), stack=Limit(32)), schemes=("eps",))
    genomes = enumerated(space, 0, 50_000)
    assert genomes is not None
    best = score_of_best(space, scene, [space.candidate(genome) for genome in genomes], LCP)
    assert found.best[0].score <= best + 0.005


def score_of_best(
    space: Space, scenes: tuple[Scenario, ...], candidates: Sequence[object], objective: Objective
) -> float:
    """Of rung stack over the one seed that counts on a network without losses."""
    seed, workers = SMALL.search_seeds[0], Replaying()

    def play(some: Sequence[object]) -> list[PaintEstimate | None]:
        return workers.play([Task(scenes[0], item, seed) for item in some])  # type: ignore[arg-type]

    baselines = {label: ((item,),) for label, item in zip(BASELINES, play(list(BASELINES.values())), strict=True)}
    scorer = Scorer.of(objective, space.pages, SMALL.penalty, ("clean",), baselines)
    scored = [scorer.scored(one, ((item,),)) for one, item in zip(candidates, play(candidates), strict=True)]  # type: ignore[arg-type]
    return min(item.score for item in scored if item is not None)


def test_no_two_of_the_best_come_to_the_same_and_none_is_worse_than_its_follower() -> None:
    found = search(PAGE, SMALL)
    assert 1 <= len(found.best) <= 5
    assert len({tuple(item.by_network.items()) for item in found.best}) == len(found.best)
    assert [item.score for item in found.best] == sorted(item.score for item in found.best)
    assert set(found.baselines) == set(BASELINES)
    assert found.best_baseline in found.baselines


def test_rungs_tell_what_was_tried_and_the_finalists_meet_new_seeds() -> None:
    told: list[SearchState] = []
    found = search(PAGE, SMALL, LOSSY, watch=told.append)
    pipe, stack, held_out = found.rungs
    assert (pipe.rung, stack.rung, held_out.rung) == ("pipe", "stack", "held out")
    assert pipe.tried == 40
    assert stack.tried == 10
    assert stack.loads == 2 * (stack.tried + len(BASELINES))
    assert set(SMALL.search_seeds).isdisjoint(SMALL.held_out_seeds)
    assert [step for _, step in stack.history] == sorted((step for _, step in stack.history), reverse=True)
    assert {progress.rung for progress in told} == {"pipe", "stack", "held out"}
    assert held_out.best == found.best[0]


@pytest.mark.slow
def test_any_number_of_processes_finds_the_same() -> None:
    with Pool(PaintReader, 2) as workers:
        assert search(PAGE, SMALL, LOSSY, workers=workers) == search(PAGE, SMALL, LOSSY)  # type: ignore[arg-type]


def test_interrupted_anywhere_it_goes_on_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole = search(PAGE, SMALL, LOSSY)
    options = replace(SMALL, storage=url(tmp_path))
    for loads in (4, 14, 21):
        with pytest.raises(KeyboardInterrupt):
            search(PAGE, options, LOSSY, workers=Interrupted(loads))
    space, scenes = Space.of([PAGE], ("eps", "batched-rr")), (Scenario(PAGE, LOSSY),)
    so_far = best_so_far(space, scenes, LCP, options)
    assert so_far is not None
    assert [rung.rung for rung in so_far.rungs] == ["pipe", "stack"]
    assert search(PAGE, options, LOSSY) == whole
    assert best_so_far(space, scenes, LCP, options) == whole


@pytest.mark.slow
def test_the_name_under_which_a_search_is_stored_does_not_depend_on_hashes() -> None:
    program = "from tests.advice.tuner.test_search import *; print(Scenario(shop(), LOSSY).digest)"
    names = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert names == {f"{Scenario(shop(), LOSSY).digest}\n"}


def test_a_batch_of_which_a_part_is_stored_is_completed(tmp_path: Path) -> None:
    options = replace(SMALL, storage=url(tmp_path))
    whole = search(PAGE, options)
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as database, database:
        last = database.execute("select max(trial_id) from trials").fetchone()[0]
        for table in ("trial_params", "trial_values", "trial_user_attributes", "trials"):
            database.execute(f"delete from {table} where trial_id > {last - 3}")
    assert search(PAGE, options) == whole


def test_before_anything_is_stored_there_is_no_best_so_far(tmp_path: Path) -> None:
    options = replace(SMALL, storage=url(tmp_path))
    assert best_so_far(Space.of([PAGE], ("eps",)), (Scenario(PAGE, CLEAN),), LCP, options) is None


def test_what_rung_pipe_had_found_survives_an_interrupt(tmp_path: Path) -> None:
    options = replace(SMALL, storage=url(tmp_path), pipe=Limit(400))

    def interrupt(progress: SearchState) -> None:
        if progress.tried:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(PAGE, options, watch=interrupt)
    found = best_so_far(Space.of([PAGE], ("eps", "batched-rr")), (Scenario(PAGE, CLEAN),), LCP, options)
    assert found is not None
    assert found.rungs[0].rung == "pipe"
    assert found.best


@pytest.mark.parametrize("moment", ["begin", "after_cursor_execute", "commit"])
def test_ctrl_c_within_a_transaction_leaves_the_database_to_those_who_tell_what_was_found(
    tmp_path: Path, moment: str
) -> None:
    memory, key, presses = Memory(url(tmp_path), "a search"), "what was found", [signal.SIGINT]

    def press(*_: object) -> None:
        if presses:
            signal.raise_signal(presses.pop())

    event.listen(Engine, moment, press)
    with pytest.raises(KeyboardInterrupt) as interrupt:  # which keeps whatever the interrupted functions held
        memory.keep(key, 1)
    event.remove(Engine, moment, press)
    assert Memory(url(tmp_path), "a search").note(key) == 1, interrupt


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("study_user_attributes set value_json = '99' where key = 'mixedsched search'", "another version"),
        ("alembic_version set version_num = 'v9.9.9'", "cannot use the database"),
    ],
    ids=["ours", "Optuna's"],
)
def test_a_database_of_another_version_is_refused(tmp_path: Path, change: str, said: str) -> None:
    options = replace(SMALL, storage=url(tmp_path), stack=Limit(0))
    search(PAGE, options)
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as database, database:
        database.execute(f"update {change}")
    with pytest.raises(MixedschedError, match=said):
        search(PAGE, options)


@pytest.mark.parametrize("what", ["read", "write"])
def test_a_database_that_fails_in_the_middle_of_a_search_is_told_in_words(tmp_path: Path, what: str) -> None:
    memory = Memory(url(tmp_path), "a search")
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as database, database:
        database.execute("drop table study_user_attributes")
    with pytest.raises(MixedschedError, match="cannot use the database") as told:
        memory.note("pipe") if what == "read" else memory.keep("pipe", {})
    assert "no such table: study_user_attributes" in told.value.why


def test_a_link_that_never_finishes_a_load_is_told() -> None:
    dead = replace(CLEAN, name="dead", down=replace(CLEAN.down, loss=RandomLoss(1.0)))
    with pytest.raises(MixedschedError, match="no load of the page ever ends over dead") as told:
        search(PAGE, SMALL, dead)
    assert "loses less" in told.value.fix


class Torn(Replaying):
    """Workers to whom half of the baselines never end on one network, and the others not on any other."""

    def play(self, tasks: Sequence[Task]) -> list[PaintEstimate | None]:
        played = zip(tasks, super().play(tasks), strict=True)
        return [None if task.scenario.rung == "stack" and self._is_lost(task) else item for task, item in played]

    def _is_lost(self, task: Task) -> bool:
        return (task.scheme.code in {"sequential", "stock"}) == (task.scenario.name == CLEAN.name)


def test_where_each_baseline_ends_on_some_networks_but_none_on_all_that_is_told() -> None:
    scenes = (Scenario(PAGE, CLEAN), Scenario(PAGE, replace(CLEAN, name="other")))
    with pytest.raises(MixedschedError, match=r"every baseline has a load .* over clean or other"):
        run_search(Space.of([PAGE], ("eps",)), scenes, LCP, Torn(), SMALL, clock_s=lambda: 0.0)


def test_a_page_of_one_resource_is_searched_to_its_end() -> None:
    page = Page.from_dict(
        {
            "format": PAGE_FORMAT,
            "name": "one",
            "resources": [{"id": "html", "path": "/", "kind": "document", "body_bytes": 9000}],
        }
    )
    found = search(page, SMALL, schemes=DEFAULT_SCHEMES)
    assert len(found.best) == 1
    assert found.all_tried == found.tried == 1


def test_a_small_space_is_tried_to_its_end_and_that_is_told() -> None:
    page = made_up_page(3, resources=3, looks=2)
    orders = everything(Space.of([page], ("eps",)), 1000)
    assert orders is not None
    whole = search(page, replace(SMALL, stack=Limit(1000)), schemes=("eps",))
    assert whole.all_tried == whole.tried == len(orders) > SMALL.stack.trials
    assert not search(page, SMALL, schemes=("eps",)).all_tried


def test_it_ends_where_the_best_baseline_is_as_early_as_can_be() -> None:
    first = search(PAGE, SMALL)
    baseline = first.baselines[first.best_baseline].by_network["clean"]
    found = search(PAGE, SMALL, bounds={"clean": baseline})
    assert (found.rungs, found.best, found.best_baseline) == ((), (), first.best_baseline)


@pytest.mark.slow
def test_it_ends_when_what_was_found_is_as_early_as_can_be() -> None:
    options = replace(SMALL, stack=Limit(40), penalty=0.0)
    long = search(HURRIED, options, schemes=("eps",))
    found = search(HURRIED, options, schemes=("eps",), bounds={"clean": long.best[0].by_network["clean"]})
    assert found.best[0] == long.best[0]
    assert found.rungs[1].tried < long.rungs[1].tried


def test_where_losses_are_random_no_bound_ends_a_search() -> None:
    first = search(PAGE, SMALL, LOSSY)
    baseline = first.baselines[first.best_baseline].by_network["lossy"]
    assert search(PAGE, SMALL, LOSSY, bounds={"lossy": baseline}).tried
