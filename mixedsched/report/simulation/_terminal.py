"""Orders as a line of coloured letters, for terminals. Without colours the letters remain: AABAAB."""

from __future__ import annotations

import string
from collections.abc import Sequence

from rich.text import Text

from mixedsched.report.simulation._thin import thinned

# Okabe and Ito's palette: eight backgrounds that black letters stand on, apart for all eyes.
_BACKGROUNDS = ("#56b4e9", "#e69f00", "#2fb894", "#f0e442", "#cc79a7", "#9aa9ff", "#d97a3a", "#b0b0b0")
_LETTERS = string.ascii_uppercase + string.ascii_lowercase


def strip_text(order: Sequence[tuple[str, int]], width: int, ids: Sequence[str] | None = None) -> Text:
    """An order, run-length coded, in at most `width` letters (at least 1); one letter is one packet where there is room.

    ids: all resources, for instance in order of request, so that one has the same letter and colour in every picture; by
    default those of the order as they appear. Ids of one character are their own letters. Past 52 resources letters repeat.
    """
    names = list(dict.fromkeys([*(ids or ()), *(name for name, _ in order)]))
    places = {name: place for place, name in enumerate(names)}
    own_letters = all(len(name) == 1 and name.isprintable() for name in names)
    packets = sum(count for _, count in order)
    picture = Text(no_wrap=True, end="")
    for name, cells in thinned(order, packets / max(1, width)):
        place = places[name]
        letter = name if own_letters else _LETTERS[place % len(_LETTERS)]
        picture.append(letter * cells, style=f"black on {_BACKGROUNDS[place % len(_BACKGROUNDS)]}")
    return picture
