"""Which sites and links a study stands for, and what each of these places is, so that one that changed is noticed."""

import glob
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.errors import StudyError, UsageError, nearest_hint
from mixedsched.lab.play.scenario import Scenario, seeds_for
from mixedsched.lab.study.definition import PIPE_LINK, Study
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.sites.elsewhere import is_address
from mixedsched.sites.opening import is_known, open_site, recipes, recorded_names
from mixedsched.sites.pages import INDEX_NAME, MANIFEST_NAME, load_page
from mixedsched.sites.site import Site, site_digest
from mixedsched.world.store import PlannedBlock, PlannedPlace, StoredPlace

PAGE_SUFFIX = ".json"
OPENED_AS = "opened_as"  # a fact that says where a site is, and so may differ from start to start
# A laboratory takes as long to come up as half a load, so several blocks of a place are loaded at a sitting. All places come
# round again and again, so that whatever changes on the machine from hour to hour is met by all of them alike.
BLOCKS_AT_A_SITTING = 5
_RANKS_OF_A_ROUND = 1_000_000

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StudySite:
    """A site of a study, not yet opened."""

    name: str  # in results: a bundled or recorded name, or that of a file as the study names it, without its suffix
    opened_as: str  # what opens it from anywhere on this machine


def sites_of(study: Study) -> list[StudySite]:
    """All sites that a study names, each once. Raises StudyError for names that stand for nothing."""
    known = [*(recipe.name for recipe in recipes()), *recorded_names()]
    found: dict[str, StudySite] = {}
    for entry in study.sites:
        for site in _matches(entry, study, known):
            found.setdefault(site.opened_as, site)
    by_name: dict[str, StudySite] = {}
    for site in found.values():
        if (other := by_name.setdefault(site.name, site)) is not site:
            raise StudyError(
                f"two sites of the study are called '{site.name}'",
                why=f"{other.opened_as} and {site.opened_as}: results could not tell them apart",
                fix="rename one of them, or leave it out",
            )
    return list(found.values())


def _matches(entry: str, study: Study, known: Sequence[str]) -> Iterator[StudySite]:
    if is_known(entry) or is_address(entry):
        yield StudySite(entry, entry)
        return
    if any(sign in entry for sign in "*?["):
        names = [name for name in known if fnmatchcase(name, entry)]
        yield from (StudySite(name, name) for name in names)
        files = sorted(glob.glob(entry, root_dir=study.folder))  # noqa: PTH207 - Path.glob takes no absolute ones
        if not names and not files:
            raise StudyError(f"the study's '{entry}' matches nothing", fix=nearest_hint(entry, known))
        for file in files:
            yield from _at(file, study, known)
    elif _exists(study.folder / entry):
        yield from _at(entry, study, known)
    else:
        raise StudyError(
            f"the study names a site '{entry}' that does not exist",
            why=f"no bundled or recorded site has this name, and no file in {study.folder.absolute()}",
            fix=nearest_hint(entry, known),
        )


def _at(entry: str, study: Study, known: Sequence[str]) -> Iterator[StudySite]:
    """The site of a file or folder; of a folder of page files, each of them."""
    path = study.folder / entry
    if (
        path.is_dir()
        and study.is_simulated
        and not any((path / name).is_file() for name in (MANIFEST_NAME, INDEX_NAME))
    ):
        files = sorted(file.name for file in path.glob(f"*{PAGE_SUFFIX}"))
        if not files:
            raise StudyError(
                f"the study's folder '{entry}' holds no page", fix=f"name a folder with {INDEX_NAME} in it"
            )
        for file in files:
            yield from _at(f"{entry.rstrip('/')}/{file}", study, known)
        return
    name = entry.rstrip("/")
    short = name.removesuffix(f"/{MANIFEST_NAME}").removesuffix(PAGE_SUFFIX)
    _refuse_no_text(name)
    yield StudySite(name if short in known else short, str(path.absolute()) + ("/" if path.is_dir() else ""))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the name is too long for one
        return False


def _refuse_no_text(name: str) -> None:
    """Databases and reports hold text: file systems know names that are none. Raises StudyError."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        told = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise StudyError(f"the study's file '{told}' has a name that is not UTF-8", fix="rename it") from error


def chosen(sites: Sequence[StudySite], study: Study, only: str | None) -> list[tuple[int, StudySite, str]]:
    """The places of a study as (number, site, link), or those of them that a glob names by site or "site@link".

    Raises UsageError for a glob that names none.
    """
    links = [PIPE_LINK if item is None else item.name for item in study.read_links()]
    every = [(site, link) for site in sites for link in links]
    found = [(number, *place) for number, place in enumerate(every) if is_chosen(place[0].name, place[1], only)]
    if not found:
        names = (f"{site.name}@{link}" for site, link in every)
        raise UsageError(f"--only {only} names no place of the study", fix=nearest_hint(str(only), names))
    return found


def is_chosen(site: str, link: str, only: str | None) -> bool:
    """Whether a glob over sites or "site@link" is for this place; None is for all."""
    return only is None or fnmatchcase(site, only) or fnmatchcase(f"{site}@{link}", only)


@dataclass(frozen=True)
class SimulatedPlace:
    """A page, a network and a browser model."""

    site: StudySite
    link: str
    scenario: Scenario

    @property
    def is_exact(self) -> bool:
        """Whether nothing is random, so that a second block would be the first again."""
        return self.scenario.rung == "pipe" or not (self.scenario.is_varied or self.scenario.network.is_random)

    @cached_property
    def facts(self) -> dict[str, Any]:
        model = {**asdict(self.scenario.model), "name": "", "source": ""}
        link = self.scenario.link
        return {
            OPENED_AS: self.site.opened_as,
            "site": self.scenario.page.fingerprint,
            "link": _digest(link.facts() if isinstance(link, Profile) else asdict(link)),
            "browser_model": _digest(model),
            "exact": self.is_exact,
        }


@dataclass(frozen=True)
class MeasuredPlace:
    """A site and a network."""

    site: StudySite
    link: str
    opened: Site
    network: Profile

    is_exact = False

    @cached_property
    def facts(self) -> dict[str, Any]:
        return {
            OPENED_AS: self.site.opened_as,
            "site": site_digest(self.opened),
            "link": _digest(self.network.facts()),
            "exact": False,
        }


Place = SimulatedPlace | MeasuredPlace


def open_places(study: Study, wanted: Iterable[tuple[int, StudySite, str]], say: Say) -> dict[int, Place]:
    """Open sites and networks, each once; by number. Raises StudyError, PageError, SiteError, MissingPartError."""
    networks = {PIPE_LINK if item is None else item.name: item for item in study.read_links()}
    opener = _Simulation(study) if study.is_simulated else _Measurement()
    return {number: opener.open(site, link, networks[link], say) for number, site, link in wanted}


class _Simulation:
    def __init__(self, study: Study) -> None:
        self._study = study
        self._model = study.read_browser_model()
        self._pages: dict[StudySite, Page] = {}

    def open(self, site: StudySite, link: str, network: Profile | None, _: Say) -> Place:
        if site not in self._pages:
            self._pages[site] = load_page(site.opened_as)
        page, study = self._pages[site], self._study
        if network is None:
            return SimulatedPlace(site, link, Scenario(page, PipeOptions(), model=self._model))
        scenario = Scenario(
            page,
            network,
            model=self._model,
            is_varied=study.variation,
            congestion_control=study.congestion_control,
            in_order=study.hol_blocking,
        )
        return SimulatedPlace(site, link, scenario.on_pipe if study.rung == "pipe" else scenario)


class _Measurement:
    def __init__(self) -> None:
        self._sites: dict[StudySite, Site] = {}

    def open(self, site: StudySite, link: str, network: Profile | None, say: Say) -> Place:
        assert network is not None, "only rung pipe does without"
        if site not in self._sites:
            self._sites[site] = open_site(site.opened_as, say=say)
        return MeasuredPlace(site, link, self._sites[site], network)


def planned(study: Study, places: Mapping[int, Place]) -> list[PlannedPlace]:
    """The places with the blocks that they are to have."""
    return [
        PlannedPlace(number, place.site.name, place.link, place.facts, _blocks(study, number, place))
        for number, place in places.items()
    ]


def _blocks(study: Study, number: int, place: Place) -> list[PlannedBlock]:
    """Simulated: the first block of all places, then the second, as playing here or there costs the same."""
    count = 1 if place.is_exact else study.blocks
    if study.is_simulated:
        return [PlannedBlock(block, block) for block in range(1, count + 1)]
    rounds = ((block - 1) // BLOCKS_AT_A_SITTING for block in range(1, count + 1))
    return [PlannedBlock(block, turn * _RANKS_OF_A_ROUND + number) for block, turn in enumerate(rounds, start=1)]


def refuse_changed(places: Iterable[Place], stored: Iterable[StoredPlace]) -> None:
    """Loads of different pages or networks must not be mixed. Raises UsageError for a place that is not what it was."""
    before = {(item.site, item.link): item.facts for item in stored}
    for place in places:
        then = before.get((place.site.name, place.link), place.facts)
        changed = [
            f"{key.replace('_', ' ')} {then.get(key)} -> {now}"
            for key, now in place.facts.items()
            if key != OPENED_AS and then.get(key) != now
        ]
        if changed:
            raise UsageError(
                f"{place.site.name} over {place.link} is not what it was when the study began",
                why="fingerprints have changed: " + ", ".join(changed),
                fix="restore what has changed, or start again with another --out",
            )


def seed_of(study: Study, block: int) -> int:
    """The seed with which a block is simulated: that of `simulate --seed`, or of the varied networks that `tune` plays."""
    return seeds_for(study.seed, 1)[0] + block - 1 if study.variation else study.seed + block - 1


def _digest(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
