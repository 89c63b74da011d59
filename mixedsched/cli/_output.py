"""What all commands share in talking: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from mixedsched.errors import MixedschedError

Json = Annotated[bool, typer.Option("--json", help="Print the same facts as JSON, for machines.")]

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

_INDENT = (0, 0, 0, 4)


def say_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on a line of its own, at once."""
    sys.stdout.write(json.dumps(value, indent=indent, allow_nan=False) + "\n")
    sys.stdout.flush()


def say_error(error: MixedschedError) -> None:
    err.print(f"[bold red]error:[/] {escape(error.what)}", soft_wrap=True)
    if error.why:
        err.print(f"  why: {escape(error.why)}", soft_wrap=True)
    if error.fix:
        err.print(f"  fix: {escape(error.fix)}", soft_wrap=True)


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
            err.print(f"{self.dropped} lines were dropped: they were not read fast enough", style="yellow")

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
            os.kill(os.getpid(), signal.SIGTERM)
        except OSError as error:
            if self._file is None:
                raise
            err.print(f"the log ends here: {error.strerror}", style="yellow", markup=False)


@dataclass(frozen=True, slots=True)
class ListEntry:
    """Something there is. facts: for machines, with at least name, description and source. lines: more for people, by label.

    picture: shown under the description.
    """

    facts: Mapping[str, Any]
    lines: Mapping[str, str]
    picture: Text | None = None


def say_list(entries: Sequence[ListEntry], as_json: bool) -> None:
    """What there is: as a JSON list of the facts, else a paragraph for each."""
    if as_json:
        say_json([entry.facts for entry in entries], indent=2)
        return
    for entry in entries:
        out.print(f"[bold cyan]{escape(entry.facts['name'])}[/]")
        out.print(Padding(escape(entry.facts["description"]), _INDENT))
        if entry.picture is not None:
            out.print(Padding(entry.picture, _INDENT))
        labelled = {**entry.lines, "source": entry.facts["source"]}
        for label, text in labelled.items():
            if text:
                out.print(Padding(f"[dim]{escape(label)}:[/] {escape(text)}", _INDENT))
        out.print()
