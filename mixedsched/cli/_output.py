"""What all commands share in talking: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from mixedsched.errors import MixedschedError

Json = Annotated[bool, typer.Option("--json", help="Print the same facts as JSON, for machines.")]

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


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


@dataclass(frozen=True, slots=True)
class ListEntry:
    """Something there is. facts: for machines, with at least name, description and source. lines: more for people, by label."""

    facts: Mapping[str, Any]
    lines: Mapping[str, str]


def say_list(entries: Sequence[ListEntry], as_json: bool) -> None:
    """What there is: as a JSON list of the facts, else a paragraph for each."""
    if as_json:
        say_json([entry.facts for entry in entries], indent=2)
        return
    for entry in entries:
        out.print(f"[bold cyan]{escape(entry.facts['name'])}[/]")
        lines = [escape(entry.facts["description"])]
        labelled = {**entry.lines, "source": entry.facts["source"]}
        lines += [f"[dim]{escape(label)}:[/] {escape(text)}" for label, text in labelled.items() if text]
        for line in lines:
            out.print(Padding(line, (0, 0, 0, 4)))
        out.print()
