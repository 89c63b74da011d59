"""Which tags the parser may find by itself, without the order of requests suffering."""

from __future__ import annotations

from collections.abc import Sequence, Set

GOOD_CORRELATION = 0.97


def parsed_in_order(names: Sequence[str], tags: Set[str]) -> set[str]:
    """The tags to leave to the parser: all before some point, so that the order of requests is close to the wanted one.

    names: resources in the wanted order. The parser (its preload scanner, to be exact) asks for all tags at once, before
    anything else can run; each tag that is taken from it is asked for in its turn.
    """
    kept = [name for name in names if name in tags]
    while kept and rank_correlation(names, _order(names, set(kept))) < GOOD_CORRELATION:
        del kept[-max(1, len(kept) // 20) :]  # the last ones come too early by the most
    return set(kept)


def rank_correlation(wanted: Sequence[str], got: Sequence[str]) -> float:
    """Spearman's coefficient of two orders of the same names, without ties; 1 for fewer than two."""
    count = len(wanted)
    if count < 2:
        return 1.0
    rank = {name: index for index, name in enumerate(got)}
    squares = sum((index - rank[name]) ** 2 for index, name in enumerate(wanted))
    return 1.0 - 6.0 * squares / (count * (count * count - 1.0))


def _order(names: Sequence[str], parsed: Set[str]) -> list[str]:
    return [names[0], *(name for name in names[1:] if name in parsed), *(n for n in names[1:] if n not in parsed)]
