"""What is to be tuned, and what that needs of the world."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mixedsched.advice.tuner.budget import least_budget_s
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.result import Estimates
from mixedsched.advice.tuner.subject import Subject
from mixedsched.advice.tuner.trials import Watch
from mixedsched.lab.bench import Surroundings
from mixedsched.lab.costs import known_overhead_s, refuse_short_budget
from mixedsched.lab.play.pool import playing_costs
from mixedsched.lab.play.scenario import SEEDS, Scenario
from mixedsched.lab.play.task import NamedScheme, Simulator
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.profile import Profile

PIPE, STACK, BROWSER = "pipe", "stack", "browser"
RUNGS = (PIPE, STACK, BROWSER)
PLAYED_LEAST = 16  # candidates on rung stack, below which a search is of no use
SIMULATED_LEAST_S = 10.0  # what starting, processes and the report take by themselves where no browser is asked


@dataclass(frozen=True, slots=True)
class TuneJob:
    """What is to be tuned, for which networks, and how."""

    subject: Subject
    networks: tuple[Profile, ...]
    objective: Objective
    schemes: tuple[str, ...]  # that the search may use, with parameters
    rung: str  # the last to be asked
    form_factor: str
    budget_s: float
    seed: int  # of everything that is drawn
    penalty: float  # for each departure from the browser's signals
    model: BrowserModel
    folder: Path  # for all that is kept
    versions: Mapping[str, str]  # of our own programs
    candidates: int | None = None  # tried on rung stack at most; None for as many as the time allows

    @property
    def digest(self) -> str:
        """Names the job: equal for equal ones, whatever their budget."""
        networks = [f"{item.name} {sorted(item.facts().items())}" for item in self.networks]
        facts = (
            self.subject.name,
            self.subject.digest,
            networks,
            (self.objective.text, self.schemes, self.rung, self.form_factor, self.seed, self.penalty, self.candidates),
            self.model,
        )
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]

    @property
    def work(self) -> dict[str, str]:
        """Marks its loads in the store."""
        return {"tune": self.digest}

    def seed_of(self, phase: str) -> int:
        """A seed for the links and orders of a phase; those of two phases have nothing in common."""
        return int(hashlib.sha256(f"{self.seed}/{phase}".encode()).hexdigest()[:8], 16)


@dataclass(frozen=True, slots=True)
class TuneSurroundings(Surroundings):
    """What a tuning needs of the world."""

    watch: Watch  # is told how the search goes
    workers: Simulator[Estimates | None]


def refuse_small_budget(job: TuneJob) -> None:
    """Raises UsageError before any work, if there is no time for one block, or a search. How long a load takes is simulated.

    Raises PageLoadError where a network never lets one end.
    """
    is_measured = job.rung == BROWSER
    load_s, least_s = playing_costs(
        [Scenario(job.subject.page, network, is_varied=is_measured) for network in job.networks],
        NamedScheme("eps"),
        job.seed,
        lambda scenario: PLAYED_LEAST * len(scenario.seeds_of(range(SEEDS))),
    )
    work = "a useful search"
    if is_measured:
        least_s = least_budget_s(load_s, known_overhead_s(job.folder), least_s)
        work = "to look at the page, search, and measure a single block"
    subject = f"{job.subject.name} on {', '.join(load_s)}"
    refuse_short_budget(job.budget_s, max(SIMULATED_LEAST_S, least_s), subject, work, is_measured=is_measured)
