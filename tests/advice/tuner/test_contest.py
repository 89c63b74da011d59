"""Race and proof over real plans and a real store; only the loads are made up."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from mixedsched.advice.tuner.contest import Raced, bench_of, contender_arm, run_proof, run_race
from mixedsched.advice.tuner.job import Subject, TuneJob, TuneSurroundings
from mixedsched.advice.tuner.objective import parse_objective
from mixedsched.advice.tuner.result import Contender
from mixedsched.lab.bench import Bench
from mixedsched.lab.engine import Laboratory
from mixedsched.lab.model import Plan, Run, RunStatus
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.task import PaintReader
from mixedsched.lab.results import ExperimentFacts
from mixedsched.model.browser_model import IDEAL
from mixedsched.model.profile import Profile
from mixedsched.sites.opening import load_site
from mixedsched.world import catalog
from mixedsched.world.store import Store
from tests.advice.tuner.proofs import BASE, HEADERS, TUNED, contenders

NETWORKS = (catalog.load_profile("4g"), catalog.load_profile("slow-4g"))
FACTORS = {TUNED: 0.8, "sequential": 1.0, "eps": 1.6, HEADERS: 0.85}
LABELS = [TUNED, "sequential", "eps"]


class Lab:
    """Makes loads up: as fast as their arm is, with some noise of the block's seed."""

    def __init__(self, failing: Callable[[str, int, int], bool]) -> None:
        self.loads: list[tuple[str, int]] = []
        self._failing = failing

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        self.loads.append((arm, block))
        if self._failing(arm, block, attempt):
            return Run(block, attempt, arm, position, RunStatus.FAILED, reason="made up")
        noise = random.Random(f"{link_seed} {arm}").uniform(0.99, 1.01)
        metrics = {key: value * FACTORS[arm] * noise for key, value in BASE.items()}
        return Run(block, attempt, arm, position, RunStatus.OK, page_load={"metrics": metrics}, cost_s=10.0)


class MadeUpBench(Bench):
    """A bench whose laboratory needs no browser."""

    lab: Lab

    async def _laboratory(self, network: Profile) -> tuple[Laboratory, ExperimentFacts]:
        return self.lab, ExperimentFacts(versions={"code": "under test"})


class Silent:
    def before(self, arm: str, block: int, warm_up: bool, left: int) -> None:
        pass

    def after(self, run: Run, left: int) -> None:
        pass


@contextlib.contextmanager
def observe(_left: int) -> Iterator[Silent]:
    yield Silent()


@pytest.fixture
def job(tmp_path: Path) -> TuneJob:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "index.html").write_text("<!DOCTYPE html><title>shop</title><p>hello")
    site = load_site(tmp_path / "shop")
    return TuneJob(
        subject=Subject("shop", "shop", site.page, site, "d"), networks=NETWORKS,
        objective=parse_objective("lcp", "mobile"), schemes=("eps",), rung="browser", form_factor="mobile",
        budget_s=600.0, seed=1, penalty=0.002, model=IDEAL, folder=tmp_path, versions={"code": "under test"},
    )  # fmt: skip


def made_up_bench(
    job: TuneJob,
    store: Store,
    phase: str,
    arms: tuple[Contender, ...],
    failing: Callable[[str, int, int], bool] = lambda *_: False,
) -> MadeUpBench:
    world = TuneSurroundings(lambda: 0.0, 0.0, lambda _: None, observe, lambda _: None, Pool(PaintReader, 1))
    real = bench_of(job, world, store, phase, arms)
    bench = MadeUpBench(real.design, store, job.folder, ExperimentFacts(), observe)
    bench.lab = Lab(failing)
    return bench


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path / 'results.sqlite'}") as opened:
        yield opened


def race(bench: Bench, laps: int, has_time: Callable[[], bool] = lambda: True) -> Raced:
    raced = Raced()
    asyncio.run(run_race(bench, NETWORKS, LABELS, laps, {"lcp_ms": 1.0}, has_time, raced))
    return raced


def test_a_race_drops_who_is_clearly_slower_and_finds_the_best(job: TuneJob, store: Store) -> None:
    bench = made_up_bench(job, store, "race", contenders())
    raced = race(bench, 4)
    first = raced.dropped[0]
    assert (first.label, first.leader, first.after) == ("eps", TUNED, 2)
    assert ("eps", 3) not in bench.lab.loads
    assert raced.best([TUNED]) == TUNED
    assert raced.best(["sequential", "eps"]) == "sequential"
    assert [sorted(lap) for lap in raced.laps][:2] == [sorted(LABELS)] * 2

    again = made_up_bench(job, store, "race", contenders())
    assert race(again, 4).dropped == raced.dropped
    assert again.lab.loads == []  # all of it is stored


def test_a_race_that_runs_out_of_time_goes_on_where_it_stopped(job: TuneJob, store: Store) -> None:
    left = iter([True] * 8 + [False] * 100)
    first = made_up_bench(job, store, "race", contenders())
    assert len(race(first, 3, lambda: next(left)).laps) <= 1
    second = made_up_bench(job, store, "race", contenders())
    raced = race(second, 3)
    assert raced.best([TUNED]) == TUNED
    whole = 2 * len(NETWORKS) * len(LABELS)  # the first two laps
    assert len([load for load in (*first.lab.loads, *second.lab.loads) if load[1] <= 2]) == whole


def test_a_lap_with_a_block_that_fails_for_good_does_not_count(job: TuneJob, store: Store) -> None:
    raced = race(made_up_bench(job, store, "race", contenders(), lambda arm, block, _: (arm, block) == ("eps", 2)), 3)
    assert len(raced.laps) == 2
    assert raced.best([TUNED]) == TUNED


def proved(bench: Bench, rooms: Callable[[int], bool]) -> Mapping[str, Plan]:
    plans: dict[str, Plan] = {}
    asyncio.run(run_proof(bench, NETWORKS, lambda: True, rooms, 6, plans))
    return plans


def test_a_proof_goes_on_block_by_block_as_long_as_there_is_room(job: TuneJob, store: Store) -> None:
    asked = []

    def is_room_for(loads: int) -> bool:
        asked.append(loads)
        return len(asked) < 4

    bench = made_up_bench(job, store, "proof", contenders(HEADERS))
    plans = proved(bench, is_room_for)
    assert {name: len(plan.blocks) for name, plan in plans.items()} == {"4g": 4, "slow-4g": 4}
    assert asked == [8] * 4  # four arms on two networks
    more = proved(made_up_bench(job, store, "proof", contenders(HEADERS)), lambda _: True)
    assert {len(plan.blocks) for plan in more.values()} == {20}
    assert more["4g"].digest == plans["4g"].digest


def test_phases_share_no_seed_of_a_link(job: TuneJob, store: Store) -> None:
    plans = [made_up_bench(job, store, phase, contenders()).design.plan(NETWORKS[0], 20) for phase in ("race", "proof")]
    first, second = ({block.link_seed for block in plan.blocks} for plan in plans)
    assert len(first) == len(second) == 20
    assert not first & second


def test_an_arm_is_named_by_its_table_not_by_the_file_that_holds_it() -> None:
    tuned, sequential, eps = (contender_arm(item) for item in contenders())
    assert tuned.mapping is not None
    assert tuned.mapping == f"tuned-{tuned.table_digest}"
    assert (sequential.mapping, sequential.table_digest) == (None, None)
    assert eps.mapping is None  # its usual one
    assert eps.table_digest is not None
