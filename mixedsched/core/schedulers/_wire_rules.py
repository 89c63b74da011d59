"""Where a response belongs by what a server sees: its kind, its size, the client's signal, and the order of requests.

The order is the one that costs least when little is known: what everything waits for is sent first, in one piece; images
are sent smallest first, as any of them may be the one that a visitor waits for; a large one is placed by the visibility
that the browser signals.
"""

from mixedsched.core.schedulers._turns import Client, LevelTurn
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind, Request

SCALE = 100
"""Levels here are multiples of this, so that learned ones fit between them."""

HEAD_BYTES = 16_000
"""Of a document: its beginning contains the references in its head."""
SMALL_BYTES = 6_000
MIDDLE_BYTES = 56_000
"""Up to these sizes an image is small, or medium-sized."""

FIREFOX_SEEN = 4
"""The urgency with which Firefox requests images that it knows to be in view."""

HEAD, BLOCKING, SMALL, MIDDLE, LARGE_SEEN, DOCUMENT, FONT, LARGE, SMALL_LATER, OTHER, LATER = range(
    0, 11 * SCALE, SCALE
)


def turn_of(request: Request) -> LevelTurn:
    """The turn that is safe for a response about which nothing else is known."""
    rank = request.chromium_priority.rank
    is_urgent = rank <= ChromiumPriority.HIGH.rank
    match request.kind:
        case Kind.DOCUMENT if is_urgent or request.stream_id == 0:
            client: Client | None = "silent" if request.signal == Priority() else None
            return LevelTurn(DOCUMENT, early=((HEAD_BYTES, HEAD),), client=client)
        case Kind.STYLESHEET if is_urgent:
            return LevelTurn(BLOCKING, client="chromium")
        case Kind.STYLESHEET if rank == ChromiumPriority.MEDIUM.rank or request.signal == Priority():
            return LevelTurn(BLOCKING, client="firefox")  # in Chromium such a one stands late and is seldom the first
        case Kind.SCRIPT:
            return LevelTurn(BLOCKING) if is_urgent else LevelTurn(OTHER, if_firefox=BLOCKING)
        case Kind.IMAGE:
            return _image_turn(request)
        case Kind.FONT:
            return LevelTurn(FONT)
        case Kind.XHR:
            return LevelTurn(SMALL_LATER)
        case _:
            return LevelTurn(OTHER)


def _image_turn(request: Request) -> LevelTurn:
    """Chromium requests visible images as High, for a page's first ones as Medium, else as Low; Firefox with urgencies
    from 4 (visible) to 6 (lazy)."""
    size_bytes, urgency = request.body_bytes, request.signal.urgency
    is_seen = request.chromium_priority.rank <= ChromiumPriority.HIGH.rank or urgency == FIREFOX_SEEN
    may_be_seen = is_seen or request.chromium_priority is ChromiumPriority.MEDIUM or urgency == FIREFOX_SEEN + 1
    if not may_be_seen:
        return LevelTurn(SMALL_LATER if size_bytes < SMALL_BYTES else LATER)
    if size_bytes < SMALL_BYTES:
        return LevelTurn(SMALL)
    if size_bytes < MIDDLE_BYTES:
        return LevelTurn(MIDDLE)
    return LevelTurn(LARGE_SEEN if is_seen else LARGE)
