"""What the rungs of a search share: limits and seeds, how candidates are played and scored, its state, and what is stored.

What is stored is an optuna study in the project's database, with every trial of rung stack; optuna's own tools can read it.
Trials are stored when they are finished, not while they are proposed: a proposal in a database costs more than the loads that
it leads to.
"""

import hashlib
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from mixedsched.advice.tuner.candidate import PENALTY, Candidate
from mixedsched.advice.tuner.objective import Objective, Paints, Scorer, is_better
from mixedsched.advice.tuner.result import RungResult, Scored
from mixedsched.advice.tuner.space import Genome, Space
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.core.sim.load import Rung
from mixedsched.errors import MixedschedError
from mixedsched.lab.play.scenario import SEEDS, SEEDS_APART, Scenario, seeds_for
from mixedsched.lab.play.task import Simulator, Task

# What is stored

T = TypeVar("T")

FORMAT = 1  # of what is stored here
_FORMAT_KEY = "mixedsched search"


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A candidate that was played."""

    params: dict[str, Any]  # as optuna has it
    batch: int  # in which it was proposed
    size: int  # of that batch
    code: str
    paints: Paints


class Memory:
    """A study by name. url: of SQLAlchemy's form; None keeps all in this process.

    All of it raises MixedschedError if the database cannot be used; making it, if another version wrote the study.
    """

    def __init__(self, url: str | None, name: str) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._url = url

        def study() -> optuna.Study:
            storage: BaseStorage = InMemoryStorage() if url is None else _database(url)
            return optuna.create_study(storage=storage, study_name=name, load_if_exists=True)

        self._study = self._done(study)
        self._check_format()

    def note(self, key: str) -> Any:
        """The value kept under this key; None if there is none."""
        return self._done(lambda: self._study.user_attrs).get(key)

    def keep(self, key: str, value: Any) -> None:
        """Keep a JSON value, instead of an earlier one."""
        self._done(lambda: self._study.set_user_attr(key, value))

    def trials(self) -> list[StoredTrial]:
        """All stored trials, in the order in which they were added."""
        return [_stored(trial) for trial in self._done(lambda: self._study.get_trials(deepcopy=False))]

    def add(
        self, trials: Sequence[StoredTrial], scores: Sequence[float | None], space: dict[str, BaseDistribution]
    ) -> None:
        """Store trials with their scores (None: a load never ended), which are for other readers: ours come from the paints."""
        for trial, score in zip(trials, scores, strict=True):
            finished = frozen(trial.params, score, space, _attributes(trial))
            self._done(partial(self._study.add_trial, finished))

    def _done(self, work: Callable[[], T]) -> T:
        """Work with the database, to its end."""
        try:
            return _to_its_end(work)
        except (SQLAlchemyError, StorageInternalError, RuntimeError) as error:
            reason = str(error.__cause__ or error) or type(error).__name__  # optuna itself says only that it failed
            raise MixedschedError(
                f"cannot use the database {self._url} for a search",
                why=reason.splitlines()[0],
                fix="use another folder, or the version of mixedsched that wrote it",
            ) from error

    def _check_format(self) -> None:
        found = self.note(_FORMAT_KEY)
        if found is None:
            self.keep(_FORMAT_KEY, FORMAT)
        elif found != FORMAT:
            raise MixedschedError(
                "the search in the database was stored by another version of mixedsched",
                why=f"its format is {found}, this version knows {FORMAT}",
                fix="use another folder, or the version that wrote it",
            )


def _to_its_end(work: Callable[[], T]) -> T:
    """Do it where Ctrl-C cannot end it halfway: what is left of a transaction would lock the database against the next one.

    Python interrupts the main thread alone.
    """
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(work).result()


def _database(url: str) -> RDBStorage:
    """It connects for each transaction: optuna closes no connection that it keeps, not even to a database that it refuses."""
    return RDBStorage(url, engine_kwargs={"poolclass": NullPool})


def frozen(
    params: dict[str, Any],
    score: float | None,
    space: dict[str, BaseDistribution],
    attributes: dict[str, Any] | None = None,
) -> FrozenTrial:
    """A finished trial as optuna has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        return create_trial(
            state=TrialState.FAIL if score is None else TrialState.COMPLETE,
            value=score,
            params=params,
            distributions=space,
            user_attrs=attributes or {},
        )


def _attributes(trial: StoredTrial) -> dict[str, Any]:
    facts = {"batch": trial.batch, "size": trial.size, "candidate": trial.code}
    return {**facts, "paints_ms": paints_to_json(trial.paints)}


def _stored(trial: FrozenTrial) -> StoredTrial:
    kept = trial.user_attrs
    return StoredTrial(
        trial.params, kept["batch"], kept["size"], kept["candidate"], paints_from_json(kept["paints_ms"])
    )


def paints_to_json(paints: Paints) -> list[Any]:
    """By scene and seed: FCP, LCP and SI in ms; null for a load that never ended."""
    return [[item and list(item.to_dict().values()) for item in of_scene] for of_scene in paints]


def paints_from_json(value: Any) -> Paints:
    """The reverse."""
    return tuple(tuple(item and PaintEstimate(*item) for item in of_scene) for of_scene in value)


# The search so far


HELD_OUT_SEEDS = 8

Ranking = list[tuple[Genome, Scored]]
"""Candidates whose loads all ended, best first."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Where a rung ends, whichever comes first."""

    trials: int  # candidates
    seconds: float | None = None  # of the clock; None for as long as it takes


@dataclass(frozen=True, slots=True)
class Options:
    """How long a search takes, and what is drawn in it."""

    seed: int = 1  # of proposals and networks
    pipe: Limit = field(default=Limit(4000))
    stack: Limit = field(default=Limit(240))  # includes the time for the held-out seeds
    seeds: int = SEEDS  # of a network with losses, in the search
    held_out: int = HELD_OUT_SEEDS  # others, for the finalists
    penalty: float = PENALTY  # for each departure
    storage: str | None = None  # url of the database; None keeps nothing
    subject: str = ""  # what else the search must not be mixed up with

    @property
    def search_seeds(self) -> tuple[int, ...]:
        """Link seeds used by the search."""
        return seeds_for(self.seed, self.seeds)

    @property
    def held_out_seeds(self) -> tuple[int, ...]:
        """Link seeds for the finalists; none of them was used in the search."""
        return tuple(seed + SEEDS_APART // 2 for seed in seeds_for(self.seed, self.held_out))


@dataclass(frozen=True, slots=True)
class SearchState:
    """How far a search is."""

    rung: str  # as RungResult names it
    tried: int  # candidates of this rung
    trials: int  # at most
    seconds: float
    limit_s: float | None
    best: Scored | None  # so far; None if no candidate's loads have ended


Watch = Callable[[SearchState], None]


@dataclass(slots=True)
class Trials:
    """A search: what it plays and by what it is scored; and, filled by its rungs, where it stands.

    Raises MixedschedError if the database cannot be used.
    """

    space: Space
    scenes: tuple[Scenario, ...]
    objective: Objective
    simulator: Simulator[PaintEstimate | None]
    options: Options
    clock_s: Callable[[], float]  # monotonic; the only time there is
    watch: Watch
    baselines: Mapping[str, Candidate]
    bounds: Mapping[str, PaintEstimate] = field(default_factory=dict)
    """The earliest paints on rung stack, by scene, where they are known."""
    memory: Memory = field(init=False)
    rungs: list[RungResult] = field(default_factory=list)
    ranking: Ranking = field(default_factory=list)  # by the furthest rung so far
    scored_baselines: dict[str, Scored] = field(default_factory=dict)  # likewise, by label

    def __post_init__(self) -> None:
        self.memory = Memory(self.options.storage, self._name())

    def _name(self) -> str:
        """The name of the stored study: equal for searches that may share what was played."""
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
    def best(self) -> Scored | None:
        return self.ranking[0][1] if self.ranking else None

    @property
    def have_seeds(self) -> bool:
        """Whether loads on any network differ by seed."""
        return any(scene.network.is_random or scene.is_varied for scene in self.scenes)

    def play(self, candidates: Sequence[Candidate], rung: Rung, seeds: Sequence[int]) -> list[Paints]:
        """The paints of all candidates on all scenes, over each seed that differs there, else over the first alone."""
        seeds_of = [_seeds_on(scene, rung, seeds) for scene in self.scenes]
        tasks = [
            Task(scene if rung == "stack" else scene.on_pipe, candidate, seed)
            for candidate in candidates
            for scene, of_scene in zip(self.scenes, seeds_of, strict=True)
            for seed in of_scene
        ]
        results = iter(self.simulator.play(tasks))
        return [tuple(tuple(next(results) for _ in of_scene) for of_scene in seeds_of) for _ in candidates]

    def loads(self, rung: Rung, seeds: Sequence[int]) -> int:
        """How many loads a candidate takes."""
        return sum(len(_seeds_on(scene, rung, seeds)) for scene in self.scenes)

    def score_baselines(self, paints: Sequence[Paints]) -> Scorer:
        """Note the baselines' scores, but for those with a load that never ends; the scorer for candidates.

        Raises MixedschedError if on some scene no baseline ends, or none on all of them.
        """
        by_label = dict(zip(self.baselines, paints, strict=True))
        names = names_of(self.scenes)
        scorer = Scorer.of(self.objective, self.space.pages, self.options.penalty, names, by_label)
        scored = {label: scorer.scored(self.baselines[label], item) for label, item in by_label.items()}
        self.scored_baselines = {label: item for label, item in scored.items() if item is not None}
        if not self.scored_baselines:
            raise MixedschedError(
                f"every baseline has a load of the page that never ends, over {' or '.join(names)}",
                why="the networks lose too much, or are too slow for it",
                fix="choose networks that lose less, or faster ones",
            )
        return scorer

    def rank(self, scored: Iterable[tuple[Genome, Scored | None]]) -> None:
        """Order those that ended, best first; among equals the first stays first."""
        ended = [(genome, item) for genome, item in scored if item is not None]
        self.ranking = sorted(ended, key=lambda pair: pair[1].score)

    def floor(self, scorer: Scorer) -> float:
        """No candidate of rung stack scores less. Where losses are random there is no floor: some orders are lucky."""
        is_random = any(scene.network.is_random for scene in self.scenes)
        return scorer.floor(self.bounds) if self.bounds and not is_random else -math.inf


def names_of(scenes: tuple[Scenario, ...]) -> tuple[str, ...]:
    """The names of scenes in results: by network, and by page too where there are several pages."""
    pages = dict.fromkeys(scene.page.name for scene in scenes)
    return tuple(scene.name if len(pages) == 1 else f"{scene.page.name}, {scene.name}" for scene in scenes)


def distinct(ranked: Ranking, count: int, *, of_a_family: int = 0) -> Ranking:
    """The first `count` whose paints differ by a tenth of a millisecond, and beyond these the first few of each family."""
    chosen: Ranking = []
    outcomes: set[tuple[object, ...]] = set()
    members: dict[int, int] = {}
    for genome, item in ranked:
        outcome = tuple(
            (name, *(round(value, 1) for value in paints.to_dict().values()))
            for name, paints in item.by_network.items()
        )
        is_wanted = len(chosen) < count or members.get(genome.family, 0) < of_a_family
        if outcome not in outcomes and is_wanted:
            outcomes.add(outcome)
            members[genome.family] = members.get(genome.family, 0) + 1
            chosen.append((genome, item))
    return chosen


def note_step(history: list[tuple[int, float]], tried: int, best: Scored | None) -> None:
    """Add a point to the curve of the best score where it goes down."""
    if best is not None and is_better(best.score, history[-1][1] if history else None):
        history.append((tried, best.score))


def _seeds_on(scene: Scenario, rung: Rung, seeds: Sequence[int]) -> Sequence[int]:
    return scene.seeds_of(seeds) if rung == "stack" else seeds[:1]
