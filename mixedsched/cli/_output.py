"""JSON for machines, which all commands can print. `_console` talks to people."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from mixedsched.errors import UsageError

Json = Annotated[bool, typer.Option("--json", help="Print the same facts as JSON, for machines.")]


def say_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on a line of its own, at once."""
    sys.stdout.write(json.dumps(value, indent=indent, allow_nan=False) + "\n")
    sys.stdout.flush()


def write_json(value: Any, file: Path) -> None:
    """One JSON value as a file that people can read, too. Raises OSError."""
    file.write_text(json.dumps(value, indent=1, allow_nan=False), encoding="utf-8")


def refuse_unwritable(*files: Path | None) -> None:
    """Raise UsageError now, rather than after hours of work, for a file in a folder that does not exist."""
    for file in files:
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            raise UsageError(f"cannot write {file}", fix="name a file in a folder that exists")
