"""Page model: the resources of a page, and which discovers which (format `mixedsched.page/1`)."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mixedsched.errors import PageError
from mixedsched.model.request import ChromiumPriority, Flag, Kind

PAGE_FORMAT = "mixedsched.page/1"
MAX_BODY_BYTES = 10_000_000_000  # beyond that a number is a mistake, and a simulation would not end
MAX_DELAY_MS = 24 * 3600 * 1000
MAX_WORK_MS = 60_000
_LATER_FIELDS = ("work_ms", "late_shift")  # not part of fingerprints where a page does not have them

FoundWhen = Literal["start", "requested", "bytes", "complete"]


class Resource(BaseModel):
    """One response of a page."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(min_length=1)
    host: int = Field(default=0, ge=0)
    """Index of the host name, 0 = the page's own."""
    path: str = Field(min_length=1)
    kind: Kind
    mime: str = "application/octet-stream"
    header_bytes: int = Field(default=0, ge=0, le=MAX_BODY_BYTES)
    body_bytes: int = Field(ge=0, le=MAX_BODY_BYTES)
    """`header_bytes` and `body_bytes` are sizes on the wire."""
    chromium_priority: ChromiumPriority = ChromiumPriority.LOW
    incremental: bool = False
    """None, for these two, means "as Chromium would", and is derived from kind and flags when the page is read."""
    found_by: str | None = None
    """Id of the parent."""
    found_when: FoundWhen = "start"
    """`start` (navigation), `requested` (the parent's request is sent), `bytes` (the parent's body has arrived in order
    up to found_at_bytes), `complete` (parent complete); delay_ms passes after that.
    """
    found_at_bytes: int = Field(default=0, ge=0)
    delay_ms: float = Field(default=0.0, ge=0.0, le=MAX_DELAY_MS, allow_inf_nan=False)
    flags: frozenset[Flag] = frozenset()
    work_ms: float = Field(default=0.0, ge=0.0, le=MAX_WORK_MS, allow_inf_nan=False)
    """For how long a script blocks the main thread when it runs, before it requests what it discovers."""
    late_shift: float = Field(default=0.0, ge=0.0, le=1.0, allow_inf_nan=False)
    """The layout shift score that it causes if it arrives after the first paint."""

    @property
    def key(self) -> tuple[int, str]:
        """Its address: host index, and path with query."""
        return self.host, self.path

    @model_validator(mode="before")
    @classmethod
    def _derive_missing_signals(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        kind, flags = data.get("kind"), data.get("flags") or ()
        if kind not in tuple(Kind) or not isinstance(flags, list | tuple | frozenset):
            return data  # the fields' own checks say what is wrong
        kind, flags = Kind(kind), frozenset(flag for flag in flags if isinstance(flag, str))
        filled = dict(data)
        if filled.get("chromium_priority") is None:
            filled["chromium_priority"] = derive_chromium_priority(kind, flags)
        if filled.get("incremental") is None:
            filled["incremental"] = derive_incremental(kind)
        return filled

    @model_validator(mode="after")
    def _found_consistently(self) -> Self:
        if (self.found_by is None) != (self.found_when == "start"):
            raise ValueError("found_when is 'start' exactly for resources without a parent (found_by)")
        if self.found_at_bytes and self.found_when != "bytes":
            raise ValueError(f"found_at_bytes goes with found_when 'bytes', not '{self.found_when}'")
        if self.work_ms and self.kind is not Kind.SCRIPT:
            raise ValueError(f"work_ms is for scripts, not for kind '{self.kind}'")
        return self

    @property
    def is_above_fold(self) -> bool:
        """Whether ByteIndex counts it as above the fold: main, critical, hero, and every font."""
        return self.kind is Kind.FONT or bool(self.flags & {Flag.MAIN, Flag.CRITICAL, Flag.HERO})


def derive_chromium_priority(kind: Kind, flags: frozenset[str]) -> ChromiumPriority:
    """The priority that Chromium's loader gives to a resource of this kind with these flags.

    Source: Blink's resource_fetcher (2024), confirmed on the wire with Chromium 156. Images count as discovered by the preload
    scanner: those of the first screen are Medium when they are requested.
    """
    match kind:
        case Kind.DOCUMENT:
            return ChromiumPriority.VERY_HIGH
        case Kind.STYLESHEET:
            return ChromiumPriority.MEDIUM if Flag.LATE_BODY in flags else ChromiumPriority.VERY_HIGH
        case Kind.FONT:
            return ChromiumPriority.HIGH if Flag.PRELOAD in flags else ChromiumPriority.VERY_HIGH
        case Kind.SCRIPT:
            if Flag.PRELOAD in flags:  # however the document uses it later
                return ChromiumPriority.HIGH
            if flags & {Flag.ASYNC, Flag.DEFER}:
                return ChromiumPriority.LOW
            late = flags & {Flag.LATE_BODY, Flag.AFTER_FIRST_IMAGE}
            return ChromiumPriority.MEDIUM if late else ChromiumPriority.HIGH
        case Kind.IMAGE:
            seen = flags & {Flag.HERO, Flag.ABOVE_FOLD} and Flag.LAZY not in flags
            return ChromiumPriority.MEDIUM if seen else ChromiumPriority.LOW
        case Kind.XHR:
            return ChromiumPriority.HIGH
        case Kind.MEDIA | Kind.OTHER:
            return ChromiumPriority.LOW


def derive_incremental(kind: Kind) -> bool:
    """Whether Chromium signals `i` for this kind: all but style sheets, scripts and fonts."""
    return kind not in {Kind.STYLESHEET, Kind.SCRIPT, Kind.FONT}


class Page(BaseModel):
    """A page: its resources in request order, the first of them its main document."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal["mixedsched.page/1"]
    name: str = Field(min_length=1)
    resources: tuple[Resource, ...]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], origin: str = "page") -> Self:
        """Check and build a page. origin: what errors call it, for instance the file name. Raises PageError."""
        if not isinstance(data, Mapping):
            raise PageError(f"{origin} is not a page description", why="its top level is not an object")
        if data.get("format") != PAGE_FORMAT:
            raise PageError(
                f"{origin} has format {data.get('format')!r}", fix=f"this version reads format {PAGE_FORMAT!r}"
            )
        raw = data.get("resources")
        if not isinstance(raw, list | tuple) or not raw:
            raise PageError(f"{origin} has no resources", fix="a page needs at least its main document")
        resources = tuple(_read_resource(index, item, origin) for index, item in enumerate(raw))
        try:
            page = cls.model_validate({**data, "resources": resources})
        except ValidationError as error:
            raise PageError(f"{origin} is not a valid page", why=_reasons(error)) from error
        _check_graph(page, origin)
        return page

    @classmethod
    def from_json(cls, text: str | bytes, origin: str = "page") -> Self:
        """Like from_dict, from JSON text."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise PageError(f"{origin} is not JSON", why=str(error)) from error
        except RecursionError as error:
            raise PageError(f"{origin} is not a page description", why="it is nested too deeply") from error
        return cls.from_dict(data, origin)

    @cached_property
    def main(self) -> Resource:
        """The main document: the resource flagged `main`, else the first."""
        return next((item for item in self.resources if Flag.MAIN in item.flags), self.resources[0])

    @property
    def fingerprint(self) -> str:
        """Equal for pages of the same resources, whatever their names, and in every process: flags are a set."""
        resources = [
            {
                key: value
                for key, value in {**item.model_dump(mode="json"), "flags": sorted(item.flags)}.items()
                if value or key not in _LATER_FIELDS
            }
            for item in self.resources
        ]
        return hashlib.sha256(json.dumps(resources, sort_keys=True).encode()).hexdigest()[:16]

    def by_id(self) -> dict[str, Resource]:
        return {item.id: item for item in self.resources}

    def by_path(self) -> dict[tuple[int, str], Resource]:
        """Resources by key; the first wins where two share it."""
        index: dict[tuple[int, str], Resource] = {}
        for item in self.resources:
            index.setdefault(item.key, item)
        return index


def _read_resource(index: int, item: Any, origin: str) -> Resource:
    name = item.get("id", f"number {index}") if isinstance(item, Mapping) else f"number {index}"
    try:
        return Resource.model_validate(item)
    except ValidationError as error:
        raise PageError(f"{origin}: resource '{name}' is refused", why=_reasons(error)) from error


def _reasons(error: ValidationError) -> str:
    """Pydantic's findings as one line: "body_bytes: Input should be greater than or equal to 0; ..."."""
    parts = []
    for finding in error.errors(include_url=False):
        where = ".".join(str(step) for step in finding["loc"])
        message = finding["msg"].removeprefix("Value error, ")
        parts.append(f"{where}: {message}" if where else message)
    return "; ".join(parts)


def _check_graph(page: Page, origin: str) -> None:
    """Refuse doubled ids, missing parents, offsets past the parent's end, and cycles."""
    resources = page.by_id()
    if len(resources) < len(page.resources):
        doubled = next(name for name, times in Counter(item.id for item in page.resources).items() if times > 1)
        raise PageError(f"{origin}: resource '{doubled}' is listed twice", fix="ids must be unique")
    for item in page.resources:
        if item.found_by is None:
            continue
        parent = resources.get(item.found_by)
        if parent is None:
            raise PageError(
                f"{origin}: resource '{item.id}' is refused", why=f"its parent '{item.found_by}' is not listed"
            )
        if item.found_at_bytes > parent.body_bytes:
            raise PageError(
                f"{origin}: resource '{item.id}' is refused",
                why=f"it is found at byte {item.found_at_bytes} of '{parent.id}', which has {parent.body_bytes}",
            )
    _check_acyclic(page, resources, origin)


def _check_acyclic(page: Page, resources: Mapping[str, Resource], origin: str) -> None:
    rooted: set[str] = set()
    for item in page.resources:
        path: dict[str, None] = {}
        current: Resource | None = item
        while current is not None and current.id not in rooted:
            if current.id in path:
                chain = " -> ".join([*path, current.id])
                raise PageError(f"{origin}: resource '{item.id}' is refused", why=f"it finds itself: {chain}")
            path[current.id] = None
            current = resources[current.found_by] if current.found_by is not None else None
        rooted.update(path)
