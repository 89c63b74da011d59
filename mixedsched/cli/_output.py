"""What all commands share in talking to machines: JSON and lines of logs. `_console` talks to people."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Self, TextIO

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the same facts as JSON, for machines.")]


def say_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on a line of its own, at once."""
    sys.stdout.write(json.dumps(value, indent=indent, allow_nan=False) + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """What a client sent, fit for a terminal: control characters, which could write anywhere, as escapes."""
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)


class LineWriter:
    """Writes lines to standard output, or a file, from a thread of its own, so that a slow reader delays nobody else.

    Lines beyond MAX_WAITING are dropped while the reader does not read, minor ones beyond MAX_MINOR_WAITING; how many
    is said on stderr at the end. If the reader has gone, this process is asked to end. A file that cannot be written any more
    is given up, with a word on stderr.
    """

    MAX_WAITING = 100_000
    MAX_MINOR_WAITING = 200

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file
        self._lines: queue.Queue[str | Callable[[], str] | None] = queue.Queue(self.MAX_WAITING)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.dropped = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)
            self._thread.join(timeout=2)  # a reader that has stopped reading must not keep us
        if self.dropped:
            sys.stderr.write(f"{self.dropped} lines were dropped: they were not read fast enough\n")

    def write(self, line: str) -> None:
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    def write_minor(self, line: Callable[[], str]) -> None:
        """Write a line that may be missed. It is made in the thread, and only if it is written."""
        if self._lines.qsize() < self.MAX_MINOR_WAITING:
            self._lines.put_nowait(line)
        else:
            self.dropped += 1

    def _run(self) -> None:
        file = self._file or sys.stdout
        try:
            while (line := self._lines.get()) is not None:
                file.write((line if isinstance(line, str) else line()) + "\n")
                if self._lines.empty():
                    file.flush()
            file.flush()
        except BrokenPipeError:
            # What is left is written once more when Python ends, which would then count as a failure.
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), file.fileno())
            os.kill(os.getpid(), signal.SIGTERM)
        except OSError as error:
            if self._file is None:
                raise
            sys.stderr.write(f"the log ends here: {error.strerror}\n")
