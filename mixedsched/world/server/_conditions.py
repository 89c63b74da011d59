"""Conditional requests (RFC 9110 section 13), the HTTP dates in them (section 5.6.7), and the content codings that a client
accepts (section 12.5.3).
"""

import calendar
import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import formatdate
from enum import Enum, auto

from mixedsched.core.h3.response import RequestHead

_TAG = r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"'
_ONE_TAG = re.compile(_TAG)
_TAG_LIST = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_FORMS = tuple(
    re.compile(form)
    for form in (
        f"[A-Z][a-z]{{2}}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT",  # Sun, 06 Nov 1994 08:49:37 GMT
        f"[A-Z][a-z]+day, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT",  # Sunday, 06-Nov-94 08:49:37 GMT
        f"[A-Z][a-z]{{2}} {_MONTH} (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})",  # Sun Nov  6 08:49:37 1994
    )
)
_YEAR_S = 31_556_952
GZIP = "gzip"
IDENTITY = "identity"
_ALIASES = {"x-gzip": GZIP}
_ITEM = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*;[ \t]*[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?")


@dataclass(frozen=True, slots=True)
class Validators:
    """Tell one state of a representation from another."""

    etag: str  # quoted and strong
    modified_s: int  # seconds since 1970


class ConditionResult(Enum):
    """The result of a request's conditions."""

    SEND = auto()
    NOT_MODIFIED = auto()  # 304: the client has it
    FAILED = auto()  # 412: it is not what the client insists on


def judge(head: RequestHead, current: Validators, now_s: float) -> ConditionResult:
    """Evaluate the conditions of a GET or HEAD in the order of RFC 9110 section 13.2.2.

    A malformed list of tags matches nothing; a malformed date is ignored. now_s: the server's clock.
    """
    if (wanted := _value(head, b"if-match")) is not None:
        if not _lists(wanted, current.etag, strongly=True):
            return ConditionResult.FAILED
    elif (since_s := _date(head, b"if-unmodified-since", now_s)) is not None and current.modified_s > since_s:
        return ConditionResult.FAILED
    if (known := _value(head, b"if-none-match")) is not None:
        if _lists(known, current.etag, strongly=False):
            return ConditionResult.NOT_MODIFIED
    elif (since_s := _date(head, b"if-modified-since", now_s)) is not None and current.modified_s <= since_s:
        return ConditionResult.NOT_MODIFIED
    return ConditionResult.SEND


def range_applies(head: RequestHead, current: Validators, now_s: float) -> bool:
    """Whether If-Range, if there is one, allows the Range: it has the same strong tag, or the same date and that is certain."""
    value = _value(head, b"if-range")
    if value is None:
        return True
    tag = _ONE_TAG.fullmatch(value)
    if tag is not None:
        return value == current.etag
    # Within the second of a change another one could follow that the date would not show (RFC 9110 section 8.8.2.2).
    return parse_http_date(value, now_s) == current.modified_s and now_s >= current.modified_s + 1


def _value(head: RequestHead, name: bytes) -> str | None:
    lines = head.field_lines(name)
    return b", ".join(lines).decode("latin-1").strip(" \t") if lines else None


def _date(head: RequestHead, name: bytes, now_s: float) -> int | None:
    value = _value(head, name)
    return parse_http_date(value, now_s) if value is not None else None


def _lists(value: str, etag: str, *, strongly: bool) -> bool:
    """Whether a list of entity tags has this one. strongly: weak tags, W/"...", do not count."""
    if value == "*":
        return True
    if not _TAG_LIST.fullmatch(value):
        return False
    return any(f'"{tag[2]}"' == etag for tag in _ONE_TAG.finditer(value) if not (strongly and tag[1]))


def format_http_date(at_s: float) -> str:
    """A time in seconds since 1970, as servers write it: "Sun, 06 Nov 1994 08:49:37 GMT"."""
    return formatdate(at_s, usegmt=True)


def parse_http_date(text: str, now_s: float) -> int | None:
    """Seconds since 1970; None for anything but an HTTP date, in one of its three forms. The day of the week is not checked.

    now_s: a year of two digits lies at most 50 years ahead of it. email.utils and strptime also
    accept what a server must ignore (section 13.1.3).
    """
    found = next((match for form in _FORMS if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    day, hour, minute, second = (int(found[name]) for name in ("day", "hour", "minute", "second"))
    year, month = int(found["year"]), _MONTHS.index(found["month"]) + 1
    if len(found["year"]) == 2:
        year += 2000 if _seconds(2000 + year, month, day, 0) <= now_s + 50 * _YEAR_S else 1900
    is_a_day = year >= 1 and 1 <= day <= calendar.monthrange(year, month)[1]
    if not is_a_day or hour > 23 or minute > 59 or second > 60:
        return None
    return _seconds(year, month, day, hour * 3600 + minute * 60 + min(second, 59))


def _seconds(year: int, month: int, day: int, second_of_day: int) -> int:
    return calendar.timegm((year, month, 1, 0, 0, 0)) + (day - 1) * 86400 + second_of_day


def acceptable(lines: Iterable[bytes], offered: str) -> bool:
    """Whether the client accepts the coding at all. lines: its Accept-Encoding fields; malformed items are ignored.

    Without the field only `identity` counts as accepted: RFC 9110 leaves the choice to the server then, and clients that send
    none, such as a plain curl, do not decode.
    """
    return _quality(_qualities(lines), offered) > 0


def prefers(lines: Iterable[bytes], offered: str) -> bool:
    """Whether the coding is accepted, and no less than identity. identity, when only implied, ranks behind all others."""
    qualities = _qualities(lines)
    quality = _quality(qualities, offered)
    return quality > 0 and quality >= qualities.get(IDENTITY, 0.0)


def _qualities(lines: Iterable[bytes]) -> dict[str, float]:
    qualities: dict[str, float] = {}
    for item in b",".join(lines).decode("latin-1").split(","):
        match = _ITEM.fullmatch(item.strip(" \t"))
        if match:
            name = match[1].lower()
            qualities[_ALIASES.get(name, name)] = float(match[2] or 1)
    return qualities


def _quality(qualities: dict[str, float], coding: str) -> float:
    """0 = not acceptable. identity is acceptable unless it is excluded, by name or by `*;q=0`."""
    implied = 1.0 if coding == IDENTITY else 0.0
    return qualities.get(coding, qualities.get("*", implied))
