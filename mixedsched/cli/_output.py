"""JSON for machines, which all commands can print. `_console` talks to people."""

import json
import sys
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the same facts as JSON, for machines.")]


def say_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on a line of its own, at once."""
    sys.stdout.write(json.dumps(value, indent=indent, allow_nan=False) + "\n")
    sys.stdout.flush()
