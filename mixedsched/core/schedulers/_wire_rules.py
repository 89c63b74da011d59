"""Where a response belongs by what the wire alone tells: its kind, its size, the client's signal, and who asked first.

The order is the one that costs least where one knows little: what everything waits for goes first and whole; images go small
ones first, as any of them may be the one that a visitor waits for; a large one counts for as much as the browser's signal
says that it is seen.
"""

from mixedsched.core.schedulers._turns import LevelTurn
from mixedsched.model.request import ChromiumPriority, Kind, Request

SCALE = 100
"""Levels here are multiples of this, so that what is learned has room between them."""

HEAD_BYTES = 16_000
"""Of a document: its beginning names what stands in its head."""
SMALL_BYTES = 6_000
MIDDLE_BYTES = 56_000
"""Up to these sizes an image is small, or of a middle size."""

HEAD, BLOCKING, SMALL, MIDDLE, LARGE_SEEN, DOCUMENT, FONT, LARGE, SMALL_LATER, OTHER, LATER = range(
    0, 11 * SCALE, SCALE
)


def turn_of(request: Request) -> LevelTurn:
    """The turn that is safe for a response of which nothing else is known."""
    size_bytes, rank = request.body_bytes, request.chromium_priority.rank
    is_urgent = rank <= ChromiumPriority.HIGH.rank
    match request.kind:
        case Kind.DOCUMENT if is_urgent or request.stream_id == 0:
            return LevelTurn(DOCUMENT, early=((HEAD_BYTES, HEAD),))
        case Kind.STYLESHEET | Kind.SCRIPT if is_urgent:
            return LevelTurn(BLOCKING)
        case Kind.IMAGE if rank <= ChromiumPriority.MEDIUM.rank:
            if size_bytes < SMALL_BYTES:
                return LevelTurn(SMALL)
            if size_bytes < MIDDLE_BYTES:
                return LevelTurn(MIDDLE)
            return LevelTurn(LARGE_SEEN if is_urgent else LARGE)
        case Kind.FONT:
            return LevelTurn(FONT)
        case Kind.IMAGE:
            return LevelTurn(SMALL_LATER if size_bytes < SMALL_BYTES else LATER)
        case Kind.XHR:
            return LevelTurn(SMALL_LATER)
        case _:
            return LevelTurn(OTHER)
