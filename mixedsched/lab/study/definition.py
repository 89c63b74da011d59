"""Study files, format `mixedsched.study/1`: which loads to make, decided before the first load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from mixedsched.core.metrics import metric_named
from mixedsched.errors import StudyError, UsageError, nearest_hint
from mixedsched.lab.model import Arm, Conditions
from mixedsched.lab.plan import arm_of, refuse_unmeasurable
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.profile import Profile
from mixedsched.model.toml_file import parse_toml, toml_value, wrong_keys
from mixedsched.world import catalog
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.servers import is_server

STUDY_FORMAT = "mixedsched.study/1"
PIPE_LINK = "pipe"  # on rung `pipe`, the link of `simulate` without --link: the pipe of Marx et al. 2019
DEFAULT_METRICS = ("fcp_ms", "lcp_ms", "tbt_ms", "si_ms", "cls")
MAX_BLOCKS = 1_000_000
MAX_FILE_BYTES = 1_000_000

StudyRung = Literal["pipe", "stack", "browser"]

_Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1, strict=False)]

_ONLY_ON: Mapping[str, tuple[StudyRung, ...]] = {
    "variation": ("stack",),
    "hol_blocking": ("stack",),
    "browser_model": ("pipe", "stack"),
    "congestion_control": ("stack", "browser"),
    "form_factor": ("browser",),
    "cpu_slowdown": ("browser",),
    "throttling": ("browser",),
    "browser": ("browser",),
    "backend": ("browser",),
    "across_connections": ("browser",),
    "visits": ("pipe", "stack"),
}


def _usual_metrics(browser: object) -> tuple[str, ...]:
    return tuple(key for key in DEFAULT_METRICS if browser != Browser.FIREFOX or key in Browser.FIREFOX.metrics)


def _is_metric(name: object) -> bool:
    try:
        metric_named(str(name))
    except UsageError:
        return False
    return True


class Study(BaseModel):
    """A study as its file defines it. Metrics are known by their keys ("lcp_ms"), arms by their schemes as written."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    format: Literal["mixedsched.study/1"]
    name: str = Field(min_length=1, max_length=100)
    rung: StudyRung
    sites: _Names  # bundled or recorded sites, folders, page files, and globs over any of these
    links: _Names  # network profiles by name or file; rung `pipe` takes their rates and round trips, or PIPE_LINK
    arms: _Names  # schemes with parameters
    baseline: str  # the arm that the others are compared with
    blocks: int = Field(ge=1, le=MAX_BLOCKS)  # repeats at each place; only one where nothing is random
    primary: _Names  # metrics to decide on
    metrics: (
        _Names  # to measure in the browser, the primary ones among them; simulated loads have all that they can have
    )
    seed: int = Field(default=1, ge=0, lt=2**31)
    # A priority table for all arms that use one, by name or file, instead of their own.
    mapping: str | None = Field(default=None, min_length=1)
    variation: bool = False  # each block uses a slightly different network, so that loads over lossless links vary, too
    hol_blocking: bool = False  # the receiver delivers nothing behind a lost packet, as over TCP
    browser_model: str = Field(default=IDEAL.name, min_length=1)  # of simulated loads, by name or file
    congestion_control: Literal["cubic", "reno", "cubic-2022"] = "cubic"
    form_factor: Literal["mobile", "desktop"] = "mobile"
    cpu_slowdown: float = 1.0  # of the page's own work, as in Conditions
    throttling: Literal["provided", "simulate"] = "provided"  # as in Conditions
    browser: Literal["chromium", "firefox"] = "chromium"  # that loads the pages of rung browser
    backend: Literal["relay", "netns", "vm"] = "relay"
    across_connections: bool = False
    # From which scheme adaptive learns before each simulated load; in Chromium it learns before the first block.
    visits: int = Field(default=0, ge=0, le=1000)

    # The folder that file names are relative to, and the file itself if there is one; not part of the definition.
    folder: Path = Field(default=Path(), exclude=True)
    file: Path | None = Field(default=None, exclude=True)

    @field_validator("primary", "metrics")
    @classmethod
    def _keys(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return tuple(dict.fromkeys(metric_named(name).key for name in names))
        except UsageError as error:
            raise ValueError(str(error)) from error

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, tables: Any) -> Any:
        """Defaults that depend on other keys: primary metrics are always measured, and rung `pipe` has its own link."""
        if not isinstance(tables, dict):
            return tables
        usual: dict[str, Any] = {"primary": ["lcp_ms"], "metrics": _usual_metrics(tables.get("browser"))}
        if tables.get("rung") == "pipe":
            usual["links"] = [PIPE_LINK]
        given = {**usual, **tables}
        if all(isinstance(given[key], list | tuple) for key in ("primary", "metrics")):
            given["metrics"] = [
                *given["metrics"],
                *filter(_is_metric, given["primary"]),
            ]  # what is none is refused once
        return given

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        for key in ("sites", "links", "arms"):
            twice = [name for name, count in Counter(getattr(self, key)).items() if count > 1]
            if twice:
                raise ValueError(f"{key}: '{twice[0]}' is named twice")
        if self.baseline not in self.arms:
            raise ValueError(f"baseline: '{self.baseline}' is not one of the arms, {', '.join(self.arms)}")
        if self.is_simulated and (others := [arm for arm in self.arms if is_server(arm)]):
            raise ValueError(f"arms: '{others[0]}' is a third-party server, which only rung browser has")
        for key, rungs in _ONLY_ON.items():
            if self.rung not in rungs and getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(f"{key}: on rung {self.rung} there is no such thing, only on {' and '.join(rungs)}")
        try:
            refuse_unmeasurable(self.metrics, self.conditions)
        except UsageError as error:
            raise ValueError(f"cpu_slowdown, throttling, browser, metrics: {error}") from error
        return self

    @property
    def conditions(self) -> Conditions:
        """Circumstances of measured loads."""
        return Conditions.of(self.congestion_control, self.cpu_slowdown, self.throttling, self.browser)

    def in_browser(self, browser: Browser) -> Self:
        """The same study in another browser, under a name of its own; metrics that this one lacks are left out.

        Raises StudyError for a simulated study, and if one of those is primary.
        """
        if self.is_simulated:
            raise StudyError(
                f"study {self.name} has no browser", why=f"it is on rung {self.rung}", fix="leave out --browser"
            )
        if browser == self.browser:
            return self
        lacking = browser.lacks(self.metrics)
        metrics = [key for key in self.metrics if key not in lacking]
        facts = {**self.to_dict(), "browser": browser.value, "name": f"{self.name}-{browser}", "metrics": metrics}
        return type(self).from_dict(facts, self.folder, self.name).model_copy(update={"file": self.file})

    @property
    def is_simulated(self) -> bool:
        return self.rung != "browser"

    def to_dict(self) -> dict[str, Any]:
        """The definition as JSON, with all defaults."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], folder: Path = Path(), origin: str = "the study") -> Self:
        """A study from the tables of a file. origin: what errors call it. Raises StudyError for anything but names in it."""
        if "live" in data:
            raise StudyError(
                f"{origin} is refused",
                why="a study has no live pages: its places are the same on every machine and whenever it goes on",
                fix="leave `live` out, and the address is recorded once; or use `mixedsched compare ADDRESS --live`",
            )
        known = [key for key, field in cls.model_fields.items() if not field.exclude]
        unknown = [key for key in data if key not in known]
        if unknown:
            raise StudyError(
                f"{origin} is refused", why=f"there is no key '{unknown[0]}'", fix=nearest_hint(unknown[0], known)
            )
        try:
            return cls.model_validate({**data, "folder": folder})
        except ValidationError as error:
            raise StudyError(f"{origin} is refused", why=wrong_keys(error)) from error

    def read_arms(self) -> list[Arm]:
        """The arms with the tables that they use. Raises StudyError, MappingError."""
        mapping = None if self.mapping is None else self.located(self.mapping)
        try:
            return [arm_of(spec, mapping) for spec in self.arms]
        except UsageError as error:
            raise StudyError(error.what, why=error.why, fix=error.fix) from error

    def read_links(self) -> list[Profile | None]:
        """The networks, None for PIPE_LINK. Raises StudyError, ProfileError."""
        found = [None if self.is_pipe(name) else catalog.load_profile(self.located(name)) for name in self.links]
        twice = [name for name, count in Counter(item.name for item in found if item is not None).items() if count > 1]
        if twice:
            raise StudyError(f"two links are both named '{twice[0]}'", fix="give each its own name")
        return found

    def is_pipe(self, link: str) -> bool:
        return self.rung == "pipe" and link == PIPE_LINK

    def read_browser_model(self) -> BrowserModel:
        """Raises BrowserModelError."""
        return catalog.load_browser_model(self.located(self.browser_model))

    def located(self, name: str) -> str:
        """The name of a TOML file as seen from here; other names stay what they are."""
        return str(self.folder / name) if name.endswith(".toml") or "/" in name else name


def read_study(path: Path | str) -> Study:
    """Read a study file, and everything that it names but sites.

    Raises StudyError for a file that cannot be read, unknown keys and schemes, and what makes no sense; ProfileError,
    MappingError, BrowserModelError for what it names.
    """
    path = Path(path)
    text = catalog.read_text(path, MAX_FILE_BYTES, f"study {path}", StudyError)
    study = Study.from_dict(parse_toml(text, path.name, StudyError), path.parent, path.name)
    study = study.model_copy(update={"file": path})
    if len(study.arms) < 2:
        raise StudyError(f"{path.name} is refused", why="arms: there is nothing to compare", fix="name two at least")
    study.read_arms()
    study.read_links()
    study.read_browser_model()
    return study


def dump_study(study: Study) -> str:
    """A file of the study. Names of files in it are seen from where they were."""
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in study.to_dict().items() if value is not None)


@dataclass(frozen=True, slots=True)
class Changes:
    """How a definition differs from an earlier one."""

    words: tuple[str, ...]  # one for each key that differs: "blocks: 6 -> 8"
    only_add: bool  # whether what was loaded still counts, and there is more of: sites, links, blocks, simulated arms


def changes(before: Study, after: Study) -> Changes:
    """What a study file says that it did not say before. The order of sites and links does not matter."""
    old, new = before.to_dict(), after.to_dict()
    words, only_add = [], True
    for key in new:
        if old[key] == new[key]:
            continue
        if key in ("sites", "links") or (key == "arms" and after.is_simulated):
            added = [name for name in new[key] if name not in old[key]]
            left_out = [name for name in old[key] if name not in new[key]]
            told = [f"{word} {', '.join(names)}" for word, names in (("+", added), ("-", left_out)) if names]
            if told:
                words.append(f"{key}: {' '.join(told)}")
            only_add &= not left_out
        else:
            words.append(f"{key}: {_told(old[key])} -> {_told(new[key])}")
            only_add &= key == "blocks" and new[key] > old[key]
    return Changes(tuple(words), only_add)


def _told(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)
