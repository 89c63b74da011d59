"""Ctrl-C and SIGTERM end long commands at once, with clean-up."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from mixedsched.lab import underway

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN_S = 0.05


def end_in_order() -> None:
    """From here on Ctrl-C and SIGTERM raise KeyboardInterrupt, even in a background job of a shell, which ignores Ctrl-C.

    asyncio would cancel the main task instead, which a wait that ends at the same moment may swallow. From here on folders of
    results say that the command can be stopped so, and given again.
    """
    underway.given(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if getattr(sys.unraisablehook, "func", None) is not _say_or_interrupt_again:
        sys.unraisablehook = partial(_say_or_interrupt_again, sys.unraisablehook)


def _interrupt(*_: object) -> None:
    underway.interrupted()
    raise KeyboardInterrupt


def _say_or_interrupt_again(say: "Callable[[UnraisableHookArgs], Any]", what: "UnraisableHookArgs") -> None:
    """Python drops what is raised in a finalizer, even an interrupt: send it once more."""
    if what.exc_type is not KeyboardInterrupt:
        say(what)
        return
    timer = threading.Timer(_AGAIN_S, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
