"""What the rungs of a search share: the candidates that are played, where, and what they are judged by."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.options import Options, Watch
from mixedsched.advice.tuner.result import Estimates, RungResult, Scored
from mixedsched.advice.tuner.scoring import Judge, Paints, is_better
from mixedsched.advice.tuner.space import Genome, Space
from mixedsched.core.sim.load import Rung
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import Simulator, Task

Ranking = list[tuple[Genome, Scored]]
"""Candidates whose loads all ended, best first."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Plays and judges candidates. clock_s: monotonic; the only time there is. bounds: the earliest paints on rung stack, by
    scene; empty where they are not known."""

    space: Space
    scenes: tuple[Scenario, ...]
    objective: Objective
    workers: Simulator[Estimates | None]
    options: Options
    clock_s: Callable[[], float]
    watch: Watch
    baselines: Mapping[str, Candidate]
    bounds: Mapping[str, Estimates] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the stored study: equal for searches that may share what was played."""
        options, space = self.options, self.space
        facts = (
            [scene.digest for scene in self.scenes],
            (space.families, space.cells, space.targets),
            (self.objective.text, sorted(self.objective.weights.items()), self.objective.points),
            (options.seed, options.seeds, options.held_out, options.penalty, options.subject),
            [(label, item.code) for label, item in self.baselines.items()],
        )
        return f"tune {hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"

    @property
    def are_random(self) -> bool:
        """Whether losses on any network differ by seed."""
        return any(scene.network.is_random for scene in self.scenes)

    @property
    def have_seeds(self) -> bool:
        """Whether loads on any network differ by seed."""
        return self.are_random or any(scene.is_varied for scene in self.scenes)

    def play(self, candidates: Sequence[Candidate], rung: Rung, seeds: Sequence[int]) -> list[Paints]:
        """All candidates on all scenes; each seed that differs there, else the first alone."""
        seeds_of = [_seeds_on(scene, rung, seeds) for scene in self.scenes]
        tasks = [
            Task(scene if rung == "stack" else scene.on_pipe, candidate, seed)
            for candidate in candidates
            for scene, of_scene in zip(self.scenes, seeds_of, strict=True)
            for seed in of_scene
        ]
        results = iter(self.workers.play(tasks))
        return [tuple(tuple(next(results) for _ in of_scene) for of_scene in seeds_of) for _ in candidates]

    def floor(self, judge: Judge) -> float:
        """What no candidate of rung stack comes below. Where losses are random there is none: some orders are lucky."""
        return judge.floor(self.bounds) if self.bounds and not self.are_random else -math.inf

    def loads(self, rung: Rung, seeds: Sequence[int]) -> int:
        """Of one candidate."""
        return sum(len(_seeds_on(scene, rung, seeds)) for scene in self.scenes)

    def judged(self, paints: Sequence[Paints]) -> tuple[Judge, dict[str, Scored]]:
        """A judge by what the baselines came to, and these by label; those with a load that never ended are left out.

        Raises MixedschedError if on some scene none did.
        """
        by_label = dict(zip(self.baselines, paints, strict=True))
        judge = Judge.of(self.objective, self.space.pages, self.options.penalty, names_of(self.scenes), by_label)
        scored = {label: judge.scored(self.baselines[label], item) for label, item in by_label.items()}
        return judge, {label: item for label, item in scored.items() if item is not None}


def names_of(scenes: tuple[Scenario, ...]) -> tuple[str, ...]:
    """What results call the scenes: by network, and by page too where there are several pages."""
    pages = dict.fromkeys(scene.page.name for scene in scenes)
    return tuple(scene.name if len(pages) == 1 else f"{scene.page.name}, {scene.name}" for scene in scenes)


@dataclass(slots=True)
class Findings:
    """What a search has found so far. ranking: of the rung that is furthest; baselines: likewise, by label."""

    rungs: list[RungResult] = field(default_factory=list)
    ranking: Ranking = field(default_factory=list)
    baselines: dict[str, Scored] = field(default_factory=dict)

    @property
    def best(self) -> Scored | None:
        return self.ranking[0][1] if self.ranking else None


def ranked(scored: Iterable[tuple[Genome, Scored | None]]) -> Ranking:
    """Those that ended, best first; among equals the first."""
    ended = [(genome, item) for genome, item in scored if item is not None]
    return sorted(ended, key=lambda pair: pair[1].score)


def note_step(history: list[tuple[int, float]], tried: int, best: Scored | None) -> None:
    """Where the curve of the best score goes down, it has a point."""
    if best is not None and is_better(best.score, history[-1][1] if history else None):
        history.append((tried, best.score))


def genome_of(item: Any) -> Genome:
    """From JSON."""
    family, values, cells, targets = item
    return Genome(family, tuple(values), tuple(cells), tuple(targets))


def paints_to_json(paints: Paints) -> list[Any]:
    """By scene and seed: FCP, LCP and SI in ms; null for a load that never ended."""
    return [
        [None if item is None else [item.fcp_ms, item.lcp_ms, item.si_ms] for item in of_scene] for of_scene in paints
    ]


def paints_from_json(value: Any) -> Paints:
    """The reverse."""
    return tuple(tuple(None if item is None else Estimates(*item) for item in of_scene) for of_scene in value)


def _seeds_on(scene: Scenario, rung: Rung, seeds: Sequence[int]) -> Sequence[int]:
    return scene.seeds_of(seeds) if rung == "stack" else seeds[:1]
