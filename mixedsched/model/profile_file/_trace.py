"""Packet-delivery traces in Mahimahi's format: a time in ms a line, rising."""

import re
from collections.abc import Iterator

from mixedsched.errors import ProfileError
from mixedsched.model.profile import Trace
from mixedsched.model.profile_file._schema import MAX_RATE_BPS, MIN_RATE_BPS

MAX_OPPORTUNITIES = 2_000_000  # lines
MAX_DIGITS = 9  # of a time: eleven days
_SHOWN_CHARACTERS = 40  # of a line that is not a time


def parse_trace(text: str, name: str) -> Trace:
    """Read a trace; empty lines are skipped. Raises ProfileError with the line that is wrong."""
    times_ms: list[int] = []
    for number, line in enumerate(_lines(text), start=1):
        word = line.strip()
        if not word:
            continue
        if not (word.isascii() and word.isdigit() and len(word) <= MAX_DIGITS):
            raise _refused(name, f"line {number}: {word[:_SHOWN_CHARACTERS]!r} is not a time in ms")
        time_ms = int(word)
        if times_ms and time_ms < times_ms[-1]:
            raise _refused(name, f"line {number}: time goes back from {times_ms[-1]} to {time_ms} ms")
        if len(times_ms) == MAX_OPPORTUNITIES:
            raise _refused(name, f"it has more than {MAX_OPPORTUNITIES} lines")
        times_ms.append(time_ms)
    if not times_ms or times_ms[-1] == 0:
        raise _refused(name, "it needs at least one time above 0 ms, where it begins again")
    trace = Trace(name, tuple(times_ms))
    if not MIN_RATE_BPS <= trace.mean_rate_bps <= MAX_RATE_BPS:
        raise _refused(
            name,
            f"it lets {trace.mean_rate_bps} bit/s pass on average, and rates go from {MIN_RATE_BPS} to {MAX_RATE_BPS}",
        )
    return trace


def _lines(text: str) -> Iterator[str]:
    """One by one: a list of all would take many times the room of the text before too many lines are noticed."""
    return (match.group() for match in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n)?", text))


def _refused(name: str, why: str) -> ProfileError:
    return ProfileError(f"the trace {name} is refused", why=why)
