"""Search of `tune`: candidates of rungs pipe and stack for a page of 1 MB in 30 responses with a hero, on all cores."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence

from benchmarks import stack
from benchmarks._command import run_alone
from mixedsched.advice.tuner._search import GENERATION, Evolution
from mixedsched.advice.tuner._stack import BATCH, Params, propose
from mixedsched.advice.tuner.objective import BASELINES, Scorer, parse_objective
from mixedsched.advice.tuner.result import Scored
from mixedsched.advice.tuner.space import Genome, Space
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.scenario import SEEDS, Scenario
from mixedsched.lab.play.task import PaintReader, Task
from mixedsched.model.page import Page
from mixedsched.world import catalog

LINKS = ("slow-4g", "sander-loss2")
PIPE_TRIALS = 8 * GENERATION
STACK_BATCHES = 3
HERO, IN_HEAD = ("r9",), ("r1", "r2", "r6")


def page() -> Page:
    """The page of the benchmark of rung stack, with a hero, and some of it in the head."""
    data = stack.page().model_dump(mode="json")
    for item in data["resources"]:
        item["chromium_priority"] = item["incremental"] = None
        item["flags"] = ["hero"] if item["id"] in HERO else ["in_head"] if item["id"] in IN_HEAD else []
    return Page.from_dict(data)


def run() -> Iterator[str]:
    played = page()
    space = Space.of([played])
    with Pool(PaintReader) as workers:
        for link in LINKS:
            scene = Scenario(played, catalog.load_profile(link))
            yield f"{link:12} load of the machine before: {os.getloadavg()[0]:.1f}"
            yield f"{link:12} {_pipe(space, scene, workers):7.0f} candidates a second on rung pipe, proposals included"
            yield f"{link:12} {_stack(space, scene, workers):7.0f} candidates in 10 minutes on rung stack, {SEEDS} seeds each"


def _pipe(space: Space, scene: Scenario, workers: Pool[PaintEstimate | None]) -> float:
    """From the first proposal to the last score; processes are there already."""
    tasks = [Task(scene.on_pipe, candidate) for candidate in BASELINES.values()]
    baselines = {label: ((paints,),) for label, paints in zip(BASELINES, workers.play(tasks), strict=True)}
    scorer = Scorer.of(parse_objective("lcp", "mobile"), space.pages, 0.002, ("benchmark",), baselines)
    started_s = time.monotonic()
    evolution = Evolution(space, random.Random(1), PIPE_TRIALS)

    def play(genomes: Sequence[Genome]) -> list[Scored | None]:
        candidates = [space.candidate(genome) for genome in genomes]
        paints = workers.play([Task(scene.on_pipe, candidate) for candidate in candidates])
        return [scorer.scored(candidate, ((item,),)) for candidate, item in zip(candidates, paints, strict=True)]

    while evolution.grow(play):
        pass
    return len(evolution.tried) / (time.monotonic() - started_s)


def _stack(space: Space, scene: Scenario, workers: Pool[PaintEstimate | None]) -> float:
    """With SEEDS loads for each, even where seeds make no difference; scored by the largest paint alone."""
    params, tried = Params.of(space), [_tried(space, space.usual(0), 0.0)]
    started_s = time.monotonic()
    for batch in range(STACK_BATCHES):
        genomes = propose(params, tried, BATCH, 1, batch)
        tasks = [Task(scene, space.candidate(genome), seed) for genome in genomes for seed in range(SEEDS)]
        paints = workers.play(tasks)
        for place, genome in enumerate(genomes):
            ended = [item.lcp_ms for item in paints[place * SEEDS : (place + 1) * SEEDS] if item is not None]
            tried.append(_tried(space, genome, sum(ended)) if len(ended) == SEEDS else (genome, None))
    return (len(tried) - 1) / (time.monotonic() - started_s) * 600


def _tried(space: Space, genome: Genome, score: float) -> tuple[Genome, Scored | None]:
    return genome, Scored(space.candidate(genome), score, 0.0, {})


if __name__ == "__main__":
    run_alone("tuner", __doc__, run)
