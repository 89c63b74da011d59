"""What is to be tuned, and what that needs of the world."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.result import Estimates
from mixedsched.advice.tuner.trials import Watch
from mixedsched.lab.bench import Surroundings
from mixedsched.lab.play.task import Simulator
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.sites.site import Site

PIPE, STACK, BROWSER = "pipe", "stack", "browser"
RUNGS = (PIPE, STACK, BROWSER)


@dataclass(frozen=True, slots=True)
class TuneJob:
    """What is to be tuned, for which networks, and how."""

    name: str
    title: str
    page: Page  # as its manifest has it
    site: Site | None  # what the browser loads; None where no browser is asked
    digest_of_contents: str  # fingerprint of what the site serves, or of the page
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
            self.name,
            self.digest_of_contents,
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
