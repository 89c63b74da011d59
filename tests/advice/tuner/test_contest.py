"""Race and proof over real plans and a real store; only the loads are made up."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.tuner._contest import (
    Contest,
    Raced,
    all_contenders,
    bench_of,
    by_headers,
    contender_arm,
    entrants,
    finalists,
    plain_eps,
    promising,
)
from mixedsched.advice.tuner._looks import view_of_manifest
from mixedsched.advice.tuner._search import SearchResult
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.job import Decisions, Shares, Subject, TuneJob, TuneSurroundings
from mixedsched.advice.tuner.objective import BASELINES, parse_objective
from mixedsched.advice.tuner.outputs import ship
from mixedsched.advice.tuner.result import Contender, Outcome, Role, Scored
from mixedsched.advice.tuner.session import TuneSession
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.bench import Bench
from mixedsched.lab.engine import MAX_ATTEMPTS, Laboratory
from mixedsched.lab.model import Plan, Run, RunStatus
from mixedsched.lab.results import ExperimentFacts
from mixedsched.model.browser_model import IDEAL
from mixedsched.model.profile import Profile
from mixedsched.sites.opening import load_site
from mixedsched.world import catalog
from mixedsched.world.store import Store
from tests.advice.replaying import Replaying
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
    world = TuneSurroundings(lambda: 0.0, 0.0, lambda _: None, observe, lambda _: None, Replaying())
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
    asyncio.run(Contest(bench, NETWORKS, has_time).race(LABELS, laps, {"lcp_ms": 1.0}, raced))
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
    asyncio.run(Contest(bench, NETWORKS, lambda: True).prove(rooms, 6, plans))
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


def test_a_block_that_fails_for_good_costs_three_tries_and_those_behind_it_count_later_too(
    job: TuneJob, store: Store
) -> None:
    def fails(arm: str, block: int, _attempt: int) -> bool:
        return (arm, block) == ("eps", 2)

    first, room = made_up_bench(job, store, "proof", contenders(), fails), [True, True, True, False]
    assert {len(plan.blocks) for plan in proved(first, lambda _: room.pop(0)).values()} == {4}
    assert first.lab.loads.count(("eps", 2)) == MAX_ATTEMPTS * len(NETWORKS)
    again = made_up_bench(job, store, "proof", contenders(), fails)
    assert {len(plan.blocks) for plan in proved(again, lambda _: False).values()} == {4}
    assert again.lab.loads == []


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


# Who is measured: the promising, the baselines in order of interest, and always sequential delivery

PAINTS = {"4g": PaintEstimate(500, 1000, 800)}


def scored(candidate: Candidate, score: float, penalty: float = 0.0) -> Scored:
    return Scored(candidate, score, penalty, PAINTS)


FOUND = SearchResult(
    rungs=(),
    best=(
        scored(Candidate("nip"), -0.2),
        scored(Candidate("ip"), -0.1),
        scored(Candidate("firefox-tree"), -0.001),
        scored(BASELINES["mixed"], 0.5),
    ),
    baselines={
        label: scored(BASELINES[label], score, penalty)
        for label, score, penalty in (("sequential", 0.1, 0), ("stock", 0.3, 0), ("eps", 0.0, 0), ("mixed", 0.5, 0.004))
    },
    best_baseline="eps",
)


def test_promising_is_what_gains_enough_and_is_no_baseline_itself() -> None:
    assert [item.candidate.scheme for item in promising(FOUND)] == ["nip", "ip"]


def test_entrants_come_in_order_of_interest() -> None:
    labels = [item.label for item in entrants(FOUND, promising(FOUND))]
    assert labels == ["tuned", "eps", "sequential", "tuned 2", "stock", "mixed"]


def test_the_proof_has_the_winner_the_best_baseline_and_sequential_before_what_is_shipped() -> None:
    everyone = entrants(FOUND, promising(FOUND))
    shipped = [plain_eps("headers", Role.HEADERS)]
    found = finalists(everyone, "tuned 2", "stock", shipped, FOUND.baselines)
    assert [item.label for item in found] == ["tuned 2", "stock", "sequential", "headers"]
    assert found[0].candidate.scheme == "ip"


def test_headers_that_say_all_of_the_winner_are_loaded_in_its_place() -> None:
    hurried = Change(Action.HEADER, ((0, "/hero.jpg"),), "the largest paint", "u=0, i=?0")
    shipped = [plain_eps("headers", Role.HEADERS, [hurried]), plain_eps("html", Role.HTML)]
    winner, *others = by_headers(finalists(entrants(FOUND, promising(FOUND)), "tuned 2", "stock", shipped, {}))
    assert (winner.label, winner.role, winner.changes) == ("tuned 2", Role.TUNED, (hurried,))
    assert (winner.candidate.scheme, winner.is_by_headers) == ("eps", True)
    assert [item.label for item in others] == ["stock", "sequential", "html"]
    assert not any(item.is_by_headers for item in others)


def test_where_sequential_is_the_best_baseline_the_next_one_must_be_beaten_too() -> None:
    everyone = entrants(FOUND, promising(FOUND))
    shipped = [plain_eps("headers", Role.HEADERS)]
    found = finalists(everyone, "tuned", "sequential", shipped, FOUND.baselines)
    assert [item.label for item in found] == ["tuned", "sequential", "eps", "headers"]


def test_baselines_that_did_not_race_are_proved_all_the_same() -> None:
    found = finalists(entrants(FOUND, promising(FOUND))[:1], "tuned", "eps", [], FOUND.baselines)
    assert [item.label for item in found] == ["tuned", "eps", "sequential"]


def test_of_race_and_proof_each_is_told_as_the_proof_loaded_it() -> None:
    hurried = Change(Action.HEADER, ((0, "/hero.jpg"),), "the largest paint", "u=0, i=?0")
    racing = entrants(FOUND, promising(FOUND))
    proved = by_headers(finalists(racing, "tuned 2", "stock", [plain_eps("headers", Role.HEADERS, [hurried])], {}))
    told = all_contenders(proved, racing, "tuned 2")
    assert [item.label for item in told] == ["tuned 2", "stock", "sequential", "tuned", "eps", "mixed"]
    assert told[0].is_by_headers
    assert all_contenders((), racing, "tuned 2")[0].candidate.scheme == "ip"


# What an earlier start has chosen, shown, and shipped


def a_session(job: TuneJob, store: Store) -> TuneSession:
    world = TuneSurroundings(lambda: 0.0, 0.0, lambda _: None, observe, lambda _: None, Replaying())
    session = TuneSession(job, world, store)
    session.known.search, session.known.candidates = FOUND, promising(FOUND)
    return session


def test_a_race_does_not_go_on_once_its_winner_is_being_proved(
    job: TuneJob, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a larger budget there is time for the laps that were left, and another candidate may win them."""
    bench = made_up_bench(job, store, "race", entrants(FOUND, promising(FOUND)))
    monkeypatch.setattr("mixedsched.advice.tuner.session.bench_of", lambda *_: bench)
    session = a_session(job, store)
    session.known.chosen = ["tuned 2", "stock"]
    view = replace(view_of_manifest(job), costs_s={"4g": 1.0, "slow-4g": 1.0})
    asyncio.run(session._race(view, Shares(1.0, 3, 6, 400.0)))
    assert bench.lab.loads == []
    assert (session.known.winner_label, session.known.best_baseline) == ("tuned 2", "stock")
    assert session.known.winner == FOUND.best[1]


def test_a_proof_that_was_continued_after_its_results_were_shown_says_so(job: TuneJob, store: Store) -> None:
    def told(blocks: int, more: int) -> list[str]:
        session, rooms = a_session(job, store), iter([True] * more + [False])
        bench = made_up_bench(job, store, "proof", contenders())
        session.known.finalists = contenders()
        session.known.proof_plans = dict(proved(bench, lambda _: next(rooms)))
        session.known.looked = Decisions(job.folder, job.digest).known().get("looked")
        found = session.result({}, interrupted=False)
        assert found.proved_blocks == blocks
        return [note for note in found.notes if "p values" in note]

    assert told(7, 6) == []
    assert "had been shown at 7 blocks" in told(8, 1)[0]


@pytest.mark.parametrize("is_link", [False, True])
def test_an_earlier_shipment_goes_whole_and_what_a_link_leads_to_stays(
    is_link: bool, job: TuneJob, store: Store
) -> None:
    real = job.folder / ("elsewhere" if is_link else "ship")
    (real / "mine").mkdir(parents=True)
    if is_link:
        (job.folder / "ship").symlink_to(real)
    session = a_session(job, store)
    session.known.finalists = contenders()
    found = ship(session.result({}, interrupted=False), session.known)
    assert (found.outcome, found.files) == (Outcome.UNCONFIRMED, ())
    assert not (job.folder / "ship").is_symlink()
    assert not (job.folder / "ship").exists()
    assert real.exists() == is_link
