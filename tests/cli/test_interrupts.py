"""Ctrl-C in a long command."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import signal, time
from mixedsched.cli._interrupts import end_in_order

class Cleared:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)  # at a moment when Python lets no exception pass
        sum(range(10))

end_in_order()
try:
    item = Cleared()
    del item
    time.sleep(60)
except KeyboardInterrupt:
    print("ended in order")
"""


def test_one_that_python_drops_is_given_again() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=50, check=True)
    assert (ended.stdout, ended.stderr) == ("ended in order\n", "")
