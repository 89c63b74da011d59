"""What a tuning says of its outcome, and of the blocks that it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from mixedsched.advice.tuner._conclude import Known, _missing, _outcome
from mixedsched.advice.tuner._proof import Proof
from mixedsched.advice.tuner._search import SearchResult
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import Outcome, RungResult, Scored
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.engine import MAX_ATTEMPTS
from mixedsched.lab.model import Run, RunStatus
from tests.advice.tuner.proofs import TUNED, compared, contenders
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


def test_a_candidate_that_loads_show_to_be_as_good_as_the_best_baseline_was_better_in_simulation(
    tmp_path: Path,
) -> None:
    """Next to the bound there is nothing to gain; but not because nothing was found."""

    def scored(lcp_ms: float) -> Scored:
        return Scored(Candidate("eps"), lcp_ms / 2000 - 1, 0.0, {"slow": PaintEstimate(500, lcp_ms, 900)})

    baseline, best = scored(2090), scored(2020)
    known = Known(job_of(tmp_path, rung="browser"))
    known.search = SearchResult((RungResult("stack", 240, 960, 60.0, best),), (best,), {"eps": baseline}, "eps")
    known.candidates, known.bounds = (best,), {"slow": PaintEstimate(500, 2000, 900)}
    comparisons = {"slow": compared({TUNED: {}, "sequential": {}, "eps": {}}, 12)}
    judgement = Proof(comparisons, contenders(), "eps", {"lcp_ms": 1.0}).judged()
    outcome, reason = _outcome(known, comparisons, judgement, interrupted=False)
    assert outcome is Outcome.NOTHING_TO_GAIN
    assert (
        "12 blocks): no difference that matters. In simulation, LCP with eps over slow is 2.09 s, 4 % above" in reason
    )
    assert "candidates that were tried" not in reason
