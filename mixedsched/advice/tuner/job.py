"""The job of a tuning: its page, its options, its least budget, and the decisions that its session has made."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from mixedsched.advice.tuner._budget import least_budget_s
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.trials import Watch
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import SiteError, UsageError
from mixedsched.lab.bench import Surroundings
from mixedsched.lab.costs import known_overhead_s, refuse_short_budget
from mixedsched.lab.play.pool import playing_costs
from mixedsched.lab.play.scenario import SEEDS, Scenario
from mixedsched.lab.play.task import NamedScheme, Simulator
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.sites.opening import folder_of, load_site, open_site, recipes
from mixedsched.sites.pages import STANDARD_INPUT, read_pages
from mixedsched.sites.site import MANIFEST_NAME, Origins, Site, site_digest

MADE_NAME = "site"  # folder of the site that is made of a page, in the folder of results
DECISIONS_NAME = "decisions.json"
PIPE, STACK, BROWSER = "pipe", "stack", "browser"
RUNGS = (PIPE, STACK, BROWSER)
PLAYED_LEAST = 16  # candidates on rung stack, below which a search is of no use
SIMULATED_LEAST_S = 10.0  # what starting, processes and the report take by themselves where no browser is asked


@dataclass(frozen=True, slots=True)
class Subject:
    """The page to tune."""

    name: str
    title: str
    page: Page  # as its manifest has it
    site: Site | None  # what a browser loads; None for a page description
    digest: str  # fingerprint of what the site serves, or of the page

    @classmethod
    def named(
        cls, name: str, origins: Origins | None, open_site: Callable[[str, Origins | None], Site] = open_site
    ) -> Self:
        """The subject of that name. Raises SiteError or PageError for what is neither, UsageError for several pages."""
        if name in {recipe.name for recipe in recipes()} or (name != STANDARD_INPUT and folder_of(name) is not None):
            site = open_site(name, origins)
            return cls(site.name, site.title or site.name, site.page, site, site_digest(site))
        pages = read_pages([name])
        if len(pages) != 1:
            raise UsageError(
                f"'{name}' holds {len(pages)} pages", fix="name one of them, or several for the scheme finder"
            )
        if origins is not None:
            raise UsageError("a page description has no origins to keep or merge", fix="leave --origins out")
        return cls(pages[0].name, pages[0].name, pages[0], None, pages[0].fingerprint)

    def loadable(self, folder: Path, progress: Callable[[int, int], None]) -> Self:
        """With a site: that of a page description is made once, in the folder of results. progress: bytes done, and in all."""
        if self.site is not None:
            return self
        from mixedsched.sites.synth import synthesise  # here, because it brings libraries that others have no use for

        target = folder / MADE_NAME
        if not (target / MANIFEST_NAME).is_file():
            synthesise(self.page, target, progress=progress)
        try:
            site = load_site(target)
        except SiteError as error:
            raise SiteError(error.what, why=error.why, fix=f"remove {target}: it is made again") from error
        return replace(self, site=site, page=site.page, digest=site_digest(site))


@dataclass(frozen=True, slots=True)
class TuneJob:
    """A page to tune, for which networks, and how."""

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
    """The surroundings of a tuning."""

    watch: Watch  # is told how the search goes
    workers: Simulator[PaintEstimate | None]


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


class Decisions:
    """Decisions of a session, which stay as they are when it is continued, whatever its budget is then.

    A file in the session's folder, written whole each time. digest: of the session's job.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self._file = folder / DECISIONS_NAME
        self._digest = digest

    def known(self) -> dict[str, Any]:
        """All decisions by name; none where there is no readable file. Raises UsageError for those of another job."""
        try:
            found = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        if isinstance(found, dict) and found.get("job") == self._digest:
            return found
        raise UsageError(
            "the folder holds another tuning",
            why="it was not made for this page, network, objective, seed and schemes",
            fix="choose another folder with --out",
        )

    def make(self, what: str, decide: Callable[[], Any]) -> Any:
        """The earlier decision, else a new one."""
        decisions = {"job": self._digest, **self.known()}
        if what not in decisions:
            decisions[what] = decide()
            aside = self._file.with_suffix(".json.new")
            aside.write_text(json.dumps(decisions, indent=1), encoding="utf-8")
            aside.replace(self._file)
        return decisions[what]
