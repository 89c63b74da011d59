"""What a search comes to: plain values for the report, the terminal and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from mixedsched.advice.changes.change import Change
from mixedsched.advice.tuner.candidate import Candidate, Deviation
from mixedsched.advice.tuner.ship.lines import HeaderRule, HtmlLine
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.core.sim.load import PageLoad
from mixedsched.lab.comparison import Comparison, Effect
from mixedsched.lab.model import Run
from mixedsched.model.profile import Profile

TUNING_FORMAT = "mixedsched.tuning/1"


class Outcome(StrEnum):
    """confirmed: better than every baseline it was measured against, over loads and seeds that are new to it, and worse than
    sequential nowhere. unconfirmed: promised, but not shown; the best baseline is kept. nothing_to_gain: no baseline leaves
    room, or nothing that was tried is better. simulated: no browser was asked. interrupted: stopped before the proof."""

    CONFIRMED = "confirmed"
    UNCONFIRMED = "unconfirmed"
    NOTHING_TO_GAIN = "nothing_to_gain"
    SIMULATED = "simulated"
    INTERRUPTED = "interrupted"


Estimates = PaintEstimate  # of one simulated load, or medians over several


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate and what simulation makes of it. score: of the objective, penalty included; lower is better.

    penalty: the part of it that is for complexity. by_network: estimates, medians over seeds.
    """

    candidate: Candidate
    score: float
    penalty: float
    by_network: Mapping[str, Estimates]

    @property
    def value(self) -> float:
        """The score without its penalty."""
        return self.score - self.penalty

    def to_dict(self) -> dict[str, Any]:
        return {
            **candidate_facts(self.candidate),
            "score": round(self.score, 6),
            "penalty": round(self.penalty, 6),
            "estimate_ms": {name: item.to_dict() for name, item in self.by_network.items()},
        }


@dataclass(frozen=True, slots=True)
class RungResult:
    """One rung of the search. rung: "pipe", "stack" or "held out" (stack, over seeds that the search did not use).

    tried: candidates; loads: simulated for them; seconds: of real time. best: at its end. history: (candidates tried, best
    score so far), for the curve. is_whole: whether every candidate that differs in effect was tried.
    """

    rung: str
    tried: int
    loads: int
    seconds: float
    best: Scored | None
    history: tuple[tuple[int, float], ...] = ()
    is_whole: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "rung": self.rung,
            "tried": self.tried,
            "is_whole": self.is_whole,
            "loads": self.loads,
            "seconds": round(self.seconds, 1),
            "best": self.best.to_dict() if self.best is not None else None,
            "history": [list(step) for step in self.history],
        }


class Role(StrEnum):
    """What a measured arm stands for. line: a single one of the HTML lines."""

    BASELINE = "baseline"
    TUNED = "tuned"
    HEADERS = "headers"
    HTML = "html"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class Contender:
    """An arm of the browser rung. label: of the arm. candidate: how the server delivers; for what is shipped to other servers
    it is plain eps. changes: what the edition of the site that it serves has in addition."""

    label: str
    role: Role
    candidate: Candidate
    changes: tuple[Change, ...] = ()

    @property
    def is_by_headers(self) -> bool:
        """Whether it is the winner, loaded as plain eps with response headers that say all of it."""
        return self.role is Role.TUNED and bool(self.changes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "role": self.role.value,
            **candidate_facts(self.candidate),
            "changes": [item.code for item in self.changes],
        }


@dataclass(frozen=True, slots=True)
class Dropped:
    """An arm that left the race early. after: blocks it was in. leader: arm it lost to. p: adjusted, one-sided."""

    label: str
    after: int
    leader: str
    change_pct: float
    p: float


@dataclass(frozen=True, slots=True)
class NetworkProof:
    """What the browser said on one network.

    bound: earliest paints that the network allows this page, simulated with nothing on the link but what the largest paint
    waits for. race: selection, never used for a claim; of the blocks that all its arms have in common. proof: fresh seeds, the
    only evidence of effects, against the best baseline; None if there was no time for a block. sequential: the same runs
    against the arm `sequential`, where that is not the best baseline. effects: of the decision's metric (the objective's own,
    or all its metrics weighted), of the winner and of what is shipped against the best baseline; p adjusted over the whole
    declared family. race_runs, runs: of each. simulated: one load of rung stack under the best baseline, then one under the
    tuned order, same seed; shown where no browser was asked.
    """

    profile: Profile
    bound: Estimates
    race: Comparison | None = None
    race_runs: tuple[Run, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    proof: Comparison | None = None
    runs: tuple[Run, ...] = ()
    effects: tuple[Effect, ...] = ()
    simulated: tuple[PageLoad, ...] = ()
    sequential: Comparison | None = None

    @property
    def name(self) -> str:
        return self.profile.name

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "bound_ms": self.bound.to_dict(),
            "race": self.race.to_dict() if self.race is not None else None,
            "dropped": [asdict(item) for item in self.dropped],
            "proof": self.proof.to_dict() if self.proof is not None else None,
            "against_sequential": self.sequential.to_dict()["effects"] if self.sequential is not None else None,
            "effects": [item.to_dict() for item in self.effects],
        }


@dataclass(frozen=True, slots=True)
class Tuning:
    """All of it.

    objective: weights by metric key. baselines: scored in simulation, by label. best_baseline: label of the one to beat.
    winner: the best candidate of the search; shipped: whether it is recommended (else the best baseline stays).
    kept_pct: share of the tuned gain that remains with plain eps and only headers (or HTML lines), by role, network, of the
    proof's loads, or simulated where no browser was asked; kept_range_pct: its 95 % interval, where loads were measured.
    withheld: why headers, or lines of HTML, are not to be shipped although simulation likes them, a sentence without a stop.
    files: names of what was written below the folder, in order. notes: what a reader must know, a sentence each.
    rung: the last that was asked for, "pipe", "stack" or "browser".
    """

    site: str
    title: str
    form_factor: str
    objective: Mapping[str, float]
    budget_s: float
    spent_s: float
    seed: int
    outcome: Outcome
    reason: str
    rungs: tuple[RungResult, ...]
    baselines: Mapping[str, Scored]
    best_baseline: str
    winner: Scored | None
    runners_up: tuple[Scored, ...]
    deviations: tuple[Deviation, ...]
    contenders: tuple[Contender, ...]
    networks: tuple[NetworkProof, ...]
    headers: tuple[HeaderRule, ...]
    html: tuple[HtmlLine, ...]
    kept_pct: Mapping[Role, Mapping[str, float]] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    rung: str = "browser"
    kept_range_pct: Mapping[Role, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    withheld: Mapping[Role, str] = field(default_factory=dict)

    @property
    def shipped(self) -> bool:
        """Whether the winner is recommended."""
        return self.outcome is Outcome.CONFIRMED or (self.outcome is Outcome.SIMULATED and self.winner is not None)

    def to_dict(self) -> dict[str, Any]:
        """For machines: times in ms, changes in per cent (negative is better). Holds no NaN and no infinity."""
        tuned = None
        if self.winner is not None:
            tuned = {**self.winner.to_dict(), "deviations": [asdict(item) for item in self.deviations]}
        return {
            "format": TUNING_FORMAT,
            "site": self.site,
            "title": self.title,
            "links": [item.name for item in self.networks],
            "form_factor": self.form_factor,
            "objective": dict(self.objective),
            "rung": self.rung,
            "seed": self.seed,
            "budget_s": round(self.budget_s, 1),
            "spent_s": round(self.spent_s, 1),
            "outcome": self.outcome.value,
            "shipped": self.shipped,
            "reason": self.reason,
            "baseline": self.best_baseline,
            "baselines": {label: item.to_dict() for label, item in self.baselines.items()},
            "tuned": tuned,
            "runners_up": [item.to_dict() for item in self.runners_up],
            "rungs": [item.to_dict() for item in self.rungs],
            "bounds": {item.name: item.bound.to_dict() for item in self.networks},
            "contenders": [item.to_dict() for item in self.contenders],
            "networks": [item.to_dict() for item in self.networks],
            "effects": [{"link": item.name, **effect.to_dict()} for item in self.networks for effect in item.effects],
            "kept_pct": {
                role.value: {name: round(value, 1) for name, value in by_network.items()}
                for role, by_network in self.kept_pct.items()
            },
            "kept_range_pct": {
                role.value: {name: [round(value, 1) for value in pair] for name, pair in by_network.items()}
                for role, by_network in self.kept_range_pct.items()
            },
            "ship": {
                "files": list(self.files),
                "headers": [item.to_dict() for item in self.headers],
                "html": [item.to_dict() for item in self.html],
                "withheld": {role.value: why for role, why in self.withheld.items()},
            },
            "notes": list(self.notes),
            **self.facts,
        }


def candidate_facts(candidate: Candidate) -> dict[str, Any]:
    """A candidate for machines. mapping: name of a published table, "tuned" for its own, None where its scheme has none."""
    own = candidate.mapping()
    return {
        "scheme": candidate.scheme,
        "mapping": candidate.published or (own.name if own is not None else None),
        "cells": {f"{priority.value}.{kind.value}": str(value) for (priority, kind), value in candidate.cells},
        "overrides": [
            {"match": item.match, "priority": str(item.priority), "why": item.why} for item in candidate.overrides
        ],
    }
