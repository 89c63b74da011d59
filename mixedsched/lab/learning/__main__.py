"""The process that searches orders for what a server remembers: `python -m mixedsched.lab.learning FILE`. Ends with its input.

It gives way to everything else on the machine, and rests nine times as long as it works: it takes a tenth of a processor.
"""

import os
import sys
import threading
import time
from pathlib import Path

from mixedsched.errors import MixedschedError
from mixedsched.lab.learning.thinking import think_once
from mixedsched.world.store import MemoryStore, open_memory

RESTS = 9.0  # times as long as it works
LOOKS_EVERY_S = 1.0
RETRY_S = 15.0


class _Pace:
    """Rests before each order that is played for what the one before has cost."""

    def __init__(self) -> None:
        self._worked_s = time.process_time()

    def goes_on(self) -> bool:
        time.sleep(RESTS * (time.process_time() - self._worked_s))
        self._worked_s = time.process_time()
        return True


def main() -> int:
    """Search until standard input ends. Returns the exit code."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    os.nice(19)
    file = Path(sys.argv[1])
    store: MemoryStore | None = None
    while True:
        try:
            store = store or open_memory(file)
            think_once(store, _Pace().goes_on)
            time.sleep(LOOKS_EVERY_S)
        except MixedschedError:  # its server says so, and the file may be mended or replaced meanwhile
            store = None
            time.sleep(RETRY_S)


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
