"""What all commands share in talking: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

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


class LineWriter:
    """Writes lines to standard output from a thread of its own, so that a slow reader delays nobody else.

    Lines beyond MAX_WAITING are dropped while the reader does not read. If it has gone, this process is asked to end.
    """

    MAX_WAITING = 100_000

    def __init__(self) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue(self.MAX_WAITING)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)
            self._thread.join(timeout=2)  # a reader that has stopped reading must not keep us

    def write(self, line: str) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(line)

    def _run(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                sys.stdout.write(line + "\n")
                if self._lines.empty():
                    sys.stdout.flush()
        except BrokenPipeError:
            os.kill(os.getpid(), signal.SIGTERM)


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
