"""Text for people: results on stdout, progress and errors on stderr, in colour where there is any.

Separate from `_output`, because a server that talks to machines does not need what this loads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from mixedsched.cli._output import say_json
from mixedsched.errors import MixedschedError
from mixedsched.units import printable

# Without emoji, as names may well contain something like `:key:`.
out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)

_INDENT = (0, 0, 0, 4)


def shown(text: str) -> str:
    """Text from a file, fit for `print` of a console: neither control characters nor markup do anything. Line ends stay."""
    return escape(_printable(text))


def _printable(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


def say_remark(text: str) -> None:
    """A line on stderr about what is done, or might surprise. Names in it may come from anywhere."""
    err.print(Text(_printable(text)), style="yellow", soft_wrap=True)


def say_step(text: str) -> None:
    """A line on stderr about what takes time; one that begins with `warning:` is about what might surprise."""
    err.print(Text(_printable(text)), style="yellow" if text.startswith("warning:") else "dim", soft_wrap=True)


def say_written(what: str, file: Path) -> None:
    """Name on stderr a file that was written besides the results. what: such as "picture"."""
    err.print(Text(_printable(f"{what}: {file}")), soft_wrap=True)


def say_report(file: Path, before: str = "") -> None:
    """Name on stdout the report of what was just printed. before: words in front of it."""
    out.print(Text(_printable(f"{before}report: {file}")), soft_wrap=True)


def say_stopped(folder: Path) -> None:
    """Say after Ctrl-C what is kept, and how to go on."""
    said = f"stopped; all finished loads are stored in {folder}, the same command continues"
    err.print(Text(_printable(said)), soft_wrap=True)


def say_error(error: MixedschedError) -> None:
    err.print(f"[bold red]error:[/] {shown(error.what)}", soft_wrap=True)
    if error.why:
        err.print(f"  why: {shown(error.why)}", soft_wrap=True)
    if error.fix:
        err.print(f"  fix: {shown(error.fix)}", soft_wrap=True)


@dataclass(frozen=True, slots=True)
class ListEntry:
    """An entry of a list that a command prints."""

    facts: Mapping[str, Any]  # for machines, with at least name, description and source
    lines: Mapping[str, str]  # more for people, by label
    picture: Text | None = None  # shown under the description


def say_list(entries: Sequence[ListEntry], as_json: bool) -> None:
    """Print a list: as JSON of the facts, or a paragraph for each entry."""
    if as_json:
        say_json([entry.facts for entry in entries], indent=2)
        return
    for entry in entries:
        out.print(f"[bold cyan]{shown(entry.facts['name'])}[/]")
        out.print(Padding(shown(entry.facts["description"]), _INDENT))
        if entry.picture is not None:
            out.print(Padding(entry.picture, _INDENT))
        labelled = {**entry.lines, "source": entry.facts["source"]}
        for label, text in labelled.items():
            if text:
                out.print(Padding(f"[dim]{shown(label)}:[/] {shown(text)}", _INDENT))
        out.print()
