"""How far a candidate departs from plain EPS with the browser's signals: what it costs in a search, and in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mixedsched.advice.tuner.candidate import SIGNALLED, Candidate
from mixedsched.advice.tuner.result import Deviation
from mixedsched.advice.tuner.targets import cell_of
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.mapping import Cell
from mixedsched.model.page import Page, Resource
from mixedsched.model.priority import Priority
from mixedsched.model.request import Flag, Kind

PENALTY = 0.002  # for each departure: what a fifth of a per cent in the logarithm of a paint is worth
PLAIN = "eps"  # the scheme that most servers have that follow priorities at all
AS_SENT = "chromium"  # the mapping that changes nothing
COST_OF_A_SCHEME = 2  # departures that another scheme counts for: it takes another server
COST_OF_LATE_FONTS = 4  # more, where fonts come later: no estimate sees what text waits for
TEXT = frozenset({Kind.DOCUMENT, Kind.FONT})

_KINDS = {
    Kind.DOCUMENT: "documents",
    Kind.STYLESHEET: "style sheets",
    Kind.FONT: "fonts",
    Kind.SCRIPT: "scripts",
    Kind.IMAGE: "images",
    Kind.MEDIA: "audio and video",
    Kind.XHR: "fetches",
    Kind.OTHER: "other requests",
}


def departures(candidate: Candidate, pages: Iterable[Page]) -> int:
    """How many things differ from plain EPS: another scheme (as COST_OF_A_SCHEME), parameters, cells that the pages use,
    overrides. What makes text come later counts as `lateness` has it more, once."""
    name, _, parameters = candidate.scheme.partition(":")
    used = {cell_of(item): None for page in pages for item in page.resources}
    changed = [(cell, priority) for cell, priority in candidate.cells if cell in used]
    count = len(changed) + len([word for word in parameters.split(",") if word])
    placed = [
        *changed,
        *(
            (cell_of(other), item.priority)
            for item in candidate.overrides
            for page in pages
            for other in page.resources
            if item.fits(other.path)
        ),
    ]
    count += len(candidate.overrides) + max((_lateness(cell, priority) for cell, priority in placed), default=0)
    is_plain = name == PLAIN and candidate.published in {None, AS_SENT}
    return count if is_plain else count + COST_OF_A_SCHEME


def deviations(candidate: Candidate, page: Page) -> tuple[Deviation, ...]:
    """The same in words, for one page; cells that it does not use are left out."""
    found = _of_scheme(candidate)
    blocking = frozenset(PaintNeeds.of(page).blocking)
    left = list(page.resources)
    of_overrides = []
    for item in candidate.overrides:
        covered = [other for other in left if item.fits(other.path)]
        left = [other for other in left if not item.fits(other.path)]
        if covered:
            signal = SIGNALLED[cell_of(covered[0])]
            why = "; ".join(part for part in (item.why, _direction(signal, item.priority)) if part)
            of_overrides.append(Deviation(item.match, str(signal), str(item.priority), _ids(covered), why))
    for cell, priority in candidate.cells:
        covered = [other for other in left if cell_of(other) == cell]
        if covered:
            why = f"{_role(page, covered, blocking)}{_direction(SIGNALLED[cell], priority)}"
            found.append(Deviation(cell_in_words(cell), str(SIGNALLED[cell]), str(priority), _ids(covered), why))
    return (*found, *of_overrides)


def cell_in_words(cell: Cell) -> str:
    priority, kind = cell
    return f"{_KINDS[kind]} of priority {priority.value}"


def lateness(kind: Kind, signalled: int, urgency: int) -> int:
    """What it costs that text comes later: for a document, of which the beginning matters most, a departure for each step of
    urgency, so that it stays in front of whatever it need not wait for; for fonts, without which there is no text, more."""
    if kind not in TEXT or urgency <= signalled:
        return 0
    return COST_OF_LATE_FONTS if kind is Kind.FONT else urgency - signalled


def _lateness(cell: Cell, priority: Priority) -> int:
    return lateness(cell[1], SIGNALLED[cell].urgency, priority.urgency)


def _of_scheme(candidate: Candidate) -> list[Deviation]:
    name, _, parameters = candidate.scheme.partition(":")
    found = []
    if name != PLAIN:
        found.append(Deviation("delivery scheme", PLAIN, name, (), SCHEMES[name].description))
    if candidate.published not in {None, AS_SENT}:
        found.append(
            Deviation("all requests", "as signalled", f"mapping {candidate.published}", (), "a published table")
        )
    known = {item.name: item for item in SCHEMES[name].parameters}
    for word in filter(None, parameters.split(",")):
        key, _, value = word.partition("=")
        usual = known[key].default
        shown = usual if isinstance(usual, str) else f"{usual:g}"
        found.append(Deviation(f"{name}: {key}", shown, value, (), known[key].description))
    return found


def _ids(resources: Sequence[Resource]) -> tuple[str, ...]:
    return tuple(item.id for item in resources)


def _role(page: Page, covered: Sequence[Resource], blocking: frozenset[str]) -> str:
    """What these resources are to the paints, as the beginning of a reason."""
    roles = (
        ("the page itself: ", lambda item: item is page.main),
        ("the largest paint waits for one of them: ", lambda item: Flag.HERO in item.flags),
        ("the first paint waits for them: ", lambda item: item.id in blocking),
        ("text waits for them: ", lambda item: item.kind is Kind.FONT),
        ("some are on the first screen: ", lambda item: Flag.ABOVE_FOLD in item.flags),
    )
    return next((words for words, applies in roles if any(map(applies, covered))), "no paint waits for them: ")


def _direction(signal: Priority, tuned: Priority) -> str:
    parts = []
    if tuned.urgency != signal.urgency:
        parts.append("sooner" if tuned.urgency < signal.urgency else "later")
    if tuned.incremental != signal.incremental:
        parts.append("in turns with others" if tuned.incremental else "one whole response after another")
    return ", ".join(parts)
