"""Simulated loads: the same from any number of processes, in order, played once, and nothing is left behind."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from mixedsched.core import sim
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.core.sim import stack
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.errors import MixedschedError, PageLoadError, UsageError
from mixedsched.lab.play import pool as play_pool
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.simulation import RecordReader
from mixedsched.lab.play.stored import PLAYING_CODE, PlayedLoads
from mixedsched.lab.play.task import LoadTimes, NamedScheme, PaintReader, Player, Task, TimesReader, play_whole
from mixedsched.model.profile import Direction, Profile, RandomLoss
from mixedsched.world import catalog, places
from tests.advice.tuner.pages import shop

SLOW_4G = catalog.load_profile("slow-4g")
ON_STACK = Scenario(shop(), SLOW_4G)
LOST = Direction(rate_bps=1_000_000, delay_us=10_000, loss=RandomLoss(1.0))
ENDLESS = Scenario(shop(), Profile("endless", "", "", LOST, LOST))
TASKS = [
    Task(scenario, NamedScheme(spec), seed)
    for spec in ("eps", "sequential", "mixed")
    for scenario in (ON_STACK, ON_STACK.on_pipe, Scenario(shop(), PipeOptions(send_buffer_bytes=14_000)))
    for seed in (1, 2)
]


@pytest.mark.slow
def test_any_number_of_processes_plays_the_same_in_the_order_of_the_tasks() -> None:
    alone = Pool(PaintReader, 1).play(TASKS)
    assert alone == [Player(PaintReader).play(task) for task in TASKS]
    with Pool(PaintReader, 2) as pool:
        assert pool.play(TASKS) == alone
        assert pool.play(TASKS[::-1]) == alone[::-1], "processes that know the scenarios already"
        assert list(pool.results(TASKS, lot=5)) == alone


@pytest.mark.slow
def test_processes_remember_few_scenarios_and_play_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play_pool, "SCENARIOS_MOST", 3)
    page = shop()
    tasks = [Task(Scenario(page, PipeOptions(packet_bytes=500 + 100 * n)), NamedScheme("eps")) for n in range(12)]
    with Pool(PaintReader, 2) as pool:
        assert pool.play([*tasks, *tasks]) == 2 * Pool(PaintReader, 1).play(tasks)


@pytest.mark.slow
def test_results_come_while_tasks_are_still_being_thought_of() -> None:
    tasks = (replace(TASKS[2], seed=seed) for seed in count())
    with Pool(PaintReader, 2) as pool:
        found = pool.results(tasks)
        assert next(found) == next(found) is not None
        found.close()
        assert not multiprocessing.active_children(), "no process is left with work in hand"
    assert next(tasks).seed < 100


class LargeReader:
    """Results that are more than a pipe holds."""

    until = None

    def __init__(self, _: Scenario) -> None:
        pass

    def read(self, _: Task, load: object) -> bytes:
        assert load
        return bytes(1_000_000)


@pytest.mark.slow
def test_large_scenarios_and_large_results_pass_each_other() -> None:
    """Each end has more to send than a pipe holds, at the same time: neither may wait for the other one to read first."""
    tasks = [Task(Scenario(shop(), PipeOptions(), (f"{n}" * 1_000_000,)), NamedScheme("eps")) for n in range(6)]
    results: list[bytes] = []
    with Pool(LargeReader, 2) as pool:
        playing = threading.Thread(target=lambda: results.extend(pool.play(tasks)), daemon=True)
        playing.start()
        playing.join(600)  # it is over in a second, or never
    assert len(results) == len(tasks)


def test_a_load_that_ends_with_its_last_paint_has_the_paints_of_the_whole_load() -> None:
    task = Task(ON_STACK, NamedScheme("mixed"))
    whole = play_whole(task)
    assert Player(PaintReader).play(task) == PaintReader(ON_STACK).read(task, whole)
    assert Player(TimesReader).play(task) == LoadTimes.of(whole)


def test_what_is_imported_for_the_first_load_is_no_part_of_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times many loads it would be minutes, for which a budget that suffices would be refused."""
    there: list[bool] = []

    def clock_s() -> float:
        there.append(stack.__name__ in sys.modules)
        return 0.0

    monkeypatch.delitem(sys.modules, stack.__name__)
    monkeypatch.delattr(sim, "stack")
    monkeypatch.setattr(play_pool, "time", SimpleNamespace(monotonic=clock_s))
    play_pool.playing_costs([ON_STACK], NamedScheme("eps"), 1, lambda _: 1)
    assert there == [True, True]


def test_a_load_that_never_ends_has_no_paints_and_no_times() -> None:
    task = Task(ENDLESS, NamedScheme("eps"))
    assert Player(PaintReader).play(task) is None
    assert Player(TimesReader).play(task) is None
    with pytest.raises(PageLoadError):
        play_whole(task)


def test_a_failed_load_is_recorded_under_the_scheme_as_written() -> None:
    failed = Player(RecordReader).play(Task(ENDLESS, NamedScheme("eps", "gupta2024")))
    assert failed.record["scheme"] == "eps"
    assert failed.error
    assert Player(RecordReader).play(Task(ON_STACK, NamedScheme("eps", "gupta2024"))).record["scheme"] == "eps"


@pytest.mark.slow
def test_a_scheme_that_does_not_exist_is_refused_from_other_processes_too() -> None:
    with Pool(PaintReader, 2) as pool, pytest.raises(UsageError, match="there is no scheme 'none'"):
        pool.play([*TASKS, Task(ON_STACK, NamedScheme("none"))])


@pytest.mark.slow
def test_a_process_that_is_killed_is_an_error_and_is_replaced() -> None:
    with Pool(PaintReader, 2) as pool:
        whole = pool.play(TASKS)
        for child in multiprocessing.active_children():
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
            child.join()
        with pytest.raises(MixedschedError, match="a worker process died"):
            pool.play(TASKS)
        assert pool.play(TASKS) == whole
    assert not multiprocessing.active_children()


def paints(folder: Path, patch: pytest.MonkeyPatch | None = None, loads: int = 0) -> PlayedLoads[PaintEstimate | None]:
    """Played in this process. patch: there comes an interrupt when so many loads are played."""

    def interrupted(_: object, tasks: Iterable[Task]) -> Iterator[PaintEstimate | None]:
        for number, task in enumerate(tasks):
            if number == loads:
                raise KeyboardInterrupt
            yield Player(PaintReader).play(task)

    if patch is not None:
        patch.setattr(Pool, "results", interrupted)
    return PlayedLoads(PaintReader, folder, jobs=1)


def test_what_was_played_is_not_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [*TASKS, Task(ENDLESS, NamedScheme("eps")), TASKS[0]]
    with paints(tmp_path) as loads:
        played = loads.play(tasks)
    assert played[-1] == played[0]
    with paints(tmp_path, monkeypatch) as loads:
        assert loads.play(tasks[::-1]) == played[::-1]


def test_what_was_done_before_an_interruption_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with paints(tmp_path, monkeypatch, 3) as loads, pytest.raises(KeyboardInterrupt):
        loads.play(TASKS)
    with paints(tmp_path, monkeypatch) as loads:
        assert loads.play(TASKS[:3]) == list(map(Player(PaintReader).play, TASKS[:3]))
        with pytest.raises(KeyboardInterrupt):
            loads.play(TASKS[:4])


def test_the_simulator_is_all_code_that_playing_takes() -> None:
    """What is only told of the machine plays nothing."""
    parts = [places.PACKAGE / part for part in PLAYING_CODE if part.startswith("lab/")]
    sources = "".join(file.read_text(encoding="utf-8") for part in parts for file in sorted(part.rglob("*.py")))
    taken = {*re.findall(r"\bmixedsched\.lab\.(\w+)", sources)} - {"machine"}
    assert {f"lab/{name}" for name in taken} <= set(PLAYING_CODE)


def test_another_seed_scheme_scenario_result_or_simulator_is_played_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = TASKS[0]
    with paints(tmp_path) as loads:
        loads.play([task])
    varied = replace(ON_STACK, is_varied=True)
    others = [replace(task, seed=7), replace(task, scheme=NamedScheme("fifo")), replace(task, scenario=varied)]
    with paints(tmp_path, monkeypatch) as loads:
        for other in others:
            with pytest.raises(KeyboardInterrupt):
                loads.play([other])
    with PlayedLoads(TimesReader, tmp_path, jobs=1) as times, pytest.raises(KeyboardInterrupt):
        times.play([task])
    monkeypatch.setattr("mixedsched.lab.play.stored.own_versions", lambda _: {"code": "another"})
    with paints(tmp_path, monkeypatch) as loads, pytest.raises(KeyboardInterrupt):
        loads.play([task])
