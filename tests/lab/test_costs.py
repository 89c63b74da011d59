"""What a load costs beyond itself: measured, stored with the experiment, and guessed only before that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.errors import UsageError
from mixedsched.lab.costs import (
    BLOCKS_MOST,
    OVERHEAD_S,
    QUICK_OVERHEAD_S,
    START_S,
    fitting_blocks,
    known_overhead_s,
    loads_cost_s,
    median_overhead_s,
    refuse_short_budget,
)
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.results import ExperimentFacts, open_store
from tests.lab.scripted import plan


def run(cost_s: float, load_ms: float | None, status: RunStatus = RunStatus.OK) -> Run:
    return Run(1, 1, "A", 0, status, cost_s=cost_s, page_load={"observed": {"load_ms": load_ms}})


def stored(folder: Path, overhead_s: float | None, **changes: Any) -> Path:
    """A folder with an experiment whose loads have cost so much."""
    folder.mkdir()
    with open_store(folder) as store:
        made = plan(**changes)
        store.save_plan(made.digest, made.to_dict(), ExperimentFacts(title="t", overhead_s=overhead_s).to_dict())
    return folder


def test_overhead_is_the_median_of_what_good_loads_cost_beyond_their_own_time() -> None:
    runs = [run(10.0, 2000.0), run(13.0, 4000.0), run(9.0, None), run(99.0, 1000.0, RunStatus.FAILED)]
    assert median_overhead_s(runs) == 9.0
    assert median_overhead_s([run(99.0, 1000.0, RunStatus.INVALID)]) is None


def test_before_anything_was_measured_there_is_a_default(tmp_path: Path) -> None:
    assert known_overhead_s(tmp_path / "new") == OVERHEAD_S
    assert known_overhead_s(stored(tmp_path / "old", None)) == OVERHEAD_S


def test_a_folder_knows_its_own_overhead_and_a_new_one_that_of_its_neighbour(tmp_path: Path) -> None:
    first = stored(tmp_path / "first", 11.5)
    assert known_overhead_s(first) == known_overhead_s(tmp_path / "new") == 11.5
    assert known_overhead_s(stored(tmp_path / "second", 7.5)) == 7.5


def test_loads_without_tti_cost_less_and_are_told_apart_from_those_with_it(tmp_path: Path) -> None:
    assert known_overhead_s(tmp_path / "new", QUICK_METRICS) == QUICK_OVERHEAD_S < OVERHEAD_S
    stored(tmp_path / "quick", 3.5, metrics=QUICK_METRICS)
    assert known_overhead_s(tmp_path / "new", QUICK_METRICS) == 3.5
    assert known_overhead_s(tmp_path / "new") == OVERHEAD_S
    assert known_overhead_s(stored(tmp_path / "slow", 9.5), QUICK_METRICS) == 3.5


def test_a_database_that_cannot_be_read_is_no_evidence(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "results.sqlite").write_bytes(b"no database" * 100)
    assert known_overhead_s(tmp_path / "new") == OVERHEAD_S


def test_loads_cost_their_own_time_the_overhead_and_two_starts_of_each_network() -> None:
    assert loads_cost_s({"4g": 3.0, "3g": 9.0}, 2, 8.0) == pytest.approx(4 * START_S + 2 * (3 + 8) + 2 * (9 + 8))


def test_blocks_fit_into_the_time_after_each_network_has_started_but_one_is_always_planned() -> None:
    costs_s = {"4g": 10.0, "3g": 20.0}
    assert fitting_blocks(2 * START_S + 3 * 60, costs_s, arms=2) == 3
    assert fitting_blocks(2 * START_S + 3 * 60 - 1, costs_s, arms=2) == 2
    assert fitting_blocks(-50.0, costs_s, arms=2) == 1
    assert fitting_blocks(1e6, costs_s, arms=2) == BLOCKS_MOST


@pytest.mark.parametrize("is_measured", [True, False])
def test_a_budget_that_is_too_short_is_refused_with_one_that_will_do(is_measured: bool) -> None:
    refuse_short_budget(100.0, 99.0, "shop on 4g", "to look", is_measured=is_measured)
    with pytest.raises(UsageError, match="30 s is too short for shop on 4g: to look takes about 1 min 39 s") as refusal:
        refuse_short_budget(30.0, 99.0, "shop on 4g", "to look", is_measured=is_measured)
    assert refusal.value.fix.startswith("give --budget 2m at least")
    assert ("a sure answer" in refusal.value.fix) is is_measured
