"""Rates, sizes, times, counts and lists in words, the only place that writes and reads them; text fit for a terminal."""

import re
from collections.abc import Sequence

from mixedsched.errors import UsageError

MICROSECONDS_PER_SECOND = 1_000_000

_TIME_UNITS_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*$")


def parse_duration_s(text: str) -> float:
    """Read a duration such as "90s", "10m" or "250 ms" as seconds. Raises UsageError."""
    match = _NUMBER_AND_UNIT.match(text)
    unit = match.group(2).lower() if match else ""
    if not match or unit not in _TIME_UNITS_S:
        fix = f"write a number and one of {', '.join(_TIME_UNITS_S)}"
        raise UsageError(f"duration '{text}' is not understood", fix=fix)
    return float(match.group(1)) * _TIME_UNITS_S[unit]


def format_bytes(size_bytes: float) -> str:
    """1234567 -> "1.23 MB". Decimal units, three significant digits."""
    return _by_thousands(size_bytes, ("B", "kB", "MB", "GB", "TB"))


def format_rate(rate_bps: float | None) -> str:
    """9000000 -> "9 Mbit/s"; None (no limit) -> "unlimited"."""
    return "unlimited" if rate_bps is None else _by_thousands(rate_bps, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"))


def _by_thousands(value: float, units: Sequence[str]) -> str:
    """In the first unit in which it is below a thousand once it is rounded: 999600 B are 1 MB. units: each 1000 of the last."""
    for power, unit in enumerate(units):
        digits = f"{value / 1000**power:{'.3g' if power else '.0f'}}"
        if abs(float(digits)) < 1000:
            return f"{digits} {unit}"
    return f"{value / 1000 ** (len(units) - 1):.0f} {units[-1]}"


def format_ms(time_ms: float) -> str:
    """1234.5 -> "1.23 s"; 87.4 -> "87 ms"."""
    return f"{time_ms / 1000:.2f} s" if abs(time_ms) >= 1000 else f"{time_ms:.0f} ms"


def format_duration(duration_s: float) -> str:
    """125 -> "2 min 5 s"; 120 -> "2 min"; 42 -> "42 s". For waiting times, so whole seconds are enough."""
    minutes, seconds = divmod(round(duration_s), 60)
    if not minutes:
        return f"{seconds} s"
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"


def format_spent(spent_s: float, budget_s: float) -> str:
    """ "9 min 48 s of 10 min", and "10 min 20 s, 20 s more than the budget" where a load under way was finished."""
    over_s = round(spent_s) - round(budget_s)
    if over_s > 0:
        return f"{format_duration(spent_s)}, {format_duration(over_s)} more than the budget"
    return f"{format_duration(spent_s)} of {format_duration(budget_s)}"


def counted(count: int, noun: str) -> str:
    """For example "1 block", "2 blocks"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str]) -> str:
    """For example "TBT, CLS and HOL"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def few(names: Sequence[str], most: int) -> str:
    """The first ones, for example "a.jpg, b.jpg and 12 more"."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def capital(text: str) -> str:
    """The text with a capital, to begin a sentence."""
    return text[:1].upper() + text[1:]


def printable(text: str) -> str:
    """Text from elsewhere, fit for a terminal: control characters, which could write anywhere, become escapes."""
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)
