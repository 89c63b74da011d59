"""Ctrl-C and SIGTERM end long commands at once, with clean-up."""

import signal


def end_in_order() -> None:
    """From here on Ctrl-C and SIGTERM raise KeyboardInterrupt, even in a background job of a shell, which ignores Ctrl-C.

    asyncio would cancel the main task instead, which a wait that ends at the same moment may swallow.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
