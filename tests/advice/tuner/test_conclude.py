"""What a tuning says of the blocks that it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixedsched.advice.tuner._conclude import Known, _missing
from mixedsched.lab.engine import MAX_ATTEMPTS
from mixedsched.lab.model import Run, RunStatus
from tests.advice.tuner.sessions import job_of
from tests.lab.scripted import plan

OK, FAILED = RunStatus.OK, RunStatus.FAILED


@pytest.mark.parametrize(
    ("last_attempt", "missing"),
    [({"A": OK, "B": OK}, 0), ({"A": OK}, 0), ({"A": OK, "B": FAILED}, 1)],
    ids=["good in the end", "cut short", "given up"],
)
def test_only_a_block_that_was_given_up_is_missing(
    last_attempt: dict[str, RunStatus], missing: int, tmp_path: Path
) -> None:
    """A last attempt that the time cut short goes on with the next start."""
    known, measured = Known(job_of(tmp_path)), plan(blocks=2, warm_up=False)
    failed = [Run(1, attempt, "A", 0, FAILED) for attempt in range(1, MAX_ATTEMPTS)]
    last = [Run(1, MAX_ATTEMPTS, arm, 0, status) for arm, status in last_attempt.items()]
    known.proof_plans = {"slow-4g": measured}
    known.runs = {("proof", "slow-4g"): (*failed, *last)}
    assert _missing(known) == missing
