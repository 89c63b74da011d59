"""What is to be tuned, and what that needs of the world."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.result import Estimates
from mixedsched.advice.tuner.search import Watch
from mixedsched.lab.engine import RunObserver
from mixedsched.lab.play.task import Simulator
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.sites.site import Site

PIPE, STACK, BROWSER = "pipe", "stack", "browser"
RUNGS = (PIPE, STACK, BROWSER)


@dataclass(frozen=True, slots=True)
class Job:
    """page: as its manifest has it. site: what the browser loads; None where no browser is asked. digest_of_contents: of what
    the site serves, or of the page. rung: the last to be asked. schemes: specs that the search may use. penalty: for each
    departure. candidates: tried on rung stack at most; None for as many as the time allows. seed: of everything that is drawn.
    folder: for all that is kept. versions: of our own programs."""

    name: str
    title: str
    page: Page
    site: Site | None
    digest_of_contents: str
    networks: tuple[Profile, ...]
    objective: Objective
    schemes: tuple[str, ...]
    rung: str
    form_factor: str
    budget_s: float
    seed: int
    penalty: float
    model: BrowserModel
    folder: Path
    versions: Mapping[str, str]
    candidates: int | None = None

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

    def seed_of(self, phase: str) -> int:
        """A seed for the links and orders of a phase; those of two phases have nothing in common."""
        return int(hashlib.sha256(f"{self.seed}/{phase}".encode()).hexdigest()[:8], 16)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """clock_s: monotonic. began_s: when the time began to count, by that clock. say: one line on what happens now. observe:
    watches loads, given how many are left. watch: told how the search goes. workers: play simulated loads."""

    clock_s: Callable[[], float]
    began_s: float
    say: Callable[[str], None]
    observe: Callable[[int], AbstractContextManager[RunObserver]]
    watch: Watch
    workers: Simulator[Estimates | None]
