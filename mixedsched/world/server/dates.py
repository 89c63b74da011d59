"""HTTP dates (RFC 9110 section 5.6.7): written in one form, read in the three that a recipient must know."""

from __future__ import annotations

import calendar
import re
from email.utils import formatdate

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


def format_http_date(at_s: float) -> str:
    """A moment, in seconds since 1970, as servers write it: "Sun, 06 Nov 1994 08:49:37 GMT"."""
    return formatdate(at_s, usegmt=True)


def parse_http_date(text: str, now_s: float) -> int | None:
    """Seconds since 1970; None if that is no HTTP date. The day of the week is not checked.

    now_s: places years of two digits, none of which lies more than 50 years ahead.
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
