"""The job of a tuning: its page, its options, the shares of its time, and the decisions that its session has made."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from mixedsched.advice.changes.own_server import KeptServer
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.trials import Watch
from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.core.stats import smallest_deciding_pairs
from mixedsched.errors import SiteError, UsageError
from mixedsched.lab.bench import Surroundings
from mixedsched.lab.costs import START_S, known_overhead_s, loads_cost_s, refuse_short_budget
from mixedsched.lab.play.pool import playing_costs
from mixedsched.lab.play.scenario import SEEDS, Scenario
from mixedsched.lab.play.task import NamedScheme, Simulator
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.sites.elsewhere import is_elsewhere
from mixedsched.sites.opening import folder_of, load_site, open_site, recipes
from mixedsched.sites.pages import STANDARD_INPUT, read_pages
from mixedsched.sites.site import MANIFEST_NAME, Origins, Site, site_digest
from mixedsched.world.system.files import write_whole

# How the time there is goes to looks, search, race and proof: pure arithmetic on costs of loads. The proof comes first: without
# enough blocks nothing can be said. Then a small search, then a small race; what is left beyond that makes all three larger.
# Where there is no time for a race, simulation alone chooses what is proved.


SEARCH_SHARE, SEARCH_SHARE_MOST = 0.1, 0.3  # of the budget
SEARCH_LEAST_S, SEARCH_MOST_S = 3.0, 900.0
SEARCH_YIELDS_TO = 0.4  # of its share, to a proof that can decide; where that is not enough, it keeps all of it
SPARE_TO_SEARCH, SPARE_TO_RACE = 0.25, 0.35  # of what nothing needs; the rest is the proof's
LAPS_LEAST, LAPS_MOST = 2, 8
ARMS_FEW, ARMS_FEWEST = 4, 3  # of a race: one candidate or two, and the baselines that simulation thinks best
FINALISTS = 3  # arms of a proof: the winner, the best baseline, sequential (where that is the best: the next one)
REPORT_S = 3.0  # to write it
SHIPPED = 1  # and what is shipped to other servers
SLACK = 1.15  # loads of the proof often take longer than the look: slower arms, and random losses


@dataclass(frozen=True, slots=True)
class Shares:
    """How the time is divided."""

    search_s: float  # for simulations
    laps: int  # of the race; 0 where there is no time for one
    arms: int  # of the race
    proof_s: float  # what is left for the proof if search and race take all of theirs


def deciding_blocks(networks: int) -> int:
    """With fewer, no proof on any of so many networks is possible, whatever is measured."""
    return smallest_deciding_pairs(networks)


def share_out(left_s: float, costs_s: Mapping[str, float], arms: int, budget_s: float) -> Shares:
    """Divide what the looks leave. costs_s: of one load, by network. arms: that would like to run the race.

    The clock is still watched: a race may be cut short, and a proof be left unfinished.
    """
    lap_s, starts_s = sum(costs_s.values()), START_S * len(costs_s)
    proof_s = deciding_blocks(len(costs_s)) * FINALISTS * lap_s * SLACK + starts_s
    whole_s = deciding_blocks(len(costs_s)) * (FINALISTS + SHIPPED) * lap_s * SLACK + starts_s
    search_s = min(SEARCH_SHARE * budget_s, SEARCH_SHARE_MOST * left_s, SEARCH_MOST_S)
    if left_s - proof_s > SEARCH_YIELDS_TO * search_s:  # a proof that can decide needs little of the search's time
        search_s = min(search_s, left_s - proof_s)
    search_s = max(SEARCH_LEAST_S, search_s)
    left_s -= search_s
    few, fewest = (LAPS_LEAST * min(arms, count) * lap_s + starts_s for count in (ARMS_FEW, ARMS_FEWEST))
    race_s = next((needed for needed in (few, fewest) if left_s >= proof_s + needed), 0.0)
    spare_s = left_s - whole_s - few
    if spare_s > 0:
        more_s = min(SPARE_TO_SEARCH * spare_s, max(0.0, min(SEARCH_SHARE_MOST * budget_s, SEARCH_MOST_S) - search_s))
        search_s, left_s = search_s + more_s, left_s - more_s
        race_s = few + SPARE_TO_RACE * spare_s
    laps, racing = _race((race_s - starts_s) / lap_s, arms) if race_s else (0, 0)
    return Shares(search_s, laps, racing, left_s - (laps * racing * lap_s + starts_s if laps else 0.0))


def _race(loads: float, arms: int) -> tuple[int, int]:
    """Laps and arms for so many loads on every network: first all arms, then more laps."""
    racing = max(min(arms, ARMS_FEWEST), min(arms, int(loads / LAPS_LEAST + 1e-9)))
    return max(LAPS_LEAST, min(LAPS_MOST, int(loads / racing + 1e-9))), racing


def proof_least_s(costs_s: Mapping[str, float]) -> float:
    """Time for enough blocks of the winner and a baseline; where no load was made, for the report alone."""
    if not costs_s:
        return REPORT_S
    return deciding_blocks(len(costs_s)) * 2 * sum(costs_s.values()) + START_S * len(costs_s)


def proof_arms(left_s: float, costs_s: Mapping[str, float], least: int, available: int) -> int:
    """How many arms a proof has: as many as can be decided on in the time. least: the winner and the baselines."""
    block_s = deciding_blocks(len(costs_s)) * sum(costs_s.values()) * SLACK
    fitting = int((left_s - START_S * len(costs_s)) / block_s)
    return max(least, min(available, fitting))


def least_budget_s(load_s: Mapping[str, float], overhead_s: float, screening_s: float) -> float:
    """For one look at every network, the least search, and one block of the finalists.

    load_s: estimated time of a load, by network. overhead_s: cost of a load beyond that. screening_s: of the search.
    """
    return loads_cost_s(load_s, 1 + FINALISTS, overhead_s) + max(SEARCH_LEAST_S, screening_s)


# The job


MADE_NAME = "site"  # begins the name of the folder of the site that is made of a page, in the folder of results
DECISIONS_NAME = "decisions.json"
PIPE, STACK, BROWSER = "pipe", "stack", "browser"
RUNGS = (PIPE, STACK, BROWSER)
TABLES, VGPRIO = "tables", "vgprio"
SPACES = (TABLES, VGPRIO)
MEASURED = QUICK_METRICS  # the quiet that TTI waits for, which no objective can have, would halve the blocks of a proof
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
        is_site = is_elsewhere(name) or folder_of(name) is not None or name in {recipe.name for recipe in recipes()}
        if is_site and name != STANDARD_INPUT:
            site = open_site(name, origins)
            return cls(site.name, site.title or site.name, site.page, site, site_digest(site))
        pages = read_pages([name])
        if len(pages) != 1:
            raise UsageError(
                f"'{name}' holds {len(pages)} pages", fix="name one of them, or several for the scheme finder"
            )
        if origins is not None:
            raise UsageError("a page description has no origins to merge", fix="leave --origins out")
        return cls(pages[0].name, pages[0].name, pages[0], None, pages[0].fingerprint)

    def loadable(self, folder: Path, progress: Callable[[int, int], None]) -> Self:
        """With a site: that of a page description is made once, in the folder of results. progress: bytes done, and in all.

        Its folder bears the fingerprint of the page: once the description has changed, an earlier site is not its own.
        """
        if self.site is not None:
            return self
        from mixedsched.sites.synth import synthesise  # here, because it brings libraries that others have no use for

        target = folder / f"{MADE_NAME}-{self.page.fingerprint}"
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
    space: str = TABLES  # what is searched: schemes and their tables, or the few knobs of VGPrio
    server: KeptServer | None = None  # that one has, and does not want to replace

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
            *([self.space] if self.space != TABLES else ()),
            *([(self.server.model, self.server.on, self.server.version)] if self.server is not None else ()),
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
        least_s = least_budget_s(load_s, known_overhead_s(job.folder, MEASURED), least_s)
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
            "the folder contains another tuning",
            why="it was not made for this page, network, objective, seed and schemes",
            fix="choose another folder with --out",
        )

    def make(self, what: str, decide: Callable[[], Any]) -> Any:
        """The earlier decision, else a new one."""
        decisions = {"job": self._digest, **self.known()}
        if what not in decisions:
            decisions[what] = decide()
            write_whole(self._file, json.dumps(decisions, indent=1))
        return decisions[what]
