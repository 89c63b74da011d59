"""Made-up proofs: loads of some arms with times that are known, one network each."""

from __future__ import annotations

import random
from collections.abc import Mapping

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import Contender, Role
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Comparison
from mixedsched.lab.model import Arm, Run, RunStatus
from mixedsched.lab.plan import make_plan

TUNED, HEADERS = "tuned", "headers"
Times = Mapping[str, float]  # metric key -> factor on BASE


BASE = {"fcp_ms": 900.0, "lcp_ms": 2400.0, "si_ms": 1500.0, "tbt_ms": 0.0, "cls": 0.0, "tti_ms": 3100.0}


def contenders(*others: str) -> tuple[Contender, ...]:
    """Tuned, the baselines sequential and eps, then others by the name of their role."""
    return (
        Contender(TUNED, Role.TUNED, Candidate("eps")),
        Contender("sequential", Role.BASELINE, Candidate("sequential")),
        Contender("eps", Role.BASELINE, Candidate("eps", published="chromium")),
        *(Contender(name, Role(name), Candidate("eps", published="chromium")) for name in others),
    )


def compared(arms: Mapping[str, Times], blocks: int = 6, *, noise: float = 0.01, seed: int = 1) -> Comparison:
    """What so many blocks of these arms show. Times not named are as BASE; noise: of each load, a ratio."""
    plan = make_plan(
        site="shop", site_digest="d", link="slow", link_facts={}, form_factor="mobile",
        arms=[Arm(label, label) for label in arms], baseline=next(iter(arms)), primary=("lcp_ms",), seed=seed, blocks=blocks,
    )  # fmt: skip
    rng = random.Random(seed)
    runs = []
    for block in plan.blocks[1:]:
        for position, label in enumerate(block.order):
            scatter = rng.uniform(1 - noise, 1 + noise)
            metrics = {key: value * arms[label].get(key, 1.0) * scatter for key, value in BASE.items()}
            runs.append(Run(block.index, 1, label, position, RunStatus.OK, page_load={"metrics": metrics}, cost_s=10.0))
    return analyse(plan, runs)
