"""The result of a tuning: plain values for the report, the terminal and machines."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.own_server import KeptServer
from mixedsched.advice.tuner.candidate import Candidate, Deviation
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.lab.comparison import Comparison, Effect
from mixedsched.lab.model import Run
from mixedsched.model.profile import Profile


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """Responses whose paths match get this `priority` header (RFC 9218 section 8). The first rule that matches counts."""

    match: str  # pattern of paths, with one * at most; see `patterns`
    value: str  # of the header field, as "u=1, i=?0"
    covers: tuple[str, ...]  # ids of the page's resources that it is for
    why: str
    effect_pct: Mapping[str, float]
    """Change of the objective's first metric by network if this rule alone is left out, simulated over seeds that the search
    did not use; empty while not known."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "covers": list(self.covers)}


@dataclass(frozen=True, slots=True)
class HtmlLine:
    """One change to the document."""

    change: Change
    effect_pct: Mapping[str, float]  # change by network with this line alone, simulated as for headers
    measured: str | None = None  # label of the arm that loaded the page with this line alone, None if there was none
    measured_pct: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """By network: the objective's change against the best baseline, and both ends of its interval."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON. targets: [host index, path] of each file. risk: None if there is none."""
        return {
            "code": self.change.code,
            "action": self.change.action.value,
            "title": self.change.title,
            "targets": [list(key) for key in self.change.targets],
            "why": self.change.why,
            "risk": self.change.risk or None,
            "effect_pct": dict(self.effect_pct),
            "measured": self.measured,
            "measured_pct": {name: [round(value, 2) for value in found] for name, found in self.measured_pct.items()},
        }


@dataclass(frozen=True, slots=True)
class ServerSetting:
    """A line of a server's configuration."""

    directive: str
    value: str
    usual: str
    effect_pct: Mapping[str, float]  # change by network if it alone is left out, simulated as for headers


TUNING_FORMAT = "mixedsched.tuning/1"


class Outcome(StrEnum):
    """How a tuning ended."""

    CONFIRMED = "confirmed"
    """Better than every baseline it was measured against, over new loads and seeds, and worse than sequential nowhere."""
    UNCONFIRMED = "unconfirmed"
    """Promised, but not shown; the best baseline is kept."""
    NOTHING_TO_GAIN = "nothing_to_gain"
    """No baseline leaves room, or nothing that was tried is better."""
    SIMULATED = "simulated"
    """No browser was asked."""
    INTERRUPTED = "interrupted"
    """Stopped before the end of the proof, or of the search where no browser is asked."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate and its simulated loads."""

    candidate: Candidate
    score: float  # of the objective, penalty included; lower is better
    penalty: float  # the part of it for complexity
    by_network: Mapping[str, PaintEstimate]  # medians over seeds

    @property
    def value(self) -> float:
        """The score without its penalty."""
        return self.score - self.penalty

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.candidate.to_dict(),
            "score": round(self.score, 6),
            "penalty": round(self.penalty, 6),
            "estimate_ms": {name: item.to_dict() for name, item in self.by_network.items()},
        }


@dataclass(frozen=True, slots=True)
class RungResult:
    """One rung of the search."""

    rung: str  # "pipe", "stack" or "held out" (stack, over seeds that the search did not use)
    tried: int  # candidates
    loads: int  # simulated for them
    seconds: float  # of real time
    best: Scored | None  # at its end
    history: tuple[tuple[int, float], ...] = ()  # (candidates tried, best score so far), for the curve
    is_whole: bool = False  # every candidate that differs in effect was tried

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
    """The part of a measured arm."""

    BASELINE = "baseline"
    TUNED = "tuned"
    HEADERS = "headers"
    HTML = "html"
    LINE = "line"  # a single one of the HTML lines


@dataclass(frozen=True, slots=True)
class Contender:
    """An arm of the browser rung."""

    label: str
    role: Role
    candidate: Candidate  # how the server delivers; plain eps for what is shipped to other servers
    changes: tuple[Change, ...] = ()  # to the site that it serves
    on: str = ""
    """The arm that stands for one's own server: real (@caddy), or its model; empty for a scheme of the search."""

    @property
    def is_by_headers(self) -> bool:
        """Whether it is the winner, loaded as plain eps with response headers that say all of it."""
        return self.role is Role.TUNED and bool(self.changes) and not self.on

    def to_dict(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "role": self.role.value,
            **self.candidate.to_dict(),
            "changes": [item.code for item in self.changes],
            **({"on": self.on} if self.on else {}),
        }


@dataclass(frozen=True, slots=True)
class Dropped:
    """An arm that left the race early."""

    label: str
    after: int  # blocks it was in
    leader: str  # label of the arm that it lost to
    change_pct: float
    p: float  # adjusted, one-sided


@dataclass(frozen=True, slots=True)
class NetworkProof:
    """The loads on one network."""

    profile: Profile
    bound: PaintEstimate
    """The earliest paints that the network allows this page, simulated with nothing in the way of what they wait for."""
    race: Comparison | None = None
    """Selection, never used for a claim; of the blocks that all its arms have in common."""
    race_runs: tuple[Run, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    proof: Comparison | None = None
    """Fresh seeds, the only evidence of effects, against the best baseline; None if there was no time for a block."""
    runs: tuple[Run, ...] = ()  # of the proof
    effects: tuple[Effect, ...] = ()
    """Effects of the winner and of what is shipped against the best baseline, in the metric of the decision (the objective's
    only one, or all of them weighted); p adjusted over the whole declared family."""
    simulated: tuple[PlayedLoad, ...] = ()
    """Shown where no browser was asked: a load of rung stack under the best baseline, and one under the winner, same seed."""
    sequential: Comparison | None = None
    """The proof against the arm `sequential`, where that is not the best baseline."""

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
    """The result of `tune` for one page."""

    site: str
    title: str
    form_factor: str
    objective: Mapping[str, float]  # weights by metric key
    budget_s: float
    spent_s: float
    seed: int
    outcome: Outcome
    reason: str
    rungs: tuple[RungResult, ...]
    baselines: Mapping[str, Scored]  # in simulation, by label
    best_baseline: str  # label of the one to beat
    winner: Scored | None  # the best candidate of the search
    runners_up: tuple[Scored, ...]
    deviations: tuple[Deviation, ...]  # of the winner
    contenders: tuple[Contender, ...]
    networks: tuple[NetworkProof, ...]
    headers: tuple[HeaderRule, ...]  # to be shipped
    html: tuple[HtmlLine, ...]  # to be shipped
    kept_pct: Mapping[Role, Mapping[str, float]] = field(default_factory=dict)
    """Share of the tuned gain that remains with plain eps and only headers (or HTML lines), by role and network: of the
    proof's loads, or simulated where no browser was asked."""
    files: tuple[str, ...] = ()  # names of what was written below the folder, in order
    notes: tuple[str, ...] = ()  # what a reader must know, a sentence each
    facts: Mapping[str, Any] = field(default_factory=dict)  # versions, seeds and other circumstances
    rung: str = "browser"  # the last that was asked for: "pipe", "stack" or "browser"
    kept_range_pct: Mapping[Role, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """95 % interval of kept_pct, where loads were measured."""
    withheld: Mapping[Role, str] = field(default_factory=dict)
    """Why headers, or lines of HTML, are not to be shipped although simulation likes them, a sentence without a stop."""
    server: KeptServer | None = None  # that it was made for, where one was named
    setting: ServerSetting | None = None  # to be shipped

    @property
    def shipped(self) -> bool:
        """Whether the winner is recommended."""
        return self.outcome is Outcome.CONFIRMED or (self.outcome is Outcome.SIMULATED and self.winner is not None)

    @property
    def proved_blocks(self) -> int:
        """Complete blocks of the proof, on the network that has fewest."""
        return min((item.proof.complete_blocks if item.proof is not None else 0 for item in self.networks), default=0)

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
                "setting": asdict(self.setting) if self.setting is not None else None,
            },
            "server": self.server.to_dict(is_loaded=self.rung == "browser") if self.server is not None else None,
            "notes": list(self.notes),
            **self.facts,
        }
