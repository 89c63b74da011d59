"""Rung pipe of a search: played, judged, and its outcome kept, with which rung stack begins."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from mixedsched.advice.tuner.memory import Memory
from mixedsched.advice.tuner.options import Progress
from mixedsched.advice.tuner.pipe_search import Evolution, distinct, evolve
from mixedsched.advice.tuner.result import RungResult, Scored
from mixedsched.advice.tuner.scoring import Judge
from mixedsched.advice.tuner.space import Genome
from mixedsched.advice.tuner.trials import (
    Findings,
    Ranking,
    Trials,
    genome_of,
    note_step,
    paints_from_json,
    paints_to_json,
    ranked,
)

PIPE = "pipe"
_PART = "part of pipe"
STARTS = 24  # of rung stack
OF_A_FAMILY = 2  # of them at least, where there are so many


def run_pipe(trials: Trials, memory: Memory, findings: Findings) -> list[Genome]:
    """The candidates with which rung stack begins. A rung that was finished before is not played again; one that was
    interrupted begins anew, which gives the same and takes a minute at most, but what it had found is kept."""
    kept = memory.note(PIPE) or _Run(trials, memory, findings).play()
    return _recalled(trials, kept, findings)


def recall_part(trials: Trials, memory: Memory, findings: Findings) -> None:
    """What a rung that was interrupted had found, if anything."""
    kept = memory.note(_PART)
    if kept is not None:
        _recalled(trials, kept, findings)


class _Run:
    def __init__(self, trials: Trials, memory: Memory, findings: Findings) -> None:
        self._trials = trials
        self._memory = memory
        self._findings = findings
        self._started_s = trials.clock_s()
        self._seeds = trials.options.search_seeds
        self._history: list[tuple[int, float]] = []
        self._baselines = trials.play(list(trials.baselines.values()), "pipe", self._seeds)
        self._judge: Judge
        self._judge, findings.baselines = trials.judged(self._baselines)
        rng = random.Random(f"search {trials.options.seed}")
        self._evolution = Evolution(trials.space, rng, trials.options.pipe.trials)

    def play(self) -> dict[str, Any]:
        try:
            evolve(self._evolution, self._played, self._may_go_on)
        except KeyboardInterrupt:
            self._memory.keep(_PART, self._outcome())
            raise
        self._may_go_on(len(self._evolution.tried))
        outcome = self._outcome()
        self._memory.keep(PIPE, outcome)
        return outcome

    def _played(self, genomes: Sequence[Genome]) -> list[Scored | None]:
        candidates = [self._trials.space.candidate(genome) for genome in genomes]
        paints = self._trials.play(candidates, "pipe", self._seeds)
        return [self._judge.scored(*pair) for pair in zip(candidates, paints, strict=True)]

    def _may_go_on(self, tried: int) -> bool:
        limit = self._trials.options.pipe
        spent_s = self._trials.clock_s() - self._started_s
        self._findings.ranking = self._evolution.best
        note_step(self._history, tried, self._findings.best)
        self._trials.watch(Progress(PIPE, tried, limit.trials, spent_s, limit.seconds, self._findings.best))
        return limit.seconds is None or spent_s < limit.seconds

    def _outcome(self) -> dict[str, Any]:
        """As JSON."""
        tried = len(self._evolution.tried)
        starts = [genome for genome, _ in distinct(self._evolution.best, STARTS, of_a_family=OF_A_FAMILY)]
        return {
            "tried": tried,
            "loads": (tried + len(self._baselines)) * self._trials.loads("pipe", self._seeds),
            "seconds": self._trials.clock_s() - self._started_s,
            "history": self._history,
            "baselines_ms": [paints_to_json(item) for item in self._baselines],
            "starts": starts,
        }


def _recalled(trials: Trials, kept: dict[str, Any], findings: Findings) -> list[Genome]:
    """Findings as after the rung; what its best came to is played again, which takes milliseconds."""
    baselines = [paints_from_json(item) for item in kept["baselines_ms"]]
    judge, findings.baselines = trials.judged(baselines)
    starts = [genome_of(item) for item in kept["starts"]]
    findings.ranking = _replayed(trials, judge, starts)
    history = tuple((tried, score) for tried, score in kept["history"])
    findings.rungs.append(RungResult(PIPE, kept["tried"], kept["loads"], kept["seconds"], findings.best, history))
    return starts


def _replayed(trials: Trials, judge: Judge, starts: Sequence[Genome]) -> Ranking:
    candidates = [trials.space.candidate(genome) for genome in starts]
    paints = trials.play(candidates, "pipe", trials.options.search_seeds)
    return ranked(
        (genome, judge.scored(candidate, item))
        for genome, candidate, item in zip(starts, candidates, paints, strict=True)
    )
