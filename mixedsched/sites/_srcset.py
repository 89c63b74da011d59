"""The srcset attribute: its candidates, and the one a phone-sized Chromium takes."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Lighthouse's phone: 412 CSS pixels wide at 1.75 device pixels each, images taken as wide as the screen.
_SCREEN_DENSITY = 1.75
_SCREEN_PX = 412 * _SCREEN_DENSITY
_URL = re.compile(r"[^ \t\n\r\f]*")  # ends at ASCII white space only


@dataclass(frozen=True, slots=True)
class Candidate:
    """One image of a srcset. descriptor: as written, "480w", "2x" or ""."""

    url: str
    descriptor: str = ""

    @property
    def fills_screen(self) -> bool:
        """Whether it is at least as fine as the screen."""
        return self.fineness >= 1.0

    @property
    def fineness(self) -> float:
        """Image pixels per screen pixel; 1x where the descriptor says nothing usable."""
        try:
            amount = float(self.descriptor[:-1])
        except ValueError:
            amount = 1.0
        return amount / (_SCREEN_PX if self.descriptor.endswith("w") else _SCREEN_DENSITY)


def parse_srcset(value: str) -> list[Candidate]:
    """The candidates in order. Source: HTML standard, parsing a srcset attribute (without its obsolete descriptors)."""
    candidates = []
    rest = value
    while rest := rest.lstrip(" \t\n\r\f,"):
        url = _URL.match(rest)[0]  # type: ignore[index]  # something is left, and no white space begins it
        rest = rest[len(url) :]
        if url.endswith(","):
            candidates.append(Candidate(url.rstrip(",")))
            continue
        descriptor, _, rest = rest.partition(",")
        candidates.append(Candidate(url, " ".join(descriptor.split())))
    return candidates


def chosen(candidates: list[Candidate]) -> Candidate | None:
    """The coarsest candidate that fills the screen, else the finest there is; None of none."""
    if not candidates:
        return None
    enough = [item for item in candidates if item.fills_screen]
    return min(enough, key=lambda item: item.fineness) if enough else max(candidates, key=lambda item: item.fineness)
