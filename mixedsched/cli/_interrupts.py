"""How commands that work for long are ended: at once, and cleaning up."""

from __future__ import annotations

import signal


def end_in_order() -> None:
    """From here on Ctrl-C and SIGTERM raise KeyboardInterrupt, also in a job of a shell's background, which ignores Ctrl-C.

    Not asyncio's own way, a cancellation, which a wait that ends just then may swallow.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
