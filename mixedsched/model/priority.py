"""Extensible priorities on the wire: the Priority field and the PRIORITY_UPDATE payload (RFC 9218)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import http_sf

URGENCY_MIN = 0
URGENCY_MAX = 7
URGENCY_DEFAULT = 3

# Dates are of no use here, but the parser would refuse those outside its calendar, and all else with them.
_FAR_DATE = re.compile(rb"@-?[0-9]{11,15}(?![0-9.])")


@dataclass(frozen=True, slots=True, order=True)
class Priority:
    """An EPS priority: urgency 0 (first) to 7 (background), and whether parts of the body are useful early.

    Source: RFC 9218 sections 4.1 and 4.2; the defaults are u=3, non-incremental.
    """

    urgency: int = URGENCY_DEFAULT
    incremental: bool = False

    def __post_init__(self) -> None:
        if not URGENCY_MIN <= self.urgency <= URGENCY_MAX:
            raise ValueError(f"urgency must be {URGENCY_MIN}..{URGENCY_MAX}, got {self.urgency}")

    def __str__(self) -> str:
        """The field value, defaults included, as logs and tables show it: "u=3, i"."""
        return f"u={self.urgency}, i" if self.incremental else f"u={self.urgency}"

    def field_value(self) -> str:
        """The shortest field value that means this priority; "" for the defaults (RFC 9218 section 4)."""
        members = []
        if self.urgency != URGENCY_DEFAULT:
            members.append(f"u={self.urgency}")
        if self.incremental:
            members.append("i")
        return ", ".join(members)


@dataclass(frozen=True, slots=True)
class PriorityParameters:
    """The parameters that a field value contains: None where a parameter is absent or unusable."""

    urgency: int | None = None
    incremental: bool | None = None

    def over(self, base: Priority) -> Priority:
        """`base` with the present parameters replaced (the merging rule of RFC 9218 section 8)."""
        return Priority(
            base.urgency if self.urgency is None else self.urgency,
            base.incremental if self.incremental is None else self.incremental,
        )


def parse_parameters(value: bytes) -> PriorityParameters | None:
    """Read a priority field value; None if it is not a structured-field dictionary at all.

    value: one value, or several field lines already joined with ", ".
    Parameters of the wrong type or out of range are ignored one by one, unknown ones silently (RFC 9218 section 4).
    """
    if not value.strip(b" "):
        return PriorityParameters()
    try:
        members = http_sf.parse(_FAR_DATE.sub(b"@0", value), tltype="dictionary")
    except ValueError:
        return None
    assert isinstance(members, dict)
    urgency = _bare(members.get("u"))
    incremental = _bare(members.get("i"))
    return PriorityParameters(
        urgency=urgency if type(urgency) is int and URGENCY_MIN <= urgency <= URGENCY_MAX else None,
        incremental=incremental if isinstance(incremental, bool) else None,
    )


def _bare(member: object) -> object:
    """The item of a dictionary member without its parameters."""
    return member[0] if isinstance(member, tuple) else None


def parse_field(lines: Iterable[bytes]) -> Priority:
    """The priority that the `priority` field lines of a request signal; the defaults if there is none that is usable.

    lines: field values in order; several are joined as RFC 8941 section 4.2 requires.
    """
    parameters = parse_parameters(b", ".join(lines))
    return (parameters or PriorityParameters()).over(Priority())
