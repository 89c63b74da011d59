"""Settings of a site for its responses: status, think time, priority and header fields, by patterns of paths.

The table `[[responses]]` of a recipe, of `mixedsched.toml` in a plain folder, and of `responses` in a page.json.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Self

import http_sf
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from mixedsched.core.h3 import LONGEST_FIELD_BYTES
from mixedsched.errors import SiteError, nearest_hint
from mixedsched.model.priority import parse_parameters
from mixedsched.model.toml_file import parse_toml, wrong_keys
from mixedsched.sites.site.paths import confined, shown

SETTINGS_NAME = "mixedsched.toml"
MAX_DELAY_MS = 60_000

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"(?:[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?)?")
_SERVERS_OWN = {
    **dict.fromkeys(("content-length", "content-encoding", "content-range", "date"), "the server works it out"),
    **dict.fromkeys(
        ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade"),
        "HTTP/3 has no such field",
    ),
    "priority": "that is the key 'priority' of the entry",
}
_ONLY_TO_TAKE_AWAY = {"etag", "last-modified", "accept-ranges"}
_ONLY_TAKEN_AWAY = "can only be taken away, with []: the server works it out"
_MADE_FROM_REQUESTS = {206, 304, 412, 416}


def _values(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _field_name(name: str) -> str:
    lower = name.lower()
    _refuse_long(name)
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"'{name}' is not a name of a header field")
    if lower in _SERVERS_OWN:
        raise ValueError(f"the field '{lower}' cannot be set: {_SERVERS_OWN[lower]}")
    return lower


def _field_value(value: str) -> str:
    _refuse_long(value)
    if not _VALUE.fullmatch(value):
        raise ValueError(
            f"{value!r} is not a value of a header field: ASCII without control characters, no space around it"
        )
    return value


def _refuse_long(text: str) -> None:
    if len(text) > LONGEST_FIELD_BYTES:
        raise ValueError(f"a header field of {len(text)} bytes cannot be sent: {LONGEST_FIELD_BYTES} are the most")


def _priority(value: str) -> str:
    """Refuse what RFC 9218 makes clients ignore: it would have no effect, silently."""
    parameters = parse_parameters(value.encode("utf-8", "replace"))
    if parameters is None:
        raise ValueError(f"'{value}' is not a priority: write it as in \"u=1, i\"")
    members = http_sf.parse(value.encode(), tltype="dictionary") if value.strip(" ") else {}
    names = members.keys() if isinstance(members, dict) else set()
    if not names or not names <= {"u", "i"}:
        raise ValueError(f"'{value}' is not a priority: there are u and i")
    if ("u" in names and parameters.urgency is None) or ("i" in names and parameters.incremental is None):
        raise ValueError(f"'{value}' is not a priority: u goes from 0 to 7, and i stands alone")
    return value


HeaderName = Annotated[str, AfterValidator(_field_name)]
HeaderValue = Annotated[str, AfterValidator(_field_value)]
Headers = dict[HeaderName, Annotated[tuple[HeaderValue, ...], BeforeValidator(_values), Field(strict=False)]]
PriorityField = Annotated[str, AfterValidator(_priority)]
Status = Annotated[int, Field(ge=200, le=599)]


def why_unfit(name: str, value: str) -> str:
    """Why a site cannot set this header field, for fields that are taken over from elsewhere; "" if it can."""
    try:
        lower = _field_name(name)
        _field_value(value)
    except ValueError as error:
        return str(error)
    return f"the field '{lower}' {_ONLY_TAKEN_AWAY}" if lower in _ONLY_TO_TAKE_AWAY else ""


def check_answer(status: int | None, headers: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse what no answer can be. headers: lower-case names. Raises ValueError."""
    if status in _MADE_FROM_REQUESTS:
        raise ValueError(f"status {status} cannot be set: the server answers so where a request asks for it")
    if status is not None and status // 100 == 3 and not headers.get("location"):
        raise ValueError(f"status {status} needs a location among its headers")
    for name in sorted(_ONLY_TO_TAKE_AWAY & headers.keys()):
        if headers[name]:
            raise ValueError(f"the field '{name}' {_ONLY_TAKEN_AWAY}")


class ResponseRule(BaseModel):
    """One entry of the table."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    match: str = Field(pattern=r"^[/*]")  # pattern (* ? []) of request paths as listed, with or without their query
    host: str | None = None  # name of the only host it is for
    status: Status | None = None
    delay_ms: float | None = Field(default=None, ge=0, le=MAX_DELAY_MS, allow_inf_nan=False)
    priority: PriorityField | None = None
    # Of each field the value, or several, that replace what the server says; an empty list takes the field away.
    headers: Headers = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        check_answer(self.status, self.headers)
        if not self.headers and all(value is None for value in (self.status, self.delay_ms, self.priority)):
            raise ValueError("it sets nothing; there are status, delay_ms, priority and headers")
        return self

    def covers(self, host: str, path: str) -> bool:
        if self.host not in {None, host}:
            return False
        return any(fnmatchcase(form, self.match) for form in (path, path.partition("?")[0]))


@dataclass(frozen=True, slots=True)
class ResponseSettings:
    """The settings of one path."""

    status: int = 200
    delay_ms: float = 0.0
    headers: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (name, values), priority among them
    bare: bool = False  # only these headers and those the server works out, without what it says of every file

    def with_rule(self, rule: ResponseRule) -> ResponseSettings:
        """These settings with those of a later entry over them."""
        headers = dict(self.headers) | dict(rule.headers)
        if rule.priority is not None:
            headers["priority"] = (rule.priority,)
        return ResponseSettings(
            self.status if rule.status is None else rule.status,
            self.delay_ms if rule.delay_ms is None else rule.delay_ms,
            tuple(headers.items()),
            self.bare,
        )


def read_rules(raw: Any, origin: str) -> tuple[ResponseRule, ...]:
    """Check the table. raw: as TOML or JSON give it. origin: what errors call its file. Raises SiteError."""
    if not isinstance(raw, list | tuple):
        raise SiteError(f"{origin}: responses is not a list of entries", fix="write [[responses]] above each")
    return tuple(_read_rule(number, item, origin) for number, item in enumerate(raw, start=1))


def _read_rule(number: int, item: Any, origin: str) -> ResponseRule:
    what = f"{origin}: {_name_of(number, item)}"
    if not isinstance(item, Mapping):
        raise SiteError(f"{what} is not a table", fix="write [[responses]] above each")
    try:
        return ResponseRule.model_validate(item)
    except ValidationError as error:
        fix = "docs/sites.md lists what can be set"
        raise SiteError(f"{what} is refused", why=wrong_keys(error), fix=fix) from error


def _name_of(number: int, item: Any) -> str:
    match = item.get("match") if isinstance(item, Mapping) else None
    return f"entry {number} of responses" + (f" ('{shown(match)}')" if isinstance(match, str) else "")


def settings_of(
    rules: Sequence[ResponseRule], hosts: Sequence[str], own: Iterable[tuple[int, str, ResponseSettings]], origin: str
) -> list[ResponseSettings]:
    """The settings of each answer, in order: its own, overridden by every entry that covers its path, the last one wins.

    own: host index, path, settings. Raises SiteError for an entry that covers nothing, since it must be a slip.
    """
    all_settings = []
    idle = dict(enumerate(rules, start=1))
    for host, path, settings in own:
        for number, rule in enumerate(rules, start=1):
            if rule.covers(hosts[host], path):
                settings = settings.with_rule(rule)
                idle.pop(number, None)
        all_settings.append(settings)
    for number, rule in idle.items():
        what = f"{origin}: {_name_of(number, rule.model_dump())} matches nothing"
        if rule.host is not None and rule.host not in hosts:
            raise SiteError(what, why=f"there is no host '{shown(rule.host)}'", fix=nearest_hint(rule.host, hosts))
        raise SiteError(what, why="no file of the site has such a path", fix="correct it, or take it out")
    return all_settings


def read_settings_file(directory: Path) -> dict[str, Any]:
    """The keys that a plain folder's mixedsched.toml adds to its manifest, checked; none without one. Raises SiteError."""
    file = directory / SETTINGS_NAME
    if not file.exists() and not file.is_symlink():
        return {}
    origin = shown(file)
    try:
        data = parse_toml(confined(directory, SETTINGS_NAME, origin).read_text(encoding="utf-8"), origin, SiteError)
    except OSError as error:
        raise SiteError(f"{origin} cannot be read", why=error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise SiteError(f"{origin} is not TOML", why=str(error), fix="correct it") from error
    if unknown := sorted(data.keys() - {"responses", "connections"}):
        raise SiteError(
            f"{origin} has an unknown key '{shown(unknown[0])}'", fix="it can hold [[responses]] and connections only"
        )
    return {**data, "responses": dumped(read_rules(data.get("responses", []), origin))}


def dumped(rules: Iterable[ResponseRule]) -> list[dict[str, Any]]:
    """The table as it stands in a page.json."""
    return [rule.model_dump(mode="json", exclude_defaults=True) for rule in rules]
