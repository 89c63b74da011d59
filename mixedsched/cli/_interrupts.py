"""Ctrl-C and SIGTERM end long commands at once, with clean-up."""

import signal
import sys

from mixedsched.lab import underway


def end_in_order() -> None:
    """From here on Ctrl-C and SIGTERM raise KeyboardInterrupt, even in a background job of a shell, which ignores Ctrl-C.

    asyncio would cancel the main task instead, which a wait that ends at the same moment may swallow. Folders of results say
    from here on that the command can be stopped so, and given again.
    """
    underway.given(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(*_: object) -> None:
    underway.interrupted()
    raise KeyboardInterrupt
