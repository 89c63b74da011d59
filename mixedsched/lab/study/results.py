"""The results of a study: every place as in `compare`, and over all sites how often, how much and how surely. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedsched.core.metrics import METRICS, Metric, metric_named
from mixedsched.lab._effects import BlockValues, effects_of
from mixedsched.lab.comparison import Effect
from mixedsched.lab.gates import GateResult
from mixedsched.lab.model import Arm
from mixedsched.lab.study._collecting import OTHER_KEYS, VALUE_KEYS, LoadsOfPlace, collect
from mixedsched.lab.study._over_sites import SchemeRegret, SitesSummary, regrets_of, summaries_of
from mixedsched.lab.study._studied_place import StudiedPlace
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.gates import NO_QUESTIONS, StudyQuestions
from mixedsched.lab.study.machines import MachineFactor, machine_factor
from mixedsched.lab.study.places import OPENED_AS
from mixedsched.world.store import BlockCounts, StoredLoad, StoredPlace

__all__ = ["OTHER_KEYS", "FailureCount", "SchemeRegret", "SitesSummary", "StudiedPlace", "StudyResult", "study_results"]

_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-]*\w)")  # but not that of "sander-burst5"


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Loads that do not count, for one reason."""

    arm: str
    status: str
    reason: str
    loads: int
    places: int  # at which it happened

    def to_dict(self) -> dict[str, Any]:
        return {
            "scheme": self.arm,
            "status": self.status,
            "reason": self.reason,
            "loads": self.loads,
            "places": self.places,
        }


@dataclass(frozen=True, eq=False)
class StudyResult:
    """The results of a study, finished or not."""

    study: Study
    arms: tuple[Arm, ...]  # baseline first, then as the study names them
    metrics: tuple[Metric, ...]  # the primary ones first
    places: tuple[StudiedPlace, ...]  # in the order of the study
    summaries: tuple[SitesSummary, ...]  # by link, then metric, then scheme
    regrets: tuple[SchemeRegret, ...]  # over all places, by metric, best mean first
    failures: tuple[FailureCount, ...]  # most frequent first
    machines: Mapping[str, int]  # complete blocks by machine
    machine_factor: MachineFactor | None  # whether machines agree; None where that is no question
    questions: StudyQuestions = NO_QUESTIONS  # what it is to decide
    # Circumstances of its loads, by caption: versions of programs, machines.
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def links(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(place.link for place in self.places))

    @cached_property
    def sites(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(place.site for place in self.places))

    @cached_property
    def gates(self) -> tuple[GateResult, ...]:
        """The outcome of each gate, at each place, for each arm."""
        return self.questions.answers(self.places, [arm.label for arm in self.arms])

    def undecided(self) -> list[StudiedPlace]:
        """Places at which gates, or primary effects if there are no gates, are undecided."""
        return [place for place in self.places if not self.questions.is_decided(place, self.gates)]

    @property
    def primary(self) -> tuple[Metric, ...]:
        return self.metrics[: len(self.study.primary)]

    @property
    def missing_blocks(self) -> int:
        return sum(place.missing for place in self.places)

    @property
    def is_partial(self) -> bool:
        """Whether blocks are still missing."""
        return self.missing_blocks > 0

    def place(self, site: str, link: str) -> StudiedPlace | None:
        return next((item for item in self.places if (item.site, item.link) == (site, link)), None)

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of `study report --json`. Contains no NaN and no infinity."""
        looks = self.questions.looks
        asked: dict[str, Any] = {} if looks is None else {"stopping": {"least": looks.first, "most": looks.last}}
        if self.questions.gates:
            asked["gates"] = [result.to_dict() for result in self.gates]
        return {
            "study": self.study.name,
            "places": [place.to_dict() for place in self.places],
            "effects": [
                {"site": place.site, "link": place.link, **effect.to_dict()}
                for place in self.places
                for effect in place.effects
            ],
            "summary": [item.to_dict() for item in self.summaries],
            "regrets": [item.to_dict() for item in self.regrets],
            "failures": [item.to_dict() for item in self.failures],
            "machines": dict(self.machines),
            "machine_factor": self.machine_factor.to_dict() if self.machine_factor is not None else None,
            "rung": self.study.rung,
            "baseline": self.study.baseline,
            "primary": list(self.study.primary),
            "partial": self.is_partial,
            **asked,
        }


def study_results(
    study: Study,
    places: Sequence[StoredPlace],
    counts: Iterable[BlockCounts],
    loads: Iterable[StoredLoad],
    questions: StudyQuestions = NO_QUESTIONS,
) -> StudyResult:
    """The results of a study's loads so far; in any order, with any number of attempts and any gaps.

    A block counts when one attempt has an ok load of every arm; the last such attempt is taken. At a place whose page and
    network are not random (its fact "exact") one block is exact: the margin alone decides. Holm's families
    are those of one place: the study's primary metrics times its arms, and the other metrics times its arms. Where blocks are
    looked at as they come in, all random places together share the error rate.
    """
    labels = [study.baseline, *(label for label in study.arms if label != study.baseline)]
    ordered = sorted(places, key=lambda place: (place.number, place.id))
    collected = collect(loads, (place.id for place in ordered), labels)
    planned = {item.place_id: item.open + item.leased + item.done + item.failed for item in counts}
    complete = {place.id: collected[place.id].complete() for place in ordered}
    values = {place.id: collected[place.id].values(complete[place.id]) for place in ordered}
    arms = tuple(Arm(label, label, study.mapping) for label in labels)
    metrics = _metrics(study, values.values())
    random_places = sum(not place.facts.get("exact") for place in ordered)
    judge = partial(effects_of, keep_blocks=False, looks=questions.looks, places=random_places)
    studied = tuple(
        _studied(place, collected[place.id], complete[place.id], values[place.id], arms, metrics, study, planned, judge)
        for place in ordered
    )
    return StudyResult(
        study=study,
        arms=arms,
        metrics=metrics,
        places=studied,
        summaries=summaries_of(studied, arms, metrics, study.seed),
        regrets=regrets_of(studied, arms, metrics, study.seed),
        failures=_failures(collected.values(), labels),
        machines=dict(sorted(Counter(machine for place in studied for machine in place.machines).items())),
        machine_factor=_machine_factor(studied, arms, metrics[0]) if study.rung == "browser" else None,
        questions=questions,
    )


def _metrics(study: Study, values: Iterable[NDArray[np.float64]]) -> tuple[Metric, ...]:
    """The primary ones, then all others that the study asks for or has anyway, if any load of it has them."""
    seen = np.zeros(len(VALUE_KEYS), dtype=bool)
    for table in values:
        seen |= ~np.isnan(table).all(axis=(0, 2))
    primary = [metric_named(name) for name in study.primary]
    known = {key for key, is_seen in zip(VALUE_KEYS, seen, strict=True) if is_seen}
    return (*primary, *(metric for metric in METRICS if metric.key in known and metric not in primary))


def _studied(
    place: StoredPlace,
    loads: LoadsOfPlace,
    complete: Mapping[int, int],
    values: NDArray[np.float64],
    arms: Sequence[Arm],
    metrics: Sequence[Metric],
    study: Study,
    planned: Mapping[int, int],
    judge: Callable[..., tuple[Effect, ...]],
) -> StudiedPlace:
    columns = [VALUE_KEYS.index(metric.key) for metric in metrics]
    table = BlockValues(arms, metrics, len(study.primary), tuple(complete), values[:, columns])
    is_exact = bool(place.facts.get("exact"))
    return StudiedPlace(
        id=place.id,
        site=place.site,
        link=place.link,
        opened_as=str(place.facts.get(OPENED_AS, place.site)),
        planned=planned.get(place.id, 0),
        blocks=tuple(complete),
        machines=tuple(loads.machines[attempt] for attempt in complete.items()),
        values=values,
        effects=judge(table, is_exact=is_exact) if complete else (),
        attempted=tuple(loads.attempted),
        failed=tuple(loads.failed(arm) for arm in range(len(arms))),
        is_exact=is_exact,
    )


def _failures(collected: Iterable[LoadsOfPlace], labels: Sequence[str]) -> tuple[FailureCount, ...]:
    """Reasons that differ in numbers alone are one; its numbers are left out."""
    loads: Counter[tuple[int, str, str]] = Counter()
    places: Counter[tuple[int, str, str]] = Counter()
    items = list(collected)
    shared = Counter(_NUMBER.sub("…", reason) for reason in {key[2] for item in items for key in item.failures})
    for item in items:
        own: Counter[tuple[int, str, str]] = Counter()
        for (arm, status, reason), count in item.failures.items():
            plain = _NUMBER.sub("…", reason)
            own[arm, status, plain if shared[plain] > 1 else reason] += count
        loads.update(own)
        places.update(own.keys())
    ranked = sorted(loads.items(), key=lambda item: (-item[1], item[0]))
    return tuple(FailureCount(labels[key[0]], key[1], key[2], count, places[key]) for key, count in ranked)


def _machine_factor(places: Iterable[StudiedPlace], arms: Sequence[Arm], metric: Metric) -> MachineFactor | None:
    """By the first primary metric. None for a single machine, and for metrics that have no ratios."""
    if metric.scale != "ratio":
        return None
    blocks = {
        (place.site, place.link): list(zip(place.machines, _log_ratios(place, len(arms), metric), strict=True))
        for place in places
    }
    return machine_factor(blocks) if len({machine for item in blocks.values() for machine, _ in item}) > 1 else None


def _log_ratios(place: StudiedPlace, arms: int, metric: Metric) -> list[list[float]]:
    """Of each block, by arm but the first; NaN where one of the two values is missing or zero."""
    rows = place.values[:, VALUE_KEYS.index(metric.key)]
    logs = np.log(rows, out=np.full_like(rows, np.nan), where=rows > 0)
    found: list[list[float]] = (logs[1:arms] - logs[0]).T.tolist()
    return found
