"""The contents of a HAR, checked entry by entry: the fields of the format, and those that tools add under names with `_`.

Sources: HAR 1.2 (softwareishard.com), Chromium's DevTools (HAR log), Firefox's network monitor (HarBuilder), chrome-har,
WebPageTest (HttpArchiveGenerator, agent), mitmproxy (savehar). Every field may be missing: a value of the wrong type counts as
missing, and only entries without request, response or address are unusable.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from mixedsched.errors import SiteError
from mixedsched.sites.site.paths import authority

VERSIONS = ("1.1", "1.2", "1.3")  # 1.3 is a proposal that adds fields only
MAX_ENTRIES = 50_000
_AMOUNT_MAX = 1e12  # a terabyte, or 30 years in ms: more is a mistake

_ORIGIN = re.compile("(https?)://([^/?#]*@)?([^/?#@]*)", re.IGNORECASE)
_ASCII = "".join(map(chr, range(128)))

Headers = tuple[tuple[str, str], ...]


def _number(value: Any) -> float | None:
    """A finite number, spelt as one or as text; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _amount(value: Any) -> float | None:
    """A number of bytes or ms. Negative ones are how a HAR says that it does not know."""
    number = _number(value)
    return number if number is not None and 0 <= number <= _AMOUNT_MAX else None


def _size(value: Any) -> int | None:
    amount = _amount(value)
    return None if amount is None else int(amount)


def _text(value: Any) -> str:
    """A text; half surrogates, which JSON can spell and no encoding has, become question marks."""
    if not isinstance(value, str):
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace").decode()
    return value


def _moment(value: Any) -> float | None:
    """A date and time as ms since 1970; without a zone it is taken for UTC."""
    try:
        moment = datetime.fromisoformat(_text(value).strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000
    except (ValueError, OverflowError):
        return None


def _headers(value: Any) -> Headers:
    """Field lines with names in lower case, pseudo-headers aside; what DevTools joins with line feeds is apart again."""
    lines: list[tuple[str, str]] = []
    for item in value if isinstance(value, list) else ():
        name = _text(item.get("name")).strip().lower() if isinstance(item, Mapping) else ""
        if name and not name.startswith(":"):
            lines.extend((name, line.strip()) for line in _text(item.get("value")).split("\n"))
    return tuple(lines)


def _as_asked(url: str) -> str:
    """The address as browsers write it: tools may write `bücher.test` for `xn--bcher-kva.test`, the usual port, or no path."""
    found = _ORIGIN.match(url)
    if found is None:
        return url
    scheme, tail = found[1].lower(), quote(url[found.end() :], safe=_ASCII)
    return f"{scheme}://{found[2] or ''}{authority(scheme, found[3])}{tail if tail.startswith('/') else f'/{tail}'}"


def _object(value: Any) -> Any:
    return value if isinstance(value, Mapping) else {}


Amount = Annotated[float | None, BeforeValidator(_amount)]
Size = Annotated[int | None, BeforeValidator(_size)]
Text = Annotated[str, BeforeValidator(_text)]
Moment = Annotated[float | None, BeforeValidator(_moment)]
Fields = Annotated[Headers, BeforeValidator(_headers)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class HarContent(_Part):
    """A body."""

    size_bytes: Size = Field(default=None, alias="size")
    """Decoded, but as sent in mitmproxy and WebPageTest."""
    mime: Text = Field(default="", alias="mimeType")
    text: Annotated[str | None, BeforeValidator(lambda value: _text(value) if isinstance(value, str) else None)] = None
    """None if it is not in the HAR."""
    encoding: Text = ""


class HarRequest(_Part):
    method: Text = "GET"
    url: Annotated[str, Field(min_length=1), AfterValidator(_as_asked)]
    headers: Fields = ()
    http_version: Text = Field(default="", alias="httpVersion")


class HarResponse(_Part):
    """body_bytes: encoded, with the header in it or not. transfer_bytes: header and body, as DevTools and chrome-har tell."""

    status: Annotated[int, BeforeValidator(lambda value: _size(value) or 0)] = 0
    headers: Fields = ()
    content: Annotated[HarContent, BeforeValidator(_object)] = HarContent()
    redirect_url: Text = Field(default="", alias="redirectURL")
    headers_bytes: Size = Field(default=None, alias="headersSize")
    body_bytes: Size = Field(default=None, alias="bodySize")
    transfer_bytes: Size = Field(default=None, alias="_transferSize")
    error: Text = Field(default="", alias="_error")


class HarTimings(_Part):
    """Durations in ms."""

    blocked: Amount = None
    dns: Amount = None
    connect: Amount = None
    send: Amount = None
    wait: Amount = None
    receive: Amount = None
    queued: Amount = Field(default=None, alias="_queued")
    """Time before startedDateTime, in HARs of chrome-har."""


class HarEntry(_Part):
    """One request and its answer."""

    started_ms: Moment = Field(default=None, alias="startedDateTime")
    """When it was sent, in ms since 1970. The fields below `timings` are of single tools; see the readers."""
    time_ms: Amount = Field(default=None, alias="time")
    pageref: Text = ""
    request: HarRequest
    response: HarResponse
    timings: Annotated[HarTimings, BeforeValidator(_object)] = HarTimings()

    priority: Text = Field(default="", alias="_priority")
    initial_priority: Text = Field(default="", alias="_initialPriority")
    initial_priority_wpt: Text = Field(default="", alias="_initial_priority")
    resource_type: Text = Field(default="", alias="_resourceType")
    request_type: Text = Field(default="", alias="_request_type")
    initiator: Any = Field(default=None, alias="_initiator")
    initiator_type: Text = Field(default="", alias="_initiator_type")
    initiator_detail: Any = Field(default=None, alias="_initiator_detail")
    from_cache: Any = Field(default=None, alias="_fromCache")
    object_bytes: Size = Field(default=None, alias="_objectSize")
    created_ms: Amount = Field(default=None, alias="_created")
    all_start_ms: Amount = Field(default=None, alias="_all_start")
    load_start_ms: Amount = Field(default=None, alias="_load_start")
    ttfb_ms: Amount = Field(default=None, alias="_ttfb_ms")
    load_ms: Amount = Field(default=None, alias="_load_ms")

    @property
    def url(self) -> str:
        """The address that was asked for, without fragment."""
        return self.request.url.partition("#")[0]

    def request_header(self, name: str) -> str | None:
        return next((value for key, value in self.request.headers if key == name), None)

    def response_header(self, name: str) -> str | None:
        return next((value for key, value in self.response.headers if key == name), None)


@dataclass(frozen=True, slots=True)
class PageMark:
    """A page as the HAR lists it."""

    id: str
    title: str
    started_ms: float | None
    """When it began, in ms since 1970."""


@dataclass(frozen=True, slots=True)
class HarLog:
    """A HAR that was read."""

    origin: str
    version: str
    creator: str
    browser: str
    """`creator` and `browser` are name and version as one text, "" if unknown."""
    pages: tuple[PageMark, ...]
    entries: tuple[HarEntry, ...]
    unreadable: int
    """The number of entries that could not be read."""


def log_of(value: Any, origin: str) -> HarLog:
    """Check a HAR's JSON value. Raises SiteError if it is none, of a version not known here, or without any entry."""
    log = value.get("log") if isinstance(value, Mapping) else None
    if not isinstance(log, Mapping):
        raise SiteError(f"{origin} is not a HAR", why="it has no 'log' at its top", fix="save the page load as HAR")
    version = str(log.get("version") or VERSIONS[0])  # empty means 1.1
    if version not in VERSIONS:
        raise SiteError(f"{origin} is a HAR of version '{version}'", why=f"known: {', '.join(VERSIONS)}")
    listed = log.get("entries")
    if not isinstance(listed, list) or not listed:
        raise SiteError(
            f"{origin} has no entries",
            why="nothing was recorded",
            fix="open the developer tools before the page is loaded, and save it when it is complete",
        )
    if len(listed) > MAX_ENTRIES:
        raise SiteError(
            f"{origin} has {len(listed)} entries", why=f"up to {MAX_ENTRIES} are read", fix="save one page load"
        )
    entries = [entry for item in listed if (entry := _entry_of(item)) is not None]
    if not entries:
        raise SiteError(f"{origin} has no usable entry", why="none of them has a request, an address and a response")
    return HarLog(
        origin,
        version,
        _name_of(log.get("creator")),
        _name_of(log.get("browser")),
        _marks(log.get("pages")),
        tuple(entries),
        len(listed) - len(entries),
    )


def _entry_of(item: Any) -> HarEntry | None:
    try:
        return HarEntry.model_validate(item)
    except ValidationError:
        return None


def _name_of(tool: Any) -> str:
    tool = _object(tool)
    return " ".join(part for key in ("name", "version") if (part := _text(tool.get(key)).strip()))


def _marks(pages: Any) -> tuple[PageMark, ...]:
    listed = [item for item in pages if isinstance(item, Mapping)] if isinstance(pages, list) else []
    return tuple(
        PageMark(_text(item.get("id")), _text(item.get("title")), _moment(item.get("startedDateTime")))
        for item in listed
        if _text(item.get("id"))
    )
