"""`inferred`: the order by what a server can see of a page within one visit."""

from mixedsched.core.schedulers import _wire_rules as levels
from mixedsched.core.schedulers._turns import LevelTurn, LevelTurns
from mixedsched.core.schedulers._wire_rules import turn_of as safe_turn
from mixedsched.model.scheme import LEARNING, Scheme

__all__ = ["SCHEMES", "LevelTurn", "LevelTurns", "levels", "safe_turn"]

SCHEMES = (
    Scheme(
        name="inferred",
        description="The beginning of the document, then blocking style sheets and scripts, then images by size and by "
        "whether the browser has signalled that they are visible, the rest of the document, fonts, and everything else; "
        "strictly, one by one. It needs no memory: adaptive without one does the same.",
        source="this project: docs/adaptive.md",
        needs="kind, size, Chromium's signal (also its later PRIORITY_UPDATE)",
        create=lambda _: LevelTurns(),
        place=lambda request, _mapping, _values: safe_turn(request),
        group=LEARNING,
    ),
)
