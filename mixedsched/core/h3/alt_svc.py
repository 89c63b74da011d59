"""The `Alt-Svc` response field, by which a server on TCP says where it speaks HTTP/3 (RFC 7838)."""

import re
from dataclasses import dataclass

_MAX_AGE_S = 86400  # RFC 7838 section 3.1: what counts where nothing is said
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PARAMETER = re.compile(rf"[ \t]*;[ \t]*({_NAME})=({_NAME}|{_QUOTED})")
_ALTERNATIVE = re.compile(  # behind it there may be empty elements (RFC 9110 section 5.6.1.2)
    rf"({_NAME})=({_QUOTED})((?:[ \t]*;[ \t]*{_NAME}=(?:{_NAME}|{_QUOTED}))*)[ \t]*(?:,[ \t,]*|$)"
)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]\x00-\x20\x7f]*):(\d{1,5})")


@dataclass(frozen=True, slots=True)
class AlternativeService:
    """Somewhere else that the same contents are to be had."""

    protocol: str
    """Its ALPN name, such as "h3"."""
    host: str
    """"" for the host that says so."""
    port: int
    max_age_s: int
    """How long a client may remember it."""


def alternatives(field: str) -> tuple[AlternativeService, ...]:
    """What a field value announces, in its order of preference; nothing for "clear" and from where it is malformed on.

    Shape: `h3=":443"; ma=86400, h2="other.example:443"`. Source: RFC 7838 section 3.
    """
    found: list[AlternativeService] = []
    place = 0
    text = field.strip(" \t,")
    while match := _ALTERNATIVE.match(text, place):
        authority = _AUTHORITY.fullmatch(_unquoted(match[2]))
        if authority is None or not 0 < int(authority[2]) < 1 << 16:
            break
        parameters = {name.lower(): _unquoted(value) for name, value in _PARAMETER.findall(match[3])}
        age = parameters.get("ma", "")
        max_age_s = int(age) if re.fullmatch(r"[0-9]{1,10}", age) else _MAX_AGE_S
        found.append(AlternativeService(_decoded(match[1]), authority[1], int(authority[2]), max_age_s))
        place = match.end()
    return tuple(found)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


def _decoded(token: str) -> str:
    """A protocol's name is percent-encoded where it is no token."""
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), token)
